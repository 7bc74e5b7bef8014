package workshop_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/workshop"
)

const head = `apiVersion: kalypso.dev/v1alpha1
kind: Workshop
name: kata
controlPlane: {repository: control, environments: [dev]}
repositories:
- {name: control, branches: [main, dev]}
- name: gitops
`

// folder makes a workshop of a workshop.yaml, with branches of its repositories.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, workshop.File), text)
	for _, branch := range []string{"control/main", "control/dev", "gitops/main", "gitops/dev"} {
		write(t, filepath.Join(dir, workshop.RepositoryFolder, filepath.FromSlash(branch), "README.md"), "# "+branch+"\n")
	}
	write(t, filepath.Join(dir, workshop.ScenarioFolder, "one.txtar"), "# One\n")
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestMistakes(t *testing.T) {
	const cluster = "clusters:\n- name: edge\n  reconciler: flux\n  follows:\n  - {name: dev, repository: gitops, branch: dev}\n"
	for name, test := range map[string]struct {
		text string
		line int
		says string
	}{
		"not YAML":              {"a: b: c\n", 1, "mapping values"},
		"another kind":          {"kind: Deployment\n", 1, "Workshop"},
		"newer":                 {"apiVersion: kalypso.dev/v2\nkind: Workshop\n", 1, "newer kalypso"},
		"unknown field":         {head + "cluster: []\n", 8, "clusters"},
		"unknown field below":   {head + strings.Replace(cluster, "reconciler", "reconcilr", 1), 10, "reconciler"},
		"missing field":         {head + "clusters:\n- {name: edge, reconciler: flux}\n", 9, "follows"},
		"unknown value":         {head + strings.Replace(cluster, "flux", "fluxcd", 1), 10, "flux"},
		"wrong type":            {head + "scenarios: one\n", 8, "object"},
		"bad name":              {strings.Replace(head, "kata", "My_Kata", 1), 3, "63"},
		"two repositories":      {head + "- {name: control}\n", 8, "two repositories control"},
		"two but for case":      {head + "- {name: Control, git: ../x}\n", 8, "two repositories Control"},
		"a long repository":     {head + "- {name: " + strings.Repeat("r", 101) + ", git: ../x}\n", 8, "100"},
		"a forge's own ending":  {head + "- {name: app.wiki, git: ../x}\n", 8, ".wiki"},
		"a long cluster":        {head + strings.Replace(cluster, "edge", strings.Repeat("e", 41), 1), 9, "40"},
		"two clusters":          {head + cluster + strings.TrimPrefix(cluster, "clusters:\n"), 13, "cluster edge already"},
		"credentials":           {head + "- {name: app, git: 'https://ann:s3cret@example.com/app.git'}\n", 8, "app"},
		"a token":               {head + "- {name: app, git: 'https://ghp_x@example.com/app.git'}\n", 8, "app"},
		"no repository":         {head + strings.Replace(cluster, "repository: gitops", "repository: gitop", 1), 12, "gitops"},
		"no branch":             {head + strings.Replace(cluster, "branch: dev", "branch: stage", 1), 12, "stage"},
		"no folder":             {head + "- name: app\n", 8, "repositories/app"},
		"no folder of a branch": {strings.Replace(head, "[main, dev]", "[main, dev, stage]", 1), 6, "repositories/control/stage"},
		"no environment":        {strings.Replace(head, "[dev]", "[dev, stage]", 1), 4, "stage"},
		"no control plane":      {strings.Replace(head, "repository: control,", "repository: contro,", 1), 4, "control"},
		"no scenario":           {head + "scenarios: {order: [one, two]}\n", 8, "two.txtar"},
		"scenario twice":        {head + "scenarios: {order: [one], apart: [one]}\n", 8, "one"},
		"range":                 {head + strings.Replace(cluster, "edge", "edge-{1..3}", 1), 9, "virtual"},
		"range that descends":   {head + strings.Replace(cluster, "name: edge", "name: edge-{3..1}\n  kind: virtual", 1), 9, "edge-{3..1}"},
		"share":                 {head + cluster + "  kind: virtual\n  virtual: {failing: 1.5}\n", 14, "failing"},
		"duration":              {head + cluster + "  kind: virtual\n  virtual: {delay: 30}\n", 14, "delay"},
		"address of nothing":    {head + "addresses:\n- {from: ghcr.io/acme}\n", 9, "registry"},
		"on top of nothing":     {strings.Replace(head, "[main, dev]", "[main, {name: dev, onTop: mian}]", 1), 6, "mian"},
		"path":                  {head + strings.Replace(cluster, "branch: dev}", "branch: dev, path: ../x}", 1), 12, "../x"},
		"pull request":          {strings.Replace(head, "[main, dev]}", "[main, dev], pullRequests: [{head: x, base: main, title: T}]}", 1), 6, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := workshop.OpenFolder(folder(t, test.text))
			var wrong *workshop.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("error %v", err)
			}
			if len(wrong.Problems) != 1 {
				t.Fatalf("not one problem: %v", err)
			}
			if p := wrong.Problems[0]; strings.Contains(p.Message, "s3cret") || p.Line != test.line || !strings.Contains(p.Message, test.says) || filepath.Base(p.File) != workshop.File {
				t.Errorf("%v, want line %d and %q", p, test.line, test.says)
			}
		})
	}
}

