package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// Signed tells whether a webhook's body was signed with the secret: in Gitea's
// header, or in the one that GitHub and Gitea both send
// (docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries). An
// empty secret signs nothing.
func Signed(secret string, header http.Header, body []byte) bool {
	signature := header.Get("X-Gitea-Signature")
	if signature == "" {
		signature, _ = strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	}
	got, err := hex.DecodeString(signature)
	if err != nil || secret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}
