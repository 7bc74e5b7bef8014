package gitclient_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
)

// TestCommitsAreSigned has git verify commits, whose author and committer hold the key.
func TestCommitsAreSigned(t *testing.T) {
	for _, kind := range []string{"ed25519", "rsa", "ecdsa"} {
		t.Run(kind, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			keygen(t, "-q", "-t", kind, "-N", "", "-f", file)
			public, err := os.ReadFile(file + ".pub")
			if err != nil {
				t.Fatal(err)
			}
			allowed := filepath.Join(t.TempDir(), "allowed")
			writeFile(t, allowed, "bot@acme.test namespaces=\"git\" "+string(public))
			verified(t, file, "gpg.ssh.allowedSignersFile="+allowed, "bot@acme.test")
		})
	}
	t.Run("openpgp", func(t *testing.T) {
		entity, err := openpgp.NewEntity("Bot", "", "bot@acme.test", nil)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "key.asc")
		var private, public bytes.Buffer
		armored(t, &private, openpgp.PrivateKeyType, entity)
		armored(t, &public, openpgp.PublicKeyType, entity)
		writeFile(t, file, private.String())
		// gpg's agent does not take a long path
		home, err := os.MkdirTemp("/tmp", "gpg")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		t.Setenv("GNUPGHOME", home)
		command := exec.Command("gpg", "--batch", "--no-autostart", "--import")
		command.Stdin = &public
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		verified(t, file, "gpg.format=openpgp", "Bot <bot@acme.test>")
	})
}

// verified makes a commit that is signed with the key of a file, and has git verify it
// with a setting.
func verified(t *testing.T, file, setting, signer string) {
	t.Helper()
	key, err := signing.Load(file, "Acme's Bot", "bot@acme.test")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	remote, work := s.create("app")
	base := s.push(work, "main", "1")
	c := gitclient.New(&http.Client{}, 1<<20)
	c.Signing = key
	commit, err := c.Commit(ctx, remote, forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "Kalypso: dev\n\nmore\n", When: time.Now(),
		Changes: []forge.Change{{Path: "x", Content: []byte("x")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(s.root, "app.git")
	out, err := exec.Command("git", "-C", bare, "-c", setting, "verify-commit", "-v", commit).CombinedOutput()
	if err != nil || !strings.Contains(string(out), signer) {
		t.Errorf("git verify-commit: %v\n%s", err, out)
	}
	if got, want := s.git(bare, "log", "-1", "--format=%an <%ae> %cn <%ce>", commit), "Acme's Bot <bot@acme.test> Acme's Bot <bot@acme.test>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func keygen(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen %v: %v\n%s", args, err, out)
	}
}

func armored(t *testing.T, b *bytes.Buffer, kind string, entity *openpgp.Entity) {
	t.Helper()
	w, err := armor.Encode(b, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	if kind == openpgp.PrivateKeyType {
		err = entity.SerializePrivate(w, nil)
	} else {
		err = entity.Serialize(w)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
