package plan

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func TestOnlyAdds(t *testing.T) {
	tests := []struct {
		name            string
		present, wanted map[string]string
		want            bool
	}{
		{"nothing there", nil, map[string]string{"a": "x\n"}, true},
		{"the same", map[string]string{"a": "x\ny\n"}, map[string]string{"a": "x\ny\n"}, true},
		{"a line more", map[string]string{"a": "x\ny\n"}, map[string]string{"a": "x\nz\ny\n"}, true},
		{"a file more", map[string]string{"a": "x\n"}, map[string]string{"a": "x\n", "b": "y\n"}, true},
		{"a line less", map[string]string{"a": "x\ny\n"}, map[string]string{"a": "x\n"}, false},
		{"a line changed", map[string]string{"a": "x: 1\n"}, map[string]string{"a": "x: 2\n"}, false},
		{"one of two equal lines less", map[string]string{"a": "x\nx\n"}, map[string]string{"a": "x\ny\n"}, false},
		{"a file less", map[string]string{"a": "x\n", "b": "y\n"}, map[string]string{"a": "x\n"}, false},
		{"the last newline", map[string]string{"a": "x"}, map[string]string{"a": "x\ny\n"}, true},
		{"another order", map[string]string{"a": "x\ny\n"}, map[string]string{"a": "y\nx\n"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := onlyAdds(filesWith(test.present), filesWith(test.wanted)); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func contents(texts map[string]string) map[string][]byte {
	files := map[string][]byte{}
	for path, text := range texts {
		files[path] = []byte(text)
	}
	return files
}

func filesWith(texts map[string]string) []file {
	var files []file
	for name, text := range texts {
		files = append(files, file{name, []byte(text)})
	}
	return files
}

func TestIsGenerated(t *testing.T) {
	tests := map[string]bool{
		"README.md":                  true,
		"dt/namespace.yaml":          true,
		"dt/platform-config.yaml":    true,
		"dt/platform-config.sh":      true,
		"dt/reconciler.yaml":         true,
		"dt/reconciler.sh":           true,
		"namespace.yaml":             false,
		"dt/README.md":               false,
		"dt/namespace.yml":           false,
		"dt/namespace":               false,
		"dt/more/namespace.yaml":     false,
		"dt/kustomization.yaml":      false,
		"dt/namespace.yaml.orig":     false,
		"/namespace.yaml":            false,
		"dt/namespace.backup.yaml":   false,
		"dt/platform-config.env.txt": false,
	}
	for _, path := range slices.Sorted(maps.Keys(tests)) {
		if got := isGenerated(path); got != tests[path] {
			t.Errorf("%s: %v, want %v", path, got, tests[path])
		}
	}
}

// TestBranchContent holds what becomes of single files of a branch on which
// cluster type "small" is all there is and nothing is assigned to it.
func TestBranchContent(t *testing.T) {
	ours := string(readme("small"))
	tests := []struct {
		name   string
		root   string
		commit string
		branch map[string]string
		want   []string
	}{
		{"empty", "", "", nil, []string{"add small/README.md"}},
		{"below a path", "a/b", "", nil, []string{"add a/b/small/README.md"}},
		{"path with slashes", "/a/", "", nil, []string{"add a/small/README.md"}},
		{"path that leads out", "../..", "", nil, []string{"add small/README.md"}},
		{"up to date", "", "", map[string]string{"small/README.md": ours}, []string{}},
		{"README of others", "", "", map[string]string{"small/README.md": "mine"}, []string{}},
		{"README in older words", "", "", map[string]string{"small/README.md": readmeSentence}, []string{}},
		{"gone target", "", "", map[string]string{"small/README.md": ours, "small/x/namespace.yaml": ""}, []string{"remove small/x/namespace.yaml"}},
		{"gone target beside files of others", "", "", map[string]string{"small/README.md": ours, "small/x/namespace.yaml": "", "small/x/notes.md": ""}, []string{"remove small/x/namespace.yaml"}},
		{"folder of others", "", "", map[string]string{"small/README.md": "mine", "small/x/namespace.yaml": ""}, []string{}},
		{"gone cluster type", "", "", map[string]string{"small/README.md": ours, "old/README.md": ours, "old/x/reconciler.sh": "", "old/notes.md": ""}, []string{"remove old/README.md", "remove old/x/reconciler.sh"}},
		{"gone cluster type outside of the path", "a", "", map[string]string{"a/small/README.md": ours, "old/README.md": ours, "ab/old/README.md": ours}, []string{}},
		{"gone cluster type below the path", "a", "", map[string]string{"a/small/README.md": ours, "a/old/README.md": ours}, []string{"remove a/old/README.md"}},
		{"hidden folder", "", "", map[string]string{"small/README.md": ours, ".x/README.md": ours, ".x/y/namespace.yaml": ""}, []string{}},
		{"root", "", "", map[string]string{"small/README.md": ours, "README.md": ours, "namespace.yaml": ""}, []string{}},
		{"first promotion", "", "c1", map[string]string{"small/README.md": ours}, []string{"add .github/tracking/Promoted_Commit_Id"}},
		{"next promotion", "", "c2", map[string]string{"small/README.md": ours, ".github/tracking/Promoted_Commit_Id": "c1\n"}, []string{"modify .github/tracking/Promoted_Commit_Id"}},
		{"same promotion", "", "c1", map[string]string{"small/README.md": ours, ".github/tracking/Promoted_Commit_Id": "c1"}, []string{}},
		{"promotion below a path", "a", "c1", map[string]string{"a/small/README.md": ours}, []string{"add a/.github/tracking/Promoted_Commit_Id"}},
		{"no promotion any more", "", "", map[string]string{"small/README.md": ours, ".github/tracking/Promoted_Commit_Id": "c1\n"}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := &model.Environment{Name: "dev", Promoted: test.commit, GitOps: model.Reference{Repo: "r", Path: test.root}}
			env.ClusterTypes = []model.ClusterType{clusterTypeOf(t, "small", "{}")}
			branch := contents(test.branch)
			before := maps.Clone(branch)
			p := planWith(t, new(Planner), env, &model.Tree{Files: branch})
			got := []string{}
			for _, c := range p.Changes {
				got = append(got, string(c.Action)+" "+c.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, branch); diff != "" {
				t.Errorf("planning changed the branch:\n%s", diff)
			}
			env.Incomplete = true
			for _, c := range planWith(t, new(Planner), env, &model.Tree{Files: branch}).Changes {
				if c.Action == Remove {
					t.Errorf("%s is removed while the model is incomplete", c.Path)
				}
			}
		})
	}
}
