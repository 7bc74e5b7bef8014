package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/oauth2"
)

// sealing is what the key of a session's tokens is made for.
const sealing = "kalypso hub: tokens of a session"

// The tokens of a session are encrypted with a key that is made of the session's secret. The
// secret is in the browser's cookie, and the database has only its digest: neither the database
// nor a copy of it opens the tokens, and hubs that share it need no key of their own.

func aead(session string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(session), nil, sealing, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a provider's tokens for a session.
func seal(session string, token *oauth2.Token) (string, error) {
	c, err := aead(session)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(token)
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(c.Seal(nil, nil, plain, nil)), nil
}

// open decrypts what seal has made.
func open(session, sealed string) (*oauth2.Token, error) {
	c, err := aead(session)
	if err != nil {
		return nil, err
	}
	data, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, err
	}
	plain, err := c.Open(nil, nil, data, nil)
	if err != nil {
		return nil, errors.New("the session's tokens are of another session")
	}
	var token oauth2.Token
	if err := json.Unmarshal(plain, &token); err != nil {
		return nil, fmt.Errorf("the session's tokens: %w", err)
	}
	return &token, nil
}

// secret is unguessable: of OAuth's state and of OpenID's nonce.
func secret() string { return rand.Text() }
