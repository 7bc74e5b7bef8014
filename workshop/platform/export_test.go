package platform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

// forgeOf is the organisation and the registry of a sandbox below a folder: its
// repositories begin as those of the workshop, with its own addresses.
func forgeOf(t *testing.T, w *workshop.Workshop, dir string) (organisation, registry string) {
	t.Helper()
	organisation, registry = "file://"+dir, "localhost:3000/kalypso"
	for _, r := range w.Repositories {
		at := filepath.Join(dir, r.Name+".git")
		if err := os.CopyFS(at, os.DirFS(filepath.Join(w.Dir, workshop.RepositoryFolder, r.Name+".git"))); err != nil {
			t.Fatal(err)
		}
		work := filepath.Join(t.TempDir(), r.Name)
		gitkit.Run(t, dir, "clone", "--quiet", at, work)
		for branch := range strings.Lines(gitkit.Run(t, at, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")) {
			branch = strings.TrimSpace(branch)
			gitkit.Run(t, work, "checkout", "--quiet", branch)
			for file := range strings.Lines(gitkit.Run(t, work, "ls-files")) {
				file = filepath.Join(work, strings.TrimSpace(file))
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text := string(content)
				for _, a := range longestFirst(w.Addresses) {
					to := organisation + "/" + a.Repository + ".git"
					if a.Registry {
						to = registry
					}
					text = strings.ReplaceAll(text, a.From, to)
				}
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			date := seed.When.Format("2006-01-02T15:04:05Z")
			for _, v := range []string{"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"} {
				os.Setenv(v, date)
			}
			gitkit.Run(t, work, "commit", "--quiet", "--allow-empty", "--all", "--author", seed.AuthorName+" <"+seed.AuthorEmail+">", "-m", seed.AddressesMessage)
			for _, v := range []string{"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"} {
				os.Unsetenv(v)
			}
			gitkit.Run(t, work, "push", "--quiet", "origin", branch)
		}
	}
	return organisation, registry
}

func longestFirst(all []workshop.Address) []workshop.Address {
	sorted := append([]workshop.Address{}, all...)
	for i := range sorted {
		for j := i + 1; j < len(sorted); j++ {
			if len(sorted[j].From) > len(sorted[i].From) {
				sorted[i], sorted[j] = sorted[j], sorted[i]
			}
		}
	}
	return sorted
}

// TestRoundTrip changes things in a sandbox as users do, and brings them home: applied
// to the clones, the patches make exactly those changes, with the original's
// addresses.
func TestRoundTrip(t *testing.T) {
	o, clones := orbitalOptions(t)
	control := filepath.Join(clones, "ground-control")
	// both spellings of an address in one file, on lines that the sandbox cannot tell apart
	change(t, control, "lab", "stations/links.yaml", "one: https://git.example.com/orbital/vesta\ntwo: https://git.example.com/orbital/vesta.git\nthree: |\n  https://git.example.com/orbital/vesta\n  https://git.example.com/orbital/vesta.git\n  https://git.example.com/orbital/vesta\nfour: 4\n")
	report, err := From(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := report.Workshop
	dir := t.TempDir()
	organisation, registry := forgeOf(t, w, dir)
	work := t.TempDir()
	at := filepath.Join(work, "ground-control")
	gitkit.Run(t, work, "clone", "--quiet", filepath.Join(dir, "ground-control.git"), at)
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
	if n := exported.Notes; len(n) != 1 || !strings.Contains(n[0], "add-links") {
		t.Errorf("notes %q", n)
	}
	applyPatches(t, clones, exported)
	var subjects []string
	for line := range strings.Lines(gitkit.Run(t, control, "log", "--reverse", "--format=%s", "origin-lab..lab")) {
		subjects = append(subjects, strings.TrimSpace(line))
	}
	if diff := cmp.Diff([]string{"A larger dish", "Add links", "Add a file", "A picture in place of a file"}, subjects); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`stations/image.bin
stations/links.yaml
stations/settings.yaml`, gitkit.Run(t, control, "diff", "--name-only", "origin-lab", "lab")); diff != "" {
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
	report, err := From(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	organisation, registry := forgeOf(t, report.Workshop, dir)
	options := ExportOptions{Workshop: report.Workshop, Organisation: organisation, Registry: registry, To: filepath.Join(t.TempDir(), "patches"), Generated: true}
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
