package platform

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/orbital"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
)

// clonesDir has the test platform's clones, which tests copy.
var (
	clonesDir string
	writing   sync.Once
)

func TestMain(m *testing.M) {
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	var err error
	if clonesDir, err = os.MkdirTemp("", "orbital"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(clonesDir)
	os.Exit(code)
}

func written(t *testing.T) string {
	t.Helper()
	writing.Do(func() { orbital.Write(t, clonesDir) })
	return clonesDir
}

// orbitalOptions are those for a copy of the test platform, from clones.
func orbitalOptions(t *testing.T) (o Options, clones string) {
	t.Helper()
	clones = t.TempDir()
	if err := os.CopyFS(clones, os.DirFS(written(t))); err != nil {
		t.Fatal(err)
	}
	o = Options{ControlPlane: filepath.Join(clones, "ground-control"), Out: filepath.Join(t.TempDir(), "copy")}
	entries, err := os.ReadDir(clones)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "ground-control" {
			o.Clones = append(o.Clones, filepath.Join(clones, e.Name()))
		}
	}
	return o, clones
}

// change commits a file to a branch of a clone; without content it removes it.
func change(t *testing.T, clone, branch, file, content string) {
	t.Helper()
	gitkit.Run(t, clone, "checkout", "--quiet", branch)
	at := filepath.Join(clone, file)
	if content == "" {
		gitkit.Run(t, clone, "rm", "--quiet", file)
	} else {
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		gitkit.Run(t, clone, "add", "--force", file)
	}
	gitkit.Run(t, clone, "commit", "--quiet", "-m", "Change "+file)
	gitkit.Run(t, clone, "checkout", "--quiet", "main")
}

// replace changes a text in a file of a branch.
func replace(t *testing.T, clone, branch, file, old, text string) {
	t.Helper()
	before := gitkit.Run(t, clone, "show", branch+":"+file)
	if !strings.Contains(before, old) {
		t.Fatalf("%s has no %q", file, old)
	}
	change(t, clone, branch, file, strings.Replace(before, old, text, 1)+"\n")
}

