package armemulator

import (
	"net/http"
	"testing"
)

// An emulator without a token refuses every token.
func TestNoTokenIsRefused(t *testing.T) {
	if err := (&server{}).authorize(&http.Request{Header: http.Header{"Authorization": {"Bearer x"}}}); err == nil {
		t.Error("authorized")
	}
}
