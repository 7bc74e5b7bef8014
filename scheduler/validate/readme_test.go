package validate_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// TestTheReadmeNamesEveryRule keeps the table of rules what the code has.
func TestTheReadmeNamesEveryRule(t *testing.T) {
	const begin, end = "<!-- rules, written by go test -update -->\n", "<!-- end of rules -->\n"
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("README.md has no place for the rules")
	}
	var want strings.Builder
	want.WriteString("| rule | severity | meaning | why, and what to do |\n| --- | --- | --- | --- |\n")
	for _, r := range validate.Rules() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, r.Summary, r.Help)
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), table); diff != "" {
		t.Errorf("rules (-want +README.md):\n%s", diff)
	}
}