// TestSchemaIsWhatIsRead holds the schema to the struct: each of its fields can be
// read, and a workshop with all of them is in order.
func TestSchemaIsWhatIsRead(t *testing.T) {
	w, err := workshop.OpenFolder(folder(t, `apiVersion: kalypso.dev/v1alpha1
kind: Workshop
name: kata
title: T
description: D
controlPlane: {repository: control, environments: [dev]}
repositories:
- {name: control, description: C, team: platform, branches: [main, {name: dev, pinned: true}], pullRequests: [{head: dev, base: main, title: T, body: B}]}
- {name: gitops, records: true}
workflows: {secrets: [TOKEN], variables: {A: b}, nextEnvironment: NEXT}
clusters:
- {name: edge, type: small, kind: real, reconciler: argocd, node: simulated, credentials: secret, repositories: [gitops], follows: [{name: dev, repository: gitops, branch: dev, path: a/b}]}
- {name: "shop-{01..20}", type: small, kind: virtual, reconciler: flux, follows: [{name: dev, repository: gitops, branch: dev}], virtual: {seed: 1, delay: 30s, failing: 0.2, offline: 0.1, offlineFor: 5m}}
images: [{name: "control/x:1", program: hello-world}]
addresses: [{from: "https://github.com/acme", organisation: true}, {from: ghcr.io/acme, registry: true}, {from: "git@github.com:acme/control", repository: control}]
scenarios: {order: [one], apart: []}
`))
	if err != nil {
		t.Fatal(err)
	}
	if gitops, _ := w.Repository("gitops"); len(gitops.Branches) != 2 || gitops.Branches[0].Name != "main" {
		t.Errorf("branches %+v", gitops.Branches)
	}
	if c := w.Clusters[1]; c.Virtual == nil || c.Virtual.OfflineFor.Minutes() != 5 || c.Virtual.Failing != 0.2 {
		t.Errorf("virtual clusters %+v", c.Virtual)
	}
}

func TestLoadReplacesAddresses(t *testing.T) {
	dir := folder(t, head+`addresses:
- {from: "https://github.com/acme", organisation: true}
- {from: ghcr.io/acme, registry: true}
- {from: "git@github.com:acme/old-control", repository: control}
`)
	file := filepath.Join(dir, "repositories/control/main/a.yaml")
	write(t, file, "a: https://github.com/acme/control.git\nb: ghcr.io/acme/x:1\nc: git@github.com:acme/old-control\nd: https://github.com/acme-other/x\ne: git@github.com:acme/old-control-2\n")
	w, err := workshop.OpenFolder(dir)
	if err == nil {
		w, err = w.Load(workshop.On("http://localhost:3000/kalypso"))
	}
	if err != nil {
		t.Fatal(err)
	}
	control, _ := w.Repository("control")
	want := "a: http://localhost:3000/kalypso/control.git\nb: localhost:3000/kalypso/x:1\nc: http://localhost:3000/kalypso/control\nd: https://github.com/acme-other/x\ne: git@github.com:acme/old-control-2\n"
	if diff := cmp.Diff(want, string(control.Branches[0].Files["a.yaml"])); diff != "" {
		t.Error(diff)
	}
}

