package scenarios

import (
	"os"
	"strings"
	"testing"
)

// The package comment is where an author looks words up.
func TestEveryWordIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(doc), "\n")
	documented := map[string]bool{}
	for _, line := range lines {
		documented[strings.TrimPrefix(line, "//\t")] = true
	}
	for _, w := range words() {
		if usage := strings.TrimSpace(w.name + " " + w.args); !documented[usage] {
			t.Errorf("the package comment does not have the line %q", usage)
		}
	}
}

func TestWhatOnlyLooks(t *testing.T) {
	for line, want := range map[string]bool{
		"kubectl --context drone get pods":             true,
		"kubectl -n x rollout status deployment y":     true,
		"kubectl -n x rollout restart deployment y":    false,
		"kubectl --context get delete pods":            false, // get is a cluster here
		"kubectl":                                      false,
		"az k8s-configuration flux show --name create": true,
		"az k8s-configuration flux create --name show": false,
		"kalypso plan -e dev":                          true,
		"kalypso down --delete":                        false,
		"says x kubectl get pods":                      true,
		"says x kubectl delete pods":                   false,
		"pr wait r b 1s":                               true,
		"pr merge":                                     false,
		"workflow run r f main":                        false,
		"http get ns svc/x 80 /":                       true,
	} {
		args := strings.Fields(line)
		w, _, err := findWord(args)
		if err != nil {
			if want {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		if got := w.onlyLooks(args); got != want {
			t.Errorf("%s: only looks is %v", line, got)
		}
	}
}
