// Package signing signs commits with an SSH or OpenPGP key, as git does.
package signing

import (
	"bytes"
	"cmp"
	"crypto"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// namespace is what git's SSH signatures are for.
const namespace = "git"

// Key signs commits in the name of its holder, who is their author and committer.
type Key struct {
	Name, Email string
	sign        func(commit []byte) ([]byte, error)
}

// Sign returns the armored signature of a commit, which is encoded without one.
func (k *Key) Sign(commit []byte) (string, error) {
	signature, err := k.sign(commit)
	if err != nil {
		return "", fmt.Errorf("signing a commit: %w", err)
	}
	return string(signature), nil
}

// Load reads a private key, of SSH or armored of OpenPGP, without a passphrase. The
// error says what to do about the file. An empty name is the scheduler's.
func Load(file, name, email string) (*Key, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s can be read by every user (mode %#o): make it chmod 600, in Kubernetes defaultMode: 0440", file, info.Mode().Perm())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	k := &Key{Name: cmp.Or(name, forge.AuthorName), Email: email}
	if bytes.Contains(data, []byte("-----BEGIN PGP")) {
		k.sign, err = openPGP(data)
	} else {
		k.sign, err = openSSH(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return k, nil
}

func openSSH(data []byte) (func([]byte) ([]byte, error), error) {
	signer, err := ssh.ParsePrivateKey(data)
	switch _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); {
	case encrypted:
		return nil, errors.New("has a passphrase, which nobody can type here: give a copy without one, which ssh-keygen -p makes")
	case err != nil:
		return nil, errors.New("is no private key of SSH and no armored one of OpenPGP: give the file that ssh-keygen has made, without .pub, or what gpg --armor --export-secret-keys prints")
	}
	return func(commit []byte) ([]byte, error) {
		signature, err := sshsig.Sign(bytes.NewReader(commit), signer, sshsig.HashSHA512, namespace)
		if err != nil {
			return nil, err
		}
		return sshsig.Armor(signature), nil
	}, nil
}

func openPGP(data []byte) (func([]byte) ([]byte, error), error) {
	ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("is no armored OpenPGP key: %w", err)
	}
	if len(ring) != 1 {
		return nil, fmt.Errorf("has %d keys: export the one to sign with", len(ring))
	}
	key, ok := ring[0].SigningKey(time.Now())
	switch {
	case !ok:
		return nil, errors.New("has no OpenPGP key that can sign now: it may have expired, or be for other uses")
	case key.PrivateKey == nil || key.PrivateKey.Dummy():
		return nil, errors.New("has no private part of the key that signs: export it with gpg --armor --export-secret-keys")
	case key.PrivateKey.Encrypted:
		return nil, errors.New("has a passphrase, which nobody can type here: export a copy without one, which gpg --edit-key and passwd make")
	}
	return func(commit []byte) ([]byte, error) {
		var signature bytes.Buffer
		config := &packet.Config{DefaultHash: crypto.SHA512, SigningKeyId: key.PublicKey.KeyId}
		err := openpgp.ArmoredDetachSign(&signature, ring[0], bytes.NewReader(commit), config)
		return signature.Bytes(), err
	}, nil
}