// TestLocations are a folder, what is packed of it, and a folder of a git
// repository: the workshop is the same.
func TestLocations(t *testing.T) {
	dir := folder(t, head)
	original, err := workshop.Open(t.Context(), dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := errors.Join(workshop.Pack(original, &first), workshop.Pack(original, &second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same files make other bytes")
	}
	archive := filepath.Join(t.TempDir(), "kata.tar.gz")
	write(t, archive, first.String())
	repo := t.TempDir()
	if err := os.CopyFS(filepath.Join(repo, "sub"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, repo, "init", "-q", "-b", "trunk")
	gitkit.Run(t, repo, "add", "-A")
	gitkit.Run(t, repo, "commit", "-qm", "start")
	for _, location := range []string{archive, "file://" + repo + "#trunk:sub"} {
		w, err := workshop.Open(t.Context(), location, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if !w.Equal(original) {
			t.Errorf("%s is another workshop", location)
		}
	}
	write(t, filepath.Join(dir, "scenarios", "one.txtar"), "# Two\n")
	if changed, err := workshop.OpenFolder(dir); err != nil || func() bool { w, _ := workshop.Open(t.Context(), archive, t.TempDir()); return w.Equal(changed) }() {
		t.Errorf("a change is not seen: %v", err)
	}
}

func TestLocationsWithoutWorkshop(t *testing.T) {
	empty := t.TempDir()
	text := filepath.Join(empty, "x.tar.gz")
	write(t, text, "text")
	for location, says := range map[string]string{
		"helo-world":                       "did you mean hello-world",
		filepath.Join(empty, "nothing"):    "nothing",
		empty:                              workshop.File,
		text:                               "tar.gz",
		"file://" + empty + "/none#main:x": "none",
		"file://" + empty + "#main:../x":   "leads out",
	} {
		_, err := workshop.Open(t.Context(), location, t.TempDir())
		var mistake *usage.Error
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", location, err, says)
		}
	}
}

// TestArchivesThatLeadOut leave nothing outside of their folder.
func TestArchivesThatLeadOut(t *testing.T) {
	for name, header := range map[string]*tar.Header{
		"path":     {Name: "../out", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
		"absolute": {Name: "/tmp/kalypso-out", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
		"link":     {Name: "kata/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"hard":     {Name: "kata/link", Typeflag: tar.TypeLink, Linkname: "../out"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			a := tar.NewWriter(z)
			if err := a.WriteHeader(header); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(a, strings.Repeat("x", int(header.Size)))
			if err := errors.Join(a.Close(), z.Close()); err != nil {
				t.Fatal(err)
			}
			file, scratch := filepath.Join(t.TempDir(), "w.tar.gz"), t.TempDir()
			write(t, file, b.String())
			_, err := workshop.Open(t.Context(), file, scratch)
			var mistake *usage.Error
			if !errors.As(err, &mistake) || !strings.Contains(err.Error(), header.Name) {
				t.Errorf("error %v", err)
			}
			if entries, _ := os.ReadDir(scratch); slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "out" }) {
				t.Error("it has written outside")
			}
		})
	}
}

// TestLinkOutOfTheFolder is not followed.
func TestLinkOutOfTheFolder(t *testing.T) {
	dir := folder(t, head)
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "repositories/control/main/link")); err != nil {
		t.Fatal(err)
	}
	w, err := workshop.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Load(workshop.On("http://localhost:1/kalypso")); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("error %v", err)
	}
	if err := w.Copy(t.Context(), filepath.Join(t.TempDir(), "copy"), nil); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("error %v", err)
	}
}

// TestCopyFetchesRepositories makes a workshop whole that takes a repository from
// elsewhere.
func TestCopyFetchesRepositories(t *testing.T) {
	repo := t.TempDir()
	gitkit.Run(t, repo, "init", "-q", "-b", "main")
	write(t, filepath.Join(repo, ".github/workflows/ci.yaml"), "on: push\n")
	gitkit.Run(t, repo, "add", "-A")
	gitkit.Run(t, repo, "commit", "-qm", "start")
	dir := folder(t, head+"- {name: app, git: "+repo+"}\n")
	w, err := workshop.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := w.Copy(t.Context(), copied, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := workshop.OpenFolder(copied)
	if err != nil {
		t.Fatal(err)
	}
	if !w.Equal(whole) {
		t.Error("the copy is another workshop")
	}
	gitkit.Run(t, repo, "commit", "-q", "--allow-empty", "-m", "more")
	if w.Equal(whole) {
		t.Error("a commit that came since is not seen")
	}
	app, _ := whole.Repository("app")
	if app.Bare == "" || len(app.Branches) != 1 || app.Branches[0].Name != "main" {
		t.Errorf("%+v", app)
	}
	files, err := whole.WorkflowFiles()
	if diff := cmp.Diff([]string{"app/.github/workflows/ci.yaml"}, files); diff != "" || err != nil {
		t.Error(diff, err)
	}
	write(t, filepath.Join(dir, workshop.File), head+"- {name: app, git: "+repo+", branches: [main, gone]}\n")
	if w, err = workshop.OpenFolder(dir); err != nil {
		t.Fatal(err)
	}
	if err := w.Copy(t.Context(), filepath.Join(t.TempDir(), "copy"), nil); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v", err)
	}
}
