package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPasswordsInURLs gives every address in a platform's files a password: none of
// the commands that read them shows it, whether the repositories are given as
// folders or are to be read at these addresses, where nothing listens.
func TestPasswordsInURLs(t *testing.T) {
	flags := explainFlags(t)
	hide := func(file string) string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "https://forge.test", "http://user:hush@127.0.0.1:1")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return text
	}
	hidden := 0
	err := filepath.WalkDir(filepath.Dir(flags[1]), func(file string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			hidden += strings.Count(hide(file), "hush")
		}
		return err
	})
	if err != nil || hidden < 4 {
		t.Fatalf("%d passwords, %v", hidden, err)
	}
	for _, command := range []string{
		"plan", "plan -o json", "plan -o yaml", "validate", "validate -o json", "validate -o sarif", "validate -o markdown",
		"explain hello-world-app-functional-test", "explain hello-world-app-functional-test -o json",
		"get workloads -o json", "get workloads -o yaml", "get environments", "get environments -o json", "get workloads",
	} {
		for _, given := range [][]string{flags, flags[:2], {"--control-plane", "http://user:hush@127.0.0.1:1/kalypso/control"}} {
			args := append(strings.Fields(command), given...)
			_, out, talk := call(t, args...)
			if out+talk == "" {
				t.Errorf("%v says nothing", args)
			}
			if text := out + talk; strings.Contains(text, "hush") {
				i := strings.Index(text, "hush")
				t.Errorf("%v: %s", args, text[max(0, i-300):min(len(text), i+50)])
			}
		}
	}
}
