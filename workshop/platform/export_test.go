package platform

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/orbital"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

// forgeOf serves the repositories of a sandbox below a folder, as it begins. It
// returns where they are.
func forgeOf(t *testing.T, folder, dir string) (*workshop.Workshop, workshop.Location) {
	t.Helper()
	w, err := workshop.OpenFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gitkit.Handler(t, dir))
	t.Cleanup(server.Close)
	at := workshop.On(server.URL + "/kalypso")
	loaded, err := w.Load(at)
	if err != nil {
		t.Fatal(err)
	}
	seeds, err := seed.Of(loaded, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range seeds {
		bare := filepath.Join(dir, "kalypso", r.Name+".git")
		if err := os.CopyFS(bare, os.DirFS(r.Bare)); err != nil {
			t.Fatal(err)
		}
		store := filesystem.NewStorage(osfs.New(bare), cache.NewObjectLRUDefault())
		commits, err := r.Commits(store)
		if err != nil {
			t.Fatal(err)
		}
		for name, commit := range commits {
			if err := store.SetReference(plumbing.NewHashReference(name, commit)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w, at
}

// TestSandboxPlans proves that the scheduler reads a sandbox of the copy without the
// original: all is assigned, without a problem, and nothing that it renders points out.
func TestSandboxPlans(t *testing.T) {
	o, _ := orbitalOptions(t)
	if _, err := From(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	_, at := forgeOf(t, o.Out, t.TempDir())
	p, err := source.Open(t.Context(), source.Options{ControlPlane: at.Repositories + "/ground-control"})
	if err != nil {
		t.Fatal(err)
	}
	assignments := map[string]int{}
	for _, name := range orbital.Environments {
		env, err := p.Load(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		gitops, err := p.GitOps(t.Context(), env)
		if err != nil {
			t.Fatal(err)
		}
		made, err := plan.New(t.Context(), env, gitops)
		if err != nil {
			t.Fatal(err)
		}
		assignments[name] = len(made.Assignments)
		for _, problem := range made.Problems {
			t.Errorf("%s: %s: %s", name, problem.Position, problem.Message)
		}
		for file, content := range made.Files() {
			if strings.Contains(string(content), "git.example.com") {
				t.Errorf("%s points out:\n%s", file, content)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"lab": 75, "rehearsal": 56, "flight": 37}, assignments); diff != "" {
		t.Errorf("assignments (-want +got):\n%s", diff)
	}
}

// TestRoundTrip changes things in a sandbox as users do, and brings them home: applied
// to the clones, the patches make exactly those changes, with the original's
// addresses.
func TestRoundTrip(t *testing.T) {
	o, clones := orbitalOptions(t)
	control := filepath.Join(clones, "ground-control")
	// both spellings of an address in one file, on lines that the sandbox cannot tell apart
	change(t, control, "lab", "stations/links.yaml", "one: https://git.example.com/orbital/vesta\ntwo: https://git.example.com/orbital/vesta.git\nthree: |\n  https://git.example.com/orbital/vesta\n  https://git.example.com/orbital/vesta.git\n  https://git.example.com/orbital/vesta\nfour: 4\n")
	// a branch that the original has already, which is merged in the sandbox
	gitkit.Run(t, control, "branch", "waiting", "lab")
	change(t, control, "waiting", "stations/waiting.yaml", "wait: true\n")
	if _, err := From(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w, location := forgeOf(t, o.Out, t.TempDir())
	organisation, registry := location.Repositories, location.Images
	work := t.TempDir()
	at := filepath.Join(work, "ground-control")
	gitkit.Run(t, work, "clone", "--quiet", organisation+"/ground-control", at)
	gitkit.Run(t, at, "checkout", "--quiet", "lab")
	read := func(file string) string {
		content, err := os.ReadFile(filepath.Join(at, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	write := func(file, content, message string, flags ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(at, file), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		gitkit.Run(t, at, "add", "--all")
		gitkit.Run(t, at, append([]string{"commit", "--quiet", "-m", message}, flags...)...)
	}
	gitkit.Run(t, at, "merge", "--quiet", "--no-ff", "-m", "Merge waiting", "origin/waiting")
	forked := gitkit.Run(t, at, "rev-parse", "HEAD")

	// a pull request of two commits, merged after the branch has gone on
	gitkit.Run(t, at, "checkout", "--quiet", "-b", "add-links")
	write("stations/links.yaml", strings.Replace(read("stations/links.yaml"), "four: 4", "four: 5\nfive: "+organisation+"/ground-state.git\nsix: "+organisation+"/vesta.git\nimage: "+registry+"/dish:1", 1), "Add links\n\nWith a reason.")
	write("stations/new.yaml", "url: "+organisation+"/mission-catalog.git\n", "Add a file")
	gitkit.Run(t, at, "checkout", "--quiet", "lab")
	write("stations/settings.yaml", strings.Replace(read("stations/settings.yaml"), `"13"`, `"15"`, 1), "A larger dish")
	gitkit.Run(t, at, "merge", "--quiet", "--no-ff", "-m", "Merge add-links", "add-links")
	// the scheduler's own
	write("stations/promoted", "a commit\n", "Promote", "--author", forge.AuthorName+" <"+forge.AuthorEmail+">")
	// a merge that had a conflict
	gitkit.Run(t, at, "checkout", "--quiet", "-b", "other", forked)
	write("stations/settings.yaml", strings.Replace(read("stations/settings.yaml"), `"13"`, `"14"`, 1), "Another dish")
	gitkit.Run(t, at, "checkout", "--quiet", "lab")
	if _, err := gitkit.Git(at, "", "merge", "--no-ff", "-m", "Merge other", "other"); err == nil {
		t.Fatal("the merge has no conflict")
	}
	write("stations/settings.yaml", strings.NewReplacer("<<<<<<< HEAD\n", "", "=======\n", "", ">>>>>>> other\n", "", "  DISH_METERS: \"14\"\n", "").Replace(read("stations/settings.yaml")), "Merge other")
	if err := os.Remove(filepath.Join(at, "stations/new.yaml")); err != nil {
		t.Fatal(err)
	}
	write("stations/image.bin", "\x00"+organisation+"\n", "A picture in place of a file")
	gitkit.Run(t, at, "push", "--quiet", "origin", "lab", "add-links")

	to := filepath.Join(t.TempDir(), "patches")
	exported, err := Export(t.Context(), ExportOptions{Workshop: w, Organisation: organisation, Registry: registry, To: to})
	if err != nil {
		t.Fatal(err)
	}
	if len(exported.Series) != 1 || exported.Series[0].Repository != "ground-control" || exported.Series[0].Branch != "lab" {
		t.Fatalf("series %+v", exported.Series)
	}
	if len(exported.Notes) > 0 {
		t.Errorf("notes %q", exported.Notes)
	}
	applyPatches(t, clones, exported)
	var subjects []string
	for line := range strings.Lines(gitkit.Run(t, control, "log", "--reverse", "--format=%s", "origin-lab..lab")) {
		subjects = append(subjects, strings.TrimSpace(line))
	}
	if diff := cmp.Diff([]string{"Change stations/waiting.yaml", "A larger dish", "Add links", "Add a file", "A picture in place of a file"}, subjects); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`stations/image.bin
stations/links.yaml
stations/settings.yaml
stations/waiting.yaml`, gitkit.Run(t, control, "diff", "--name-only", "origin-lab", "lab")); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`-four: 4
+four: 5
+five: https://git.example.com/orbital/ground-state
+six: https://git.example.com/orbital/vesta.git
+image: registry.example.com/orbital/dish:1`, changedLines(t, control, "stations/links.yaml")); diff != "" {
		t.Errorf("links.yaml (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("-  DISH_METERS: \"13\"\n+  DISH_METERS: \"15\"", changedLines(t, control, "stations/settings.yaml")); diff != "" {
		t.Errorf("settings.yaml (-want +got):\n%s", diff)
	}
	if author := gitkit.Run(t, control, "log", "-1", "--format=%an <%ae>", "lab"); author != "ann <ann@example.com>" {
		t.Errorf("the author is %s", author)
	}
}

// TestNewBranches brings home a branch that is pushed and not merged, for the branch
// that it began with, and no branch that shares nothing with the beginning.
func TestNewBranches(t *testing.T) {
	o, clones := orbitalOptions(t)
	if _, err := From(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w, location := forgeOf(t, o.Out, t.TempDir())
	work := t.TempDir()
	at := filepath.Join(work, "ground-control")
	gitkit.Run(t, work, "clone", "--quiet", location.Repositories+"/ground-control", at)
	gitkit.Run(t, at, "checkout", "--quiet", "-b", "ideas/more", "origin/lab")
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(at, name+".yaml"), []byte("url: "+location.Repositories+"/ground-state\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		gitkit.Run(t, at, "add", "--all")
		gitkit.Run(t, at, "commit", "--quiet", "-m", "Add "+name)
	}
	gitkit.Run(t, at, "checkout", "--quiet", "--orphan", "apart")
	gitkit.Run(t, at, "commit", "--quiet", "-m", "Begin anew")
	gitkit.Run(t, at, "push", "--quiet", "origin", "ideas/more", "apart", "origin/lab:refs/heads/same")
	exported, err := Export(t.Context(), ExportOptions{Workshop: w, Organisation: location.Repositories, Registry: location.Images, To: filepath.Join(t.TempDir(), "patches")})
	if err != nil {
		t.Fatal(err)
	}
	if len(exported.Series) != 1 || len(exported.Notes) != 1 || !strings.Contains(exported.Notes[0], "apart") {
		t.Fatalf("%+v", exported)
	}
	s := exported.Series[0]
	if s.Branch != "ideas/more" || s.From != "lab" || len(s.Patches) != 2 {
		t.Errorf("%+v", s)
	}
	control := filepath.Join(clones, "ground-control")
	gitkit.Run(t, control, "checkout", "--quiet", "-b", s.Branch, s.From)
	gitkit.Run(t, control, append([]string{"am", "--quiet", "--keep-cr", "--keep-non-patch"}, s.Patches...)...)
	if diff := cmp.Diff("one.yaml\ntwo.yaml", gitkit.Run(t, control, "diff", "--name-only", "lab", s.Branch)); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	if got := gitkit.Run(t, control, "show", s.Branch+":one.yaml"); got != "url: https://git.example.com/orbital/ground-state" {
		t.Errorf("one.yaml is %q", got)
	}
}

// applyPatches applies what was exported to the clones, each on a branch as it was.
func applyPatches(t *testing.T, clones string, exported *Exported) {
	t.Helper()
	for _, s := range exported.Series {
		clone := filepath.Join(clones, s.Repository)
		gitkit.Run(t, clone, "checkout", "--quiet", s.Branch)
		gitkit.Run(t, clone, "branch", "origin-"+s.Branch)
		gitkit.Run(t, clone, append([]string{"am", "--quiet", "--keep-cr", "--keep-non-patch"}, s.Patches...)...)
	}
}

// changedLines are those that a file differs by from its beginning.
func changedLines(t *testing.T, clone, file string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(gitkit.Run(t, clone, "diff", "--unified=0", "origin-lab", "lab", "--", file)) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") && (line[0] == '-' || line[0] == '+') {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestExportNothing proves that a sandbox in which nothing was done has nothing to
// bring home, and what is no call.
func TestExportNothing(t *testing.T) {
	o, _ := orbitalOptions(t)
	if _, err := From(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, at := forgeOf(t, o.Out, dir)
	options := ExportOptions{Workshop: w, Organisation: at.Repositories, Registry: at.Images, To: filepath.Join(t.TempDir(), "patches"), Generated: true}
	exported, err := Export(t.Context(), options)
	if err != nil || len(exported.Series)+len(exported.Notes) > 0 {
		t.Errorf("%+v, %v", exported, err)
	}
	full := options
	full.To = dir
	unknown := options
	unknown.Repositories = []string{"app"}
	for _, wrong := range []ExportOptions{full, unknown} {
		if _, err := Export(t.Context(), wrong); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
