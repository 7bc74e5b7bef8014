package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

func TestFindLog(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := FindLog(h, "gitea"); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gitea", "daemon", "drone"} { // a cluster of before
		if err := state.WriteFile(h.Log(name), []byte("x\n")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gitea", "daemon", "drone"} {
		if path, err := FindLog(h, name); err != nil || path != h.Log(name) {
			t.Errorf("%s: %s, %v", name, path, err)
		}
	}
	for name, says := range map[string]string{
		"gite":         "did you mean gitea?",
		"nothing":      "Choose one of arc-cluster, daemon, drone, etcd, flux-arc-cluster, gitea, hub, node-arc-cluster, runner, scheduler",
		"repositories": "`kalypso status`",
		"unpack-kube":  "`kalypso logs daemon`",
		"../sandbox":   `"../sandbox"`,
	} {
		var mistake *usage.Error
		if path, err := FindLog(h, name); !errors.As(err, &mistake) || !strings.Contains(err.Error(), says) || path != "" {
			t.Errorf("%s: %s, %v, want %q", name, path, err, says)
		}
	}
	if _, err := FindLog(h, "etcd"); err == nil || !strings.Contains(err.Error(), "etcd has not run") {
		t.Error(err)
	}
}

// forge is a Gitea with many repositories, on the sandbox's port.
func forge(t *testing.T, h Home, names []string) {
	t.Helper()
	s, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := state.WriteFile(gitea.Server{Dir: h.Path("gitea")}.TokenFile(gitea.AdminToken), []byte(giteafake.Token)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", s.Address("gitea"))
	if err != nil {
		t.Fatal(err)
	}
	fake := giteafake.New(t)
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(fake.Root, "kalypso", name+".git"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewUnstartedServer(fake)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
}

func TestFindWebPage(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := FindWebPage(t.Context(), h, "gitea", ""); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	s, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := FindWebPage(t.Context(), h, "gitea", "")
	if err != nil || p.URL != s.OrgURL() || p.User != "platform" || p.Running {
		t.Errorf("%+v, %v", p, err)
	}
	// nobody can be asked
	p, err = FindWebPage(t.Context(), h, "gitea", "mine")
	if err != nil || p.URL != s.OrgURL()+"/mine" {
		t.Errorf("%+v, %v", p, err)
	}
	var mistake *usage.Error
	if _, err := FindWebPage(t.Context(), h, "gite", ""); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "did you mean gitea?") {
		t.Error(err)
	}

	var names []string
	for i := range forgePage + 1 {
		names = append(names, fmt.Sprintf("another-%02d", i))
	}
	forge(t, h, append(names, "kalypso-control-plane"))
	daemontest.Serve(t, h, daemontest.Steady("gitea"))
	p, err = FindWebPage(t.Context(), h, "gitea", "kalypso-control-plane")
	if err != nil || p.URL != s.OrgURL()+"/kalypso-control-plane" || !p.Running {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := FindWebPage(t.Context(), h, "gitea", "kalypso-controlplane"); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "did you mean kalypso-control-plane?") {
		t.Error(err)
	}
	if err := os.WriteFile(gitea.Server{Dir: h.Path("gitea")}.TokenFile(gitea.AdminToken), []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := FindWebPage(t.Context(), h, "gitea", "a b"); err != nil || !strings.HasSuffix(p.URL, "/a%20b") {
		t.Errorf("a forge that does not say: %+v, %v", p, err)
	}
}
