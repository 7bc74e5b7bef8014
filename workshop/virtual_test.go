package workshop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/fixtures"
)

// withClusters is a folder of the hello-world workshop with these clusters instead
// of its own, and the line of workshop.yaml that they begin at.
func withClusters(t *testing.T, clusters string) (dir string, first int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "w")
	files, err := fs.Sub(fixtures.Files, "hello-world")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, File)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "clusters:\n")
	_, after, found := strings.Cut(rest, "images:\n")
	if !found {
		t.Fatal("the workshop has changed")
	}
	if err := os.WriteFile(file, []byte(before+"clusters:\n"+clusters+"images:\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, strings.Count(before, "\n") + 2
}

const follows = "  reconciler: flux\n  follows: [{name: dev, repository: kalypso-gitops, branch: dev, path: drone}]\n"

func TestVirtualClustersOfAFolder(t *testing.T) {
	dir, _ := withClusters(t, "- name: drone\n"+follows+
		"- name: store-{001..200}\n  type: drone\n  kind: virtual\n"+follows+"  virtual: {seed: 7, delay: 90s, failing: 0.05, offline: 0.1, offlineFor: 2m}\n")
	w, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Expand(w.Clusters)
	if err != nil || len(all) != 201 || all[200].Name != "store-200" || *all[200].Virtual != (Virtual{7, 90 * time.Second, 0.05, 0.1, 2 * time.Minute}) {
		t.Errorf("%v, %d: %+v", err, len(all), all[len(all)-1])
	}
}

func TestMistakesInVirtualClustersHaveALine(t *testing.T) {
	virtual := func(name, more string) string {
		return "- name: " + name + "\n  type: drone\n  kind: virtual\n" + follows + more
	}
	for name, c := range map[string]struct {
		clusters string
		line     int // from that of the first entry
	}{
		"descending":       {virtual("s-{20..10}", ""), 0},
		"wide":             {virtual("s-{00000..99999}", ""), 0},
		"widths":           {virtual("s-{1..10}", ""), 0},
		"a real range":     {"- name: s-{1..3}\n" + follows, 0},
		"failing":          {virtual("s-{1..3}", "  virtual:\n    seed: 1\n    failing: 1.5\n"), 7},
		"offline":          {virtual("s-{1..3}", "  virtual:\n    offline: -1\n    offlineFor: 1m\n"), 6},
		"no length":        {virtual("s-{1..3}", "  virtual:\n    offline: 0.1\n"), 6},
		"one of the range": {virtual("s-{1..3}", "") + virtual("s-2", ""), 5},
	} {
		t.Run(name, func(t *testing.T) {
			dir, first := withClusters(t, c.clusters)
			var wrong *Error
			if _, err := OpenFolder(dir); !errors.As(err, &wrong) || len(wrong.Problems) != 1 || wrong.Problems[0].Line != first+c.line {
				t.Errorf("%v, line %d is wrong", err, first+c.line)
			}
		})
	}
}
