package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	sumsFile = "SHA256SUMS"
	// versionFile has the version alone: what is served as the latest release is
	// found by it.
	versionFile = "VERSION"
)

// provenance writes how all files came about, as an in-toto statement with SLSA's
// predicate.
func (r *Release) provenance(ctx context.Context) error {
	var subjects []*intoto.ResourceDescriptor
	for _, name := range slices.Sorted(slices.Values(r.written)) {
		digest, err := digestOf(filepath.Join(r.stage, name))
		if err != nil {
			return err
		}
		subjects = append(subjects, &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": digest}})
	}
	var platforms []any
	for _, t := range r.Targets {
		platforms = append(platforms, t.Name+" "+t.Platform())
	}
	parameters, err := structpb.NewStruct(map[string]any{"version": r.Version, "programs": platforms, "uncommittedChanges": r.Dirty})
	if err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, "go", "-C", r.Root, "env", "GOVERSION").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	toolchain, err := structpb.NewStruct(map[string]any{"version": strings.TrimSpace(string(version))})
	if err != nil {
		return err
	}
	predicate, err := asStruct(&slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType: repository + "/blob/main/CONTRIBUTING.md#how-a-release-is-made", ExternalParameters: parameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{
				{Uri: "git+" + repository + "@" + r.commit, Digest: map[string]string{"gitCommit": r.commit}},
				{Name: "go", Annotations: toolchain},
			},
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: repository + "/tree/main/internal/release", Version: map[string]string{"kalypso": r.Version}}},
	})
	if err != nil {
		return err
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1", Predicate: predicate}
	if err := statement.Validate(); err != nil {
		return err
	}
	data, err := protojson.Marshal(statement)
	if err != nil {
		return err
	}
	// protojson varies its spaces on purpose
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return err
	}
	line.WriteByte('\n')
	return r.write(fmt.Sprintf("kalypso_%s.intoto.jsonl", r.number()), line.Bytes())
}

func asStruct(p *slsa.Provenance) (*structpb.Struct, error) {
	data, err := protojson.Marshal(p)
	if err != nil {
		return nil, err
	}
	s := new(structpb.Struct)
	return s, protojson.Unmarshal(data, s)
}

// sums writes the digests of all files, and signs them where there is a key.
func (r *Release) sums() error {
	if err := r.write(versionFile, []byte(r.Version+"\n")); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(slices.Values(r.written)) {
		digest, err := digestOf(filepath.Join(r.stage, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", digest, name)
	}
	if err := r.write(sumsFile, list.Bytes()); err != nil {
		return err
	}
	if r.Key == "" {
		r.log("the digests are not signed: there is no -key")
		return nil
	}
	key, err := r.signingKey()
	if err != nil {
		return err
	}
	public, ok := key.Public().(minisign.PublicKey)
	if !ok {
		return errors.New("the key has no public key of minisign")
	}
	comment := fmt.Sprintf("kalypso %s, commit %s", r.Version, r.commit)
	signature := minisign.SignWithComments(key, list.Bytes(), comment, "digests of kalypso "+r.Version)
	if !minisign.Verify(public, list.Bytes(), signature) {
		return errors.New("the signature that was made is not valid")
	}
	return r.write(sumsFile+".minisig", signature)
}

// signingKey reads the key.
func (r *Release) signingKey() (minisign.PrivateKey, error) {
	text, err := os.ReadFile(r.Key)
	if err != nil {
		return minisign.PrivateKey{}, fmt.Errorf("key: %w", err)
	}
	if minisign.IsEncrypted(text) {
		key, err := minisign.DecryptKey(os.Getenv("KALYPSO_RELEASE_PASSWORD"), text)
		if err != nil {
			return key, fmt.Errorf("key %s: %w: KALYPSO_RELEASE_PASSWORD has to be its password", r.Key, err)
		}
		return key, nil
	}
	var key minisign.PrivateKey
	if err := key.UnmarshalText(bytes.TrimSpace(text)); err != nil {
		return key, fmt.Errorf("key %s: %w", r.Key, err)
	}
	return key, nil
}
