package redact_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/redact"
)

func TestURL(t *testing.T) {
	for given, want := range map[string]string{
		"https://git.test/acme/app.git":                     "https://git.test/acme/app.git",
		"https://user:s3cret@git.test/acme/app.git":         "https://git.test/acme/app.git",
		"https://s3cret@git.test:8443/acme/app":             "https://git.test:8443/acme/app",
		"https://user:s3@cret@git.test":                     "https://git.test",
		"https://user:s3 cret@git.test/x":                   "https://git.test/x",
		"HTTP://u:s3cret@git.test?a=1#l":                    "HTTP://git.test?a=1#l",
		"https://git.test/x?access_token=s3cret&ref=a@b#L7": "https://git.test/x?access_token=REDACTED&ref=a@b#L7",
		"https://git.test/x?s3cret":                         "https://git.test/x?REDACTED",
		"https://git.test/@scope/x":                         "https://git.test/@scope/x",
		"https://git.test/http://u:s3cret@b.test/x":         "https://git.test/http://b.test/x",
		"git@git.test:acme/app.git":                         "git@git.test:acme/app.git",
		"/a/folder":                                         "/a/folder",
	} {
		if got := redact.URL(given); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for given, want := range map[string]string{
		`Get "https://u:s3cret@git.test/x": EOF, and http://s3cret@b.test, too`: `Get "https://git.test/x": EOF, and http://b.test, too`,
		"see https://git.test/x and write to a@b.test":                          "see https://git.test/x and write to a@b.test",
	} {
		if got := redact.Text(given); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for given, want := range map[string]bool{
		"https://user:s3cret@git.test/acme/app.git":       true,
		"see http://:s3cret@git.test":                     true,
		"https://ghp_s3cret@git.test/x":                   true,
		"https://acme@dev.azure.com/acme/x/_git/app":      false,
		"https://git.test:8443/acme/app@v1":               false,
		"https://git.test/x?a=b:c@d":                      false,
		"git@git.test:acme/app.git, docker.io/app@sha256": false,
	} {
		if redact.HasPassword(given) != want {
			t.Errorf("%s: not %t", given, want)
		}
	}
}

func TestError(t *testing.T) {
	err := redact.Error(&url.Error{Op: "Get", URL: "http://u:s3cret@git.test/", Err: fs.ErrNotExist})
	if strings.Contains(err.Error(), "s3cret") || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if redact.Error(nil) != nil {
		t.Error("an error of nothing")
	}
}

func TestLogger(t *testing.T) {
	var b bytes.Buffer
	const secret = "http://u:s3cret@git.test/x"
	log := redact.Logger(redact.Logger(slog.New(slog.NewTextHandler(&b, nil)).With("at", "x")))
	log.With("repo", secret).WithGroup("g").Info("reading "+secret, "error", errors.New(secret),
		slog.Group("more", "url", secret), "parsed", &url.URL{Scheme: "http", User: url.UserPassword("u", "s3cret"), Host: "git.test"}, "n", 7)
	if got := b.String(); strings.Contains(got, "s3cret") || strings.Count(got, "http://git.test") != 5 || !strings.Contains(got, "g.n=7") {
		t.Error(got)
	}
}
