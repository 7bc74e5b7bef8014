package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
)

func TestUnknownChoicesNameTheKnown(t *testing.T) {
	h := Home(t.TempDir())
	for want, o := range map[string]Choice{
		"basic-inference":     {Workshop: "nope"},
		"embedded, kind":      {Provider: "nope"},
		"give --provider kin": {Image: "kindest/node"},
	} {
		var mistake *usage.Error
		if err := o.Check(h); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", o, err, want)
		}
	}
}

func TestSandboxKeepsItsClusters(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := ensure(h, "hello-world"); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Choice{
		"":                         {Workshop: "hello-world", Provider: ProviderEmbedded},
		"the workshop hello-world": {Workshop: "basic-inference"},
		"embedded clusters":        {Provider: ProviderKind},
	} {
		var mistake *usage.Error
		if err := o.Check(h); errors.As(err, &mistake) != (want != "") || want != "" && !strings.Contains(err.Error(), "holds "+want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

// userClusters is a kubeconfig with two contexts of one server.
func userClusters(t *testing.T, server string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {token: t}}],
contexts: [{name: edge, context: {cluster: c, user: u}}, {name: big, context: {cluster: c, user: u}}]}`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestChoiceOfContexts(t *testing.T) {
	file := userClusters(t, "http://127.0.0.1:1")
	t.Setenv("KUBECONFIG", file)
	h := Home(filepath.Join(t.TempDir(), "home"))
	for _, c := range []struct {
		workshop string
		contexts map[string]string
		says     string // "" for fine
	}{
		{"", nil, ""},
		{"", map[string]string{"drone": "edge"}, ""},
		{"", map[string]string{"drone": "edge", "large": "big"}, ""},
		{"basic-inference", map[string]string{"arc-cluster": "edge"}, ""},
		{"", map[string]string{"dron": "edge"}, "did you mean drone?"},
		{"basic-inference", map[string]string{"drone": "edge"}, "Choose one of arc-cluster"},
		{"", map[string]string{"drone": "edgy"}, "did you mean edge?\nChoose one of big, edge, of " + file},
		{"", map[string]string{"drone": "edge", "large": "edge"}, "both drone and large"},
	} {
		o := Choice{Workshop: c.workshop, Contexts: c.contexts}
		err := o.Check(h)
		var mistake *usage.Error
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%v: %v", c.contexts, err)
		case c.says != "" && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%v: says %v, want %s", c.contexts, err, c.says)
		case c.says == "" && len(c.contexts) > 0 && !slices.Equal(o.Kubeconfig, []string{file}):
			t.Errorf("%v: files %q", c.contexts, o.Kubeconfig)
		}
	}
	for value, says := range map[string]string{
		filepath.Join(string(h), "kubeconfig"):  "is the sandbox's own",
		filepath.Join(t.TempDir(), "not-there"): "has no contexts: let KUBECONFIG name",
	} {
		t.Setenv("KUBECONFIG", value)
		o := Choice{Contexts: map[string]string{"drone": "edge"}}
		if err := o.Check(h); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestAttachedClustersStayTheSame(t *testing.T) {
	h := Home(t.TempDir())
	file := userClusters(t, "http://127.0.0.1:1")
	if _, err := h.Ensure(t.Context(), Choice{Contexts: map[string]string{"drone": "edge"}, Kubeconfig: []string{file}}); err != nil {
		t.Fatal(err)
	}
	s, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]attached.Source{"drone": {Files: []string{file}, Context: "edge"}}, s.Existing); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		contexts map[string]string
		says     string
	}{
		{nil, ""},
		{map[string]string{"drone": "edge"}, ""},
		{map[string]string{"drone": "big"}, "context edge of " + file},
		{map[string]string{"large": "big"}, "cluster large"},
		{map[string]string{"huge": "big"}, `there is no cluster "huge"`},
	} {
		o := Choice{Contexts: c.contexts}
		err := o.Check(h)
		var mistake *usage.Error
		if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: says %v, want %s", c.contexts, err, c.says)
		}
	}
}
