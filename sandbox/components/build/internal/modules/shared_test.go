package modules

import (
	"path/filepath"
	"strings"
	"testing"
)

// shared are modules, by the beginnings of their paths, of which so much is compiled that a
// second version costs a build seconds or minutes: the compiler's cache has a package once for
// all programs only where it and all below it are of one version.
var shared = []string{
	"github.com/fluxcd/", "github.com/go-git/", "github.com/go-openapi/", "github.com/google/", "github.com/prometheus/", "github.com/klauspost/",
	"go.opentelemetry.io/otel", "golang.org/x/", "google.golang.org/grpc", "google.golang.org/protobuf", "k8s.io/", "modernc.org/", "sigs.k8s.io/",
}

// apart are those that have another version in a program, with the reason.
var apart = map[string]map[string]string{
	"argocd": {
		"k8s.io/":      "since 0.35 its types are no messages of the protobuf library that Argo CD's API is made with",
		"sigs.k8s.io/": "controller-runtime and what else is made for that k8s.io",
	},
	"node":   {"go.opentelemetry.io/otel": "exporters that little hangs on"},
	"runner": {"github.com/klauspost/": "compression that little hangs on"},
	"": {
		"google.golang.org/grpc": "nothing hangs on it in kalypso itself",
		"golang.org/x/exp":       "what migrates the hub's database asks for it, and little hangs on it",
		"golang.org/x/tools":     "that x/exp asks for it, and none of it is compiled",
	},
}

// TestSharedModulesAreOfOneVersion keeps what `make update` of one component would undo for all.
func TestSharedModulesAreOfOneVersion(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files, err := filepath.Glob(filepath.Join(root, "*", "go.mod"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d modules of components: %v", len(files), err)
	}
	dirs := map[string]string{"": filepath.Join(root, "..", "..")}
	for _, file := range files {
		dirs[filepath.Base(filepath.Dir(file))] = filepath.Dir(file)
	}
	first := map[string][2]string{} // of a module, a program and its version
	for name, dir := range dirs {
		all, err := versions(dir)
		if err != nil {
			t.Fatal(err)
		}
		for module, version := range all {
			if !hasPrefix(module, shared) || isApart(name, module) || version == "" {
				continue
			}
			if other, known := first[module]; known && other[1] != version {
				t.Errorf("%s is %s in %q and %s in %q", module, version, name, other[1], other[0])
			} else if !known {
				first[module] = [2]string{name, version}
			}
		}
	}
}

func hasPrefix(module string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(module, p) {
			return true
		}
	}
	return false
}

func isApart(program, module string) bool {
	for prefix := range apart[program] {
		if strings.HasPrefix(module, prefix) {
			return true
		}
	}
	return false
}