func TestFrom(t *testing.T) {
	o, clones := orbitalOptions(t)
	report, err := From(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workshop.OpenFolder(o.Out); err != nil {
		t.Error(err)
	}
	w := report.Workshop
	if w.ControlPlane.Repository != "ground-control" || !slices.Equal(w.ControlPlane.Environments, orbital.Environments) {
		t.Errorf("control plane %+v", w.ControlPlane)
	}
	got := map[string]workshop.Team{}
	for _, r := range w.Repositories {
		got[r.Name] = r.Team
		original, copied := filepath.Join(clones, r.Name), filepath.Join(o.Out, workshop.RepositoryFolder, r.Name+".git")
		refs := func(dir string) string {
			return gitkit.Run(t, dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
		}
		if diff := cmp.Diff(refs(original), refs(copied)); diff != "" {
			t.Errorf("branches of %s (-original +copy):\n%s", r.Name, diff)
		}
		if head := gitkit.Run(t, copied, "symbolic-ref", "HEAD"); head != "refs/heads/main" {
			t.Errorf("%s has the default branch %s", r.Name, head)
		}
	}
	want := map[string]workshop.Team{
		"ground-control": workshop.PlatformTeam, "ground-templates": workshop.PlatformTeam, "mission-catalog": workshop.PlatformTeam,
		"ground-state": workshop.PlatformTeam, "mission-manifests": "", "sentinel": "", "lofoten": "", "vesta": "", "aurora": "", "helios": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("repositories (-want +got):\n%s", diff)
	}
	reconcilers := map[string]workshop.Reconciler{}
	for _, c := range w.Clusters {
		reconcilers[c.Name] = c.Reconciler
	}
	if diff := cmp.Diff(map[string]workshop.Reconciler{
		"antenna-north": workshop.Flux, "antenna-south": workshop.Flux, "antenna-equator": workshop.Flux, "relay-ship": workshop.Flux, "relay-balloon": workshop.Flux,
		"control-room": workshop.ArgoCD, "archive": workshop.ArgoCD, "imaging": workshop.ArgoCD, "simulator": workshop.ArgoCD,
	}, reconcilers); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(workshop.Cluster{
		Name: "antenna-north", Type: "antenna-north", Reconciler: workshop.Flux, Node: workshop.SimulatedNode, Credentials: "orbital-git",
		Follows: []workshop.Subscription{
			{Name: "lab", Repository: "ground-state", Branch: "lab", Path: "stations/antenna-north"},
			{Name: "rehearsal", Repository: "ground-state", Branch: "rehearsal", Path: "stations/antenna-north"},
			{Name: "flight", Repository: "ground-state", Branch: "flight", Path: "stations/antenna-north"},
		},
	}, w.Clusters[slices.IndexFunc(w.Clusters, func(c workshop.Cluster) bool { return c.Name == "antenna-north" })]); diff != "" {
		t.Errorf("antenna-north (-want +got):\n%s", diff)
	}
	for _, a := range []workshop.Address{
		{From: "https://git.example.com/orbital/ground-control", Repository: "ground-control"},
		{From: "https://git.example.com/orbital/ground-control.git", Repository: "ground-control"},
		{From: "git@git.example.com:orbital/mission-catalog.git", Repository: "mission-catalog"},
		{From: "registry.example.com/orbital", Registry: true},
	} {
		if !slices.Contains(w.Addresses, a) {
			t.Errorf("%+v is not among %v", a, w.Addresses)
		}
	}
	if diff := cmp.Diff(workshop.Workflows{Secrets: []string{"ORBITAL_BOT_TOKEN"}}, w.Workflows); diff != "" {
		t.Errorf("workflows (-want +got):\n%s", diff)
	}
	var outside []string
	for _, x := range report.Outside {
		outside = append(outside, strings.Join([]string{string(x.Kind), x.Text, x.Position.String()}, " "))
	}
	for _, want := range []string{
		"action orbital-tools/yaml-lint@v2 ground-control@main:.github/workflows/lint.yaml:8",
		"address https://orbits.example.org/v2 ground-control@lab:stations/settings.yaml:7",
	} {
		if !slices.Contains(outside, want) {
			t.Errorf("%q is not in %q", want, outside)
		}
	}
	for _, x := range outside {
		if strings.Contains(x, "git.example.com") || strings.Contains(x, "registry.example.com") {
			t.Errorf("it points out: %s", x)
		}
	}
	if n := report.Notes; len(n) != 1 || n[0].Position.File != "stations/halls.yaml" || n[0].Position.Line == 0 {
		t.Errorf("notes %v, want the cluster type without assignments", n)
	}
}

// TestFromChosen asks for less, and for more.
func TestFromChosen(t *testing.T) {
	o, clones := orbitalOptions(t)
	o.Environments = []string{"rehearsal", "lab"}
	o.ClusterTypes, o.Clusters = []string{"archive", "spare"}, map[string]int{"antenna-north": 2}
	o.Depth = 1
	o.Names = map[string]string{"https://git.example.com/orbital/helios": "sun"}
	bundle := filepath.Join(t.TempDir(), "vesta.bundle")
	gitkit.Run(t, filepath.Join(clones, "vesta"), "bundle", "create", "--quiet", bundle, "--all")
	i := slices.Index(o.Clones, filepath.Join(clones, "vesta"))
	o.Clones[i] = orbital.Organisation + "/vesta=" + bundle
	change(t, filepath.Join(clones, "mission-catalog"), "main", "README.md", "# A second commit\n")
	report, err := From(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := report.Workshop
	var clusters []string
	for _, c := range w.Clusters {
		clusters = append(clusters, c.Name+" of "+c.Type)
	}
	if diff := cmp.Diff([]string{"antenna-north-1 of antenna-north", "antenna-north-2 of antenna-north", "archive of archive", "spare of spare"}, clusters); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if !slices.Equal(w.ControlPlane.Environments, o.Environments) {
		t.Errorf("environments %q", w.ControlPlane.Environments)
	}
	if _, ok := w.Repository("sun"); !ok {
		t.Errorf("helios has not got its other name: %+v", w.Repositories)
	}
	count := func(name string) string {
		return gitkit.Run(t, filepath.Join(o.Out, workshop.RepositoryFolder, name+".git"), "rev-list", "--count", "main")
	}
	if got := count("mission-catalog") + count("ground-templates") + count("vesta"); got != "121" {
		t.Errorf("%q commits of mission-catalog, ground-templates and vesta: want one, and both where the older one is pinned", got)
	}
	if !slices.ContainsFunc(report.Notes, func(n Note) bool { return strings.Contains(n.Message, "ground-templates") }) {
		t.Errorf("notes %v do not name ground-templates, which has its history", report.Notes)
	}
}

// TestFromWrong proves that each mistake of the original is one error at its place,
// and that nothing is left then.
func TestFromWrong(t *testing.T) {
	base := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata:\n  name: further\nspec:\n  repo: https://git.example.com/orbital/ground-templates\n  branch: main\n  path: k8s\n"
	for name, c := range map[string]struct {
		prepare func(t *testing.T, o *Options, clones string)
		want    []string // in the message or the hint
		usage   bool
	}{
		"two of one name": {func(t *testing.T, o *Options, clones string) {
			replace(t, filepath.Join(clones, "mission-catalog"), "main", "admitted/beacon.yaml", "orbital/lofoten", "others/vesta")
			o.Clones = append(o.Clones, "https://git.example.com/others/vesta="+filepath.Join(clones, "lofoten"))
		}, []string{"mission-catalog@main:admitted/", "others/vesta", "--name"}, false},
		"no branch of an environment": {func(t *testing.T, o *Options, clones string) {
			gitkit.Run(t, filepath.Join(clones, "ground-control"), "branch", "-D", "flight")
		}, []string{"ground-control@main:environments/lab.yaml:28", "flight", "git fetch"}, false},
		"no branch of a base": {func(t *testing.T, o *Options, clones string) {
			replace(t, filepath.Join(clones, "ground-control"), "lab", "stations/sources.yaml", "branch: main", "branch: mian")
		}, []string{"ground-control@lab:stations/sources.yaml:8", "mian"}, false},
		"no branch of GitOps": {func(t *testing.T, o *Options, clones string) {
			gitkit.Run(t, filepath.Join(clones, "ground-state"), "branch", "-D", "lab")
		}, []string{"ground-control@lab:stations/sources.yaml:27", "lab"}, false},
		"a pinned commit that is not there": {func(t *testing.T, o *Options, clones string) {
			first := gitkit.Run(t, filepath.Join(clones, "ground-templates"), "rev-parse", "main~1")
			replace(t, filepath.Join(clones, "ground-control"), "lab", "stations/sources.yaml", first, strings.Repeat("f", 40))
		}, []string{"ground-control@lab:stations/sources.yaml:10", strings.Repeat("f", 40)}, false},
		"a base that is no BaseRepo": {func(t *testing.T, o *Options, clones string) {
			replace(t, filepath.Join(clones, "ground-control"), "lab", "stations/sources.yaml", "path: k8s", "path: [k8s]")
		}, []string{"ground-control@lab:stations/sources.yaml:9"}, false},
		"a base that cannot be read": {func(t *testing.T, o *Options, clones string) {
			o.Clones = slices.DeleteFunc(o.Clones, func(c string) bool { return filepath.Base(c) == "mission-catalog" })
			replace(t, filepath.Join(clones, "ground-control"), "lab", "stations/sources.yaml", "https://git.example.com/orbital/mission-catalog", "https://elsewhere.example.org/orbital/mission-catalog")
		}, []string{"ground-control@lab:stations/sources.yaml:17", "elsewhere.example.org", "--allow-host", "--clone"}, false},
		"a circle of bases": {func(t *testing.T, o *Options, clones string) {
			at := filepath.Join(clones, "ground-templates")
			change(t, at, "main", "k8s/further.yaml", base)
			commit := gitkit.Run(t, at, "rev-parse", "main")
			replace(t, filepath.Join(clones, "ground-control"), "lab", "stations/sources.yaml", gitkit.Run(t, at, "rev-parse", "main~2"), commit)
		}, []string{"ground-templates@main:k8s/further.yaml:1", "circle"}, false},
		"no Environment": {func(t *testing.T, o *Options, clones string) {
			change(t, filepath.Join(clones, "ground-control"), "main", "environments/lab.yaml", "")
		}, []string{"Environment", "--branch"}, false},
		"a cluster's name": {func(t *testing.T, o *Options, clones string) {
			long := strings.Repeat("long", 20)
			replace(t, filepath.Join(clones, "ground-control"), "lab", "stations/halls.yaml", "name: archive", "name: "+long)
			o.ClusterTypes = []string{long}
		}, []string{"ground-control@lab:stations/halls.yaml:8", "63"}, false},
		"a repository's name": {func(t *testing.T, o *Options, clones string) {
			o.Names = map[string]string{orbital.Organisation + "/vesta": strings.Repeat("v", 101)}
		}, []string{"mission-catalog@main:admitted/", "100", "--name"}, false},
		"no such environment":  {func(_ *testing.T, o *Options, _ string) { o.Environments = []string{"prod"} }, []string{"prod", "flight"}, true},
		"no such cluster type": {func(_ *testing.T, o *Options, _ string) { o.ClusterTypes = []string{"drone"} }, []string{"drone", "archive"}, true},
		"no clusters":          {func(_ *testing.T, o *Options, _ string) { o.Clusters = map[string]int{"archive": 0} }, []string{"archive"}, true},
		"no control plane":     {func(_ *testing.T, o *Options, _ string) { o.ControlPlane += "s" }, []string{"ground-controls"}, true},
		"no such clone":        {func(_ *testing.T, o *Options, _ string) { o.Clones = append(o.Clones, "nowhere") }, []string{"nowhere"}, true},
		"a folder without git": {func(t *testing.T, o *Options, _ string) { o.ControlPlane = t.TempDir() }, []string{"git repository"}, false},
		"a folder that is there": {func(t *testing.T, o *Options, _ string) {
			o.Out = t.TempDir()
			if err := os.WriteFile(filepath.Join(o.Out, "kept"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}, []string{"--out"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, clones := orbitalOptions(t)
			c.prepare(t, &o, clones)
			_, err := From(t.Context(), o)
			if err == nil {
				t.Fatal("there is no error")
			}
			text := err.Error()
			if read := new(source.Error); errors.As(err, &read) {
				text += "\n" + read.Hint
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in: %s", want, text)
				}
			}
			if mistake := new(usage.Error); errors.As(err, &mistake) != c.usage {
				t.Errorf("a mistake of the caller: %v, want %v: %v", !c.usage, c.usage, err)
			}
			left, _ := os.ReadDir(filepath.Dir(o.Out))
			for _, entry := range left {
				if strings.Contains(entry.Name(), "copy") {
					t.Errorf("%s is left", entry.Name())
				}
			}
		})
	}
}

// TestFromNotes proves what is taken as it is, and what is left out.
func TestFromNotes(t *testing.T) {
	o, clones := orbitalOptions(t)
	catalog, vesta := filepath.Join(clones, "mission-catalog"), filepath.Join(clones, "vesta")
	replace(t, catalog, "main", "admitted/beacon.yaml", "https://git.example.com/orbital/lofoten", "https://elsewhere.example.org/lofoten")
	replace(t, catalog, "main", "admitted/ephemeris.yaml", "branch: main", "branch: gone")
	change(t, vesta, "main", "plates/m31.fits", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
	gitkit.Run(t, vesta, "update-index", "--add", "--cacheinfo", "160000,"+gitkit.Run(t, vesta, "rev-parse", "HEAD")+",vendor/lib")
	gitkit.Run(t, vesta, "commit", "--quiet", "-m", "A submodule")
	change(t, vesta, "main", "chart/Chart.yaml", "dependencies:\n  - name: db\n    repository: https://charts.example.net/stable\n")
	change(t, vesta, "main", "chart/values.yaml", "image: quay.io/others/db:1\nclone: https://bot:hidden@git.example.com/orbital/vesta.git\n# see https://commented.example.net/x\n")
	change(t, vesta, "main", "deploy/source.yaml", "url: https://git.example.com/others/tools\nin: http://db.default.svc:80/\n")
	report, err := From(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, n := range report.Notes {
		notes = append(notes, n.Position.String())
		if strings.Contains(n.Message, "hidden") {
			t.Errorf("a password is shown: %s", n)
		}
	}
	for _, want := range []string{
		"mission-catalog@main:admitted/beacon.yaml:7", "mission-catalog@main:admitted/ephemeris.yaml:8",
		"vesta@main:plates/m31.fits:1", "vesta@main:vendor/lib", "vesta@main:chart/values.yaml:2",
	} {
		if !slices.Contains(notes, want) {
			t.Errorf("%s is not among %q", want, notes)
		}
	}
	var outside []string
	for _, x := range report.Outside {
		if strings.HasPrefix(x.Position.String(), "vesta") {
			outside = append(outside, string(x.Kind)+" "+x.Text+" "+x.Position.String())
		}
	}
	if diff := cmp.Diff([]string{
		"chart https://charts.example.net/stable vesta@main:chart/Chart.yaml:3",
		"image quay.io/others/db:1 vesta@main:chart/values.yaml:1",
		"repository https://git.example.com/others/tools vesta@main:deploy/source.yaml:1",
	}, outside); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	content, err := os.ReadFile(filepath.Join(o.Out, workshop.File))
	if err != nil || strings.Contains(string(content), "hidden") {
		t.Errorf("%v, or a password in\n%s", err, content)
	}
	if _, ok := report.Workshop.Repository("vesta"); !ok || slices.ContainsFunc(report.Workshop.Repositories, func(r workshop.Repository) bool { return strings.Contains(r.Description, "elsewhere") }) {
		t.Errorf("repositories %+v", report.Workshop.Repositories)
	}
}
