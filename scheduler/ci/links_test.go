package ci_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
)

// What a repository's links lead to outside of the folder that a step names is
// neither read nor written.
func TestLinksThatLeadOut(t *testing.T) {
	for name, link := range map[string]struct{ at, to string }{
		"a template":           {"helm/templates/leak.yaml", "secret.yaml"},
		"a folder of a chart":  {"helm/files", "."},
		"the chart's values":   {"helm/values.yaml", "secret.yaml"},
		"the target's values":  {"configs/test/values.yaml", "secret.yaml"},
		"the target's folder":  {"configs/load", "."},
		"the manifests":        {"manifests/test/gen_manifests.yaml", "secret.yaml"},
		"the manifests' place": {"manifests/load", "."},
	} {
		t.Run(name, func(t *testing.T) {
			folder, outside := t.TempDir(), t.TempDir()
			write(t, folder, chart)
			write(t, outside, map[string]string{"secret.yaml": "a: secret\n", "values.yaml": "a: secret\n"})
			at := filepath.Join(folder, link.at)
			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(outside, link.to)
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
			_, err := ci.Render(rendering(folder))
			if err == nil || !strings.Contains(err.Error(), link.at) || !strings.Contains(err.Error(), target) {
				t.Errorf("%v does not name %s and %s", err, link.at, target)
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) != 2 {
				t.Errorf("outside: %v, %v", entries, err)
			}
			if b, err := os.ReadFile(filepath.Join(outside, "secret.yaml")); err != nil || string(b) != "a: secret\n" {
				t.Errorf("outside: %q, %v", b, err)
			}
		})
	}
	t.Run("within the chart", func(t *testing.T) {
		folder := t.TempDir()
		write(t, folder, chart)
		if err := os.Symlink("a.yaml", filepath.Join(folder, "helm/templates/same.yaml")); err != nil {
			t.Fatal(err)
		}
		if _, err := ci.Render(rendering(folder)); err != nil {
			t.Error(err)
		}
	})
	for _, file := range []string{"Dockerfile", "page.html"} {
		t.Run(file, func(t *testing.T) {
			folder, outside := t.TempDir(), t.TempDir()
			write(t, folder, map[string]string{"Dockerfile": "FROM scratch\nCOPY page.html /\n"})
			write(t, outside, map[string]string{"file": "FROM scratch\n"})
			_ = os.Remove(filepath.Join(folder, file))
			if err := os.Symlink(filepath.Join(outside, "file"), filepath.Join(folder, file)); err != nil {
				t.Fatal(err)
			}
			_, err := ci.BuildImage(t.Context(), ci.Build{Context: folder, Name: "127.0.0.1:1/a/b", Tag: "1", Registry: "127.0.0.1:1", Server: "http://127.0.0.1:1"})
			if err == nil || !strings.Contains(err.Error(), filepath.Join(folder, file)) || !strings.Contains(err.Error(), outside) {
				t.Errorf("%v does not name the link and what it leads to", err)
			}
		})
	}
}
