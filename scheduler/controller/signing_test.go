package controller

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// TestSigningKeys loads keys that can sign, and says of others where they are named and
// what is wrong with them.
func TestSigningKeys(t *testing.T) {
	folder := t.TempDir()
	keygen := func(name, passphrase string) {
		t.Helper()
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", filepath.Join(folder, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	keygen("good", "")
	keygen("locked", "passphrase")
	keygen("open", "")
	if err := os.Chmod(filepath.Join(folder, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("text", "no key\n")
	entity, err := openpgp.NewEntity("Bot", "", "bot@acme.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	pgp := func(name, kind string, serialize func(w *bytes.Buffer) error) {
		t.Helper()
		var b, content bytes.Buffer
		if err := serialize(&content); err != nil {
			t.Fatal(err)
		}
		w, err := armor.Encode(&b, kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := content.WriteTo(w); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		write(name, b.String())
	}
	pgp("good.asc", openpgp.PrivateKeyType, func(w *bytes.Buffer) error { return entity.SerializePrivate(w, nil) })
	pgp("public.asc", openpgp.PublicKeyType, func(w *bytes.Buffer) error { return entity.Serialize(w) })
	if err := entity.EncryptPrivateKeys([]byte("passphrase"), nil); err != nil {
		t.Fatal(err)
	}
	pgp("locked.asc", openpgp.PrivateKeyType, func(w *bytes.Buffer) error { return entity.SerializePrivateWithoutSigning(w, nil) })
	for key, want := range map[string]string{
		"good": "", "good.asc": "",
		"locked": "has a passphrase", "locked.asc": "has a passphrase",
		"open": "chmod 600", "text": "is no private key", "good.pub": "chmod 600", "public.asc": "no private part", "none": "no such file",
	} {
		file := filepath.Join(folder, "scheduler.yaml")
		config := strings.Replace(goodConfig, "  tokenFile: token\n", fmt.Sprintf("  tokenFile: token\n  signing:\n    email: bot@acme.test\n    keyFile: %s\n", key), 1)
		write("scheduler.yaml", config)
		c, err := LoadConfig(file)
		switch {
		case want == "" && (err != nil || c.Forge.Signing.key == nil):
			t.Errorf("%s: %v", key, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), file+":8: forge.signing.keyFile: ") || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}
