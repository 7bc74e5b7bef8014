package recipe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLicensesOfVite(t *testing.T) {
	list := filepath.Join(t.TempDir(), "licenses.json")
	write := func(text string) {
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"name": "@scope/pkg", "version": "1.2.3", "identifier": "MIT", "text": "MIT text"}, {"name": "bare", "version": "2.0.0"}]`)
	got, err := licensesOfVite(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Module != "npm:@scope/pkg" || got[0].Version != "1.2.3" || got[0].Component != "kalypso" || got[0].Files[0].Text != "MIT text\n" || len(got[1].Files) != 0 {
		t.Errorf("licences are %+v", got)
	}
	if _, err := os.Stat(list); err == nil {
		t.Error("the list is left among the pages")
	}
	for _, bad := range []string{"", "[]", "{}"} {
		write(bad)
		if got, err := licensesOfVite(list); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// What decides the pages is in the repository, but for what is made in the build.
func TestHubWebSources(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "..")
	for _, name := range HubWebSources() {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}
