package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// tokenVariable has the password of the artifact server. It is not a flag:
	// everybody on the machine sees the arguments of a process.
	tokenVariable = "KALYPSO_ARTIFACT_TOKEN"

	// artifactUser is whom the kustomize-controller is for the artifact server.
	artifactUser = "kustomize-controller"

	headerLimit = 10 * time.Second
)

// artifactServer serves artifacts to those who have the token. Upstream's
// server gives everybody who reaches it a list of all artifacts and each of
// them, which in a cluster is the business of a network policy.
type artifactServer struct {
	dir     string
	address string
	token   string
}

func newArtifactServer(dir, address string) (*artifactServer, error) {
	token := os.Getenv(tokenVariable)
	if token == "" {
		return nil, errors.New(tokenVariable + " is not set: the artifacts must not be open to everybody")
	}
	return &artifactServer{dir: dir, address: address, token: token}, nil
}

// advertised is what artifacts' URLs begin with. The token is in it, as the
// kustomize-controller knows nothing but the URL; net/http turns it into the
// header. A user who may read it, in the status of a GitRepository, may read the
// repository's credentials as well.
func (s *artifactServer) advertised() string {
	u := url.URL{Scheme: "http", User: url.UserPassword(artifactUser, s.token), Host: s.address}
	return u.String()
}

// handler serves /healthz to all, and files to those with the token.
func (s *artifactServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	files := http.FileServer(http.Dir(s.dir))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		user, token, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(user+":"+token), []byte(artifactUser+":"+s.token)) != 1 {
			http.Error(w, "the artifacts are for Flux only", http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/") { // a listing
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	})
	return mux
}

// serve serves until ctx ends.
func (s *artifactServer) serve(ctx context.Context) error {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("artifact server: %w", err)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: headerLimit}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
		defer cancel()
		_ = server.Shutdown(last)
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("artifact server: %w", err)
	}
	return nil
}
