package virtual

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/workshop"
)

func read(files map[string]string, k folderKey) *folder {
	m := map[string][]byte{}
	for name, content := range files {
		m[name] = []byte(content)
	}
	return readFolder(m, k, forgeURL+"/")
}

func names(d *folder) (all []string) {
	for _, o := range d.objects {
		all = append(all, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	return all
}

func TestWhatAFolderHolds(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"
	files := map[string]string{
		"README.md":               "# no manifest",
		"large/namespace.yaml":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
		"large/sub/web.yml":       deployment + "---\n# nothing\n---\n" + configMap("web"),
		"large/list.yaml":         "apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Secret\n    metadata: {name: s, namespace: shop}\n",
		"larger/other.yaml":       configMap("other"),
		"built/kustomization.yml": "resources: [../base, one.yaml]\nnamespace: dev\nnamePrefix: p-\n",
		"built/one.yaml":          configMap("one"),
		"built/unused.yaml":       configMap("unused"),
		"base/kustomization.yaml": "resources: [two.yaml]\nnamespace: base\nnameSuffix: -s\n",
		"base/two.yaml":           configMap("two"),
		"mixed/a/three.yaml":      configMap("three"),
		"mixed/b/Kustomization":   "resources: [four.yaml]\n",
		"mixed/b/four.yaml":       configMap("four"),
		"mixed/b/in/five.yaml":    configMap("five"),
	}
	for name, c := range map[string]struct {
		key  folderKey
		want []string
	}{
		"flux":                        {folderKey{path: "./large/", reconciler: workshop.Flux}, []string{"Secret shop/s", "Namespace /shop", "Deployment shop/web", "ConfigMap default/web"}},
		"flux into a namespace":       {folderKey{path: "large", reconciler: workshop.Flux, namespace: "t"}, []string{"Secret t/s", "Namespace /shop", "Deployment t/web", "ConfigMap t/web"}},
		"kustomize":                   {folderKey{path: "built", reconciler: workshop.Flux}, []string{"ConfigMap dev/p-two-s", "ConfigMap dev/p-one"}},
		"kustomize in a folder":       {folderKey{path: "mixed", reconciler: workshop.Flux}, []string{"ConfigMap default/three", "ConfigMap default/four"}},
		"argo cd":                     {folderKey{path: "large", reconciler: workshop.ArgoCD, namespace: "d"}, []string{"Secret shop/s", "Namespace /shop"}},
		"argo cd with all folders":    {folderKey{path: "large", reconciler: workshop.ArgoCD, namespace: "d", recurse: true, directory: true}, []string{"Secret shop/s", "Namespace /shop", "Deployment shop/web", "ConfigMap d/web"}},
		"argo cd with kustomize":      {folderKey{path: "built", reconciler: workshop.ArgoCD}, []string{"ConfigMap dev/p-two-s", "ConfigMap dev/p-one"}},
		"a folder within that exists": {folderKey{path: "large/sub", reconciler: workshop.ArgoCD}, []string{"Deployment shop/web", "ConfigMap default/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := read(files, c.key)
			if diff := cmp.Diff(c.want, names(d)); diff != "" || d.problem != "" || d.digest == "" {
				t.Errorf("%q %s", d.problem, diff)
			}
		})
	}
	changed := read(files, folderKey{path: "built", reconciler: workshop.Flux, prefix: "x-", suffix: "-y", postBuild: "a.yaml:1"})
	if diff := cmp.Diff([]string{"ConfigMap dev/x-p-two-s-y", "ConfigMap dev/x-p-one-y"}, names(changed)); diff != "" || changed.problem != "" {
		t.Errorf("%q %s", changed.problem, diff)
	}
	root := read(map[string]string{".github/workflows/ci.yaml": "on: push\n", "a.yaml": configMap("a")}, folderKey{path: "./", reconciler: workshop.Flux})
	if diff := cmp.Diff([]string{"ConfigMap default/a"}, names(root)); diff != "" || root.problem != "" {
		t.Errorf("%q %s", root.problem, diff)
	}
}

func TestWhatCannotBeApplied(t *testing.T) {
	flux, argo := folderKey{path: "p", reconciler: workshop.Flux}, folderKey{path: "p", reconciler: workshop.ArgoCD}
	for name, c := range map[string]struct {
		key     folderKey
		files   map[string]string
		problem string
	}{
		"no folder":                {flux, map[string]string{"other/a.yaml": configMap("a")}, "path not found"},
		"no folder for argo cd":    {argo, map[string]string{"other/a.yaml": configMap("a")}, "app path does not exist"},
		"no YAML":                  {flux, map[string]string{"p/a.yaml": "a: [\n"}, "p/a.yaml"},
		"a text":                   {flux, map[string]string{"p/a.yaml": "text\n"}, "p/a.yaml:1"},
		"without a kind":           {flux, map[string]string{"p/a.yaml": configMap("b") + "---\nname: a\n"}, "p/a.yaml:5: an object without kind"},
		"without a name":           {argo, map[string]string{"p/a.yaml": "apiVersion: v1\nkind: ConfigMap\n"}, "metadata.name"},
		"twice":                    {flux, map[string]string{"p/a.yaml": configMap("a"), "p/b.yaml": configMap("a")}, "p/b.yaml:1: ConfigMap a is there twice"},
		"an application for flux":  {flux, map[string]string{"p/a.yaml": application("a", "r", "p")}, `no matches for kind "Application"`},
		"a kustomization for argo": {argo, map[string]string{"p/a.yaml": kustomization("a", "a", "p")}, `no matches for kind "Kustomization"`},
		"another kind of flux's":   {flux, map[string]string{"p/a.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"}, `no matches for kind "HelmRelease"`},
		"kustomize: no file":       {flux, map[string]string{"p/kustomization.yaml": "resources:\n  - a.yaml\n"}, "p/kustomization.yaml:2"},
		"kustomize: of elsewhere":  {flux, map[string]string{"p/kustomization.yaml": "resources: [https://example.com/a]\n"}, "does not fetch"},
		"kustomize: a generator":   {flux, map[string]string{"p/kustomization.yaml": "resources: [a.yaml]\nconfigMapGenerator:\n  - name: b\n", "p/a.yaml": configMap("a")}, "p/kustomization.yaml:2: "},
		"kustomize: a component":   {flux, map[string]string{"p/kustomization.yaml": "components: [../c]\n"}, "p/kustomization.yaml:1: "},
		"kustomize: a removal":     {flux, map[string]string{"p/kustomization.yaml": "resources: [a.yaml]\npatches:\n  - patch: |\n      $patch: delete\n      kind: ConfigMap\n", "p/a.yaml": configMap("a")}, "p/kustomization.yaml:3: "},
		"a variable in a name":     {folderKey{path: "p", reconciler: workshop.Flux, postBuild: "large/k.yaml:7"}, map[string]string{"p/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a-${stage}\n"}, "p/a.yaml:1: "},
		"an application set":       {argo, map[string]string{"p/a.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\n"}, "p/a.yaml:1: ApplicationSet a"},
		"kustomize: in a circle":   {flux, map[string]string{"p/kustomization.yaml": "resources: [../q]\n", "q/kustomization.yaml": "resources: [../p]\n"}, "without an end"},
	} {
		t.Run(name, func(t *testing.T) {
			d := read(c.files, c.key)
			if !strings.Contains(d.problem, c.problem) || len(d.objects)+len(d.specs) > 0 {
				t.Errorf("%q %v", d.problem, d.objects)
			}
		})
	}
}

func repository(name, of, branch string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {url: " + of + ", ref: {branch: " + branch + "}}\n"
}

func kustomization(name, source, path string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {path: " + path + ", targetNamespace: dev-" + name + ", sourceRef: {kind: GitRepository, name: " + source + "}}\n"
}

func application(name, of, path string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec: {source: {repoURL: " + organisation + "/" + of + ", targetRevision: dev, path: ./" + path + "}, destination: {namespace: dev-" + name + "}, syncPolicy: {automated: {}}}\n"
}

func TestAssignedWorkloadsAreFollowed(t *testing.T) {
	for reconciler, assigned := range map[workshop.Reconciler]string{
		workshop.Flux:   repository("web", organisation+"/app-gitops", "dev") + "---\n" + kustomization("web", "web", "web"),
		workshop.ArgoCD: application("web", "app-gitops", "web"),
	} {
		t.Run(string(reconciler), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGit()
				g.push("gitops", "dev", "aaaa", map[string]string{"large/web/reconciler.yaml": assigned})
				g.push("app-gitops", "dev", "1111", map[string]string{"web/a.yaml": configMap("a")})
				f := start(t, g, stores(t, "store-{01..20}", reconciler, workshop.Virtual{})...)
				app := fleet.Source{Repo: organisation + "/app-gitops", Branch: "dev"}
				check := func(commit string, decision fleet.Decision, all int) {
					t.Helper()
					synctest.Wait()
					observed, err := f.Observe(t.Context(), app)
					if v := fleet.Judge(observed, commit); err != nil || v.Decision != decision || v.All != all {
						t.Errorf("%s: %v %+v", commit, err, v)
					}
				}
				check("1111", fleet.Arrived, 20)
				r, _ := f.Report("store-07")
				if diff := cmp.Diff([]Object{{"v1", "ConfigMap", "dev-web", "a"}}, r.Sources[1].Objects); diff != "" || len(r.Sources) != 2 {
					t.Errorf("%d sources %s", len(r.Sources), diff)
				}
				if s := r.Sources[1]; s.Subscription != "dev" || s.AppliedBy != r.Sources[0].Object {
					t.Errorf("%+v", s)
				}
				g.push("app-gitops", "dev", "2222", map[string]string{"web/a.yaml": "kind: [\n"})
				f.Notify("kalypso/app-gitops", "dev")
				check("2222", fleet.Failed, 20)
				observed, _ := f.Observe(t.Context(), fleet.Source{Repo: organisation + "/gitops", Branch: "dev"})
				// Flux's configuration is the whole tree, as Azure has it; an Application is itself
				if want := map[workshop.Reconciler]fleet.State{workshop.Flux: fleet.NonCompliant, workshop.ArgoCD: fleet.Compliant}[reconciler]; observed[0].State != want {
					t.Errorf("%+v", observed[0])
				}
				if r, _ = f.Report("store-07"); r.State != Failed || r.Sources[1].Applied != "1111" || len(r.Sources[1].Objects) != 1 {
					t.Errorf("%+v", r)
				}
				g.push("gitops", "dev", "bbbb", map[string]string{"large/README.md": "nothing is assigned"})
				f.Notify("kalypso/gitops", "dev")
				check("2222", fleet.Arrived, 0)
				if r, _ = f.Report("store-07"); r.State != Ready || len(r.Sources) != 1 {
					t.Errorf("%+v", r)
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				if len(f.sources) != 1 {
					t.Errorf("%d sources are fetched", len(f.sources))
				}
			})
		})
	}
}

func TestWhatIsNotFetchedIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ manifest, reason string }{
		"another server":  {repository("a", "https://github.com/x/y", "dev") + "---\n" + kustomization("a", "a", "p"), "https://github.com/x/y"},
		"no such source":  {kustomization("a", "none", "p"), "none"},
		"a tag":           {strings.Replace(repository("a", organisation+"/x", "dev"), "branch: dev", "tag: v1", 1), "large/a.yaml:4: GitRepository a"},
		"versions":        {strings.Replace(repository("a", organisation+"/x", "dev"), "branch: dev", "semver: '>=1'", 1), "large/a.yaml:4: GitRepository a"},
		"some files":      {strings.Replace(repository("a", organisation+"/x", "dev"), "url:", "ignore: '*.md', url:", 1), "large/a.yaml:4: GitRepository a"},
		"another cluster": {repository("a", organisation+"/gitops", "dev") + "---\n" + strings.Replace(kustomization("a", "a", "p"), "{path:", "{kubeConfig: {secretRef: {name: a}}, path:", 1), "large/a.yaml:9: Kustomization a"},
		"a bucket":        {strings.Replace(kustomization("a", "a", "p"), "kind: GitRepository", "kind: Bucket", 1), "Bucket"},
		"no such branch":  {repository("a", organisation+"/none", "dev"), "no such branch"},
		"a similar name":  {repository("a", forgeURL+"0/kalypso/gitops", "dev"), forgeURL + "0/"},
		"no url for that": {strings.Replace(repository("a", "x", "dev"), "url: x, ", "", 1), "GitRepository"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGit()
				g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": c.manifest})
				f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{})...)
				if r, _ := f.Report("one"); r.State != Failed || !strings.Contains(r.Reason, c.reason) {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// TestFoldersThatBringThemselves has two of them, and one that brings many.
func TestFoldersThatBringThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		own := strings.NewReplacer("dev-again", "flux-system", "dev-dev-dev", "flux-system").Replace(
			kustomization("again", "dev", "large") + "---\n" + kustomization("dev-dev", "dev", "large"))
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": own})
		f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{})...)
		if r, _ := f.Report("one"); len(r.Sources) != 2 || r.State != Ready {
			t.Errorf("%+v", r)
		}
		var many strings.Builder
		for i := range 600 {
			many.WriteString(kustomization(strings.Repeat("a", i+1), "dev", "drone") + "---\n")
		}
		g.push("gitops", "dev", "bbbb", map[string]string{"large/a.yaml": many.String(), "drone/a.yaml": configMap("a")})
		f.Notify("kalypso/gitops", "dev")
		synctest.Wait()
		if r, _ := f.Report("one"); len(r.Sources) != maxFollowers || r.State != Failed {
			t.Errorf("%d sources, %s", len(r.Sources), r.State)
		}
	})
}

func TestASuspendedSourceIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		app := repository("a", organisation+"/app-gitops", "dev") + "---\n"
		g.push("app-gitops", "dev", "1111", map[string]string{"p/a.yaml": configMap("a")})
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": app + strings.Replace(kustomization("a", "a", "p"), "{path:", "{suspend: true, path:", 1)})
		f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{})...)
		if r, _ := f.Report("one"); r.State != Ready || r.Sources[1].State != fleet.Suspended || r.Sources[1].Fetched != "" {
			t.Errorf("%+v", r)
		}
		g.push("gitops", "dev", "bbbb", map[string]string{"large/a.yaml": app + kustomization("a", "a", "p")})
		f.Notify("kalypso/gitops", "dev")
		synctest.Wait()
		if r, _ := f.Report("one"); r.State != Ready || r.Sources[1].Applied != "1111" {
			t.Errorf("%+v", r)
		}
	})
}

func TestWhatArgoCDWouldNotApplyIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ old, text string }{
		"a chart":      {"path: ./web", "chart: web"},
		"two sources":  {"source: {", "sources: [], source: {"},
		"kustomize":    {"path: ./web", "path: ./web, kustomize: {namePrefix: a-}"},
		"some files":   {"path: ./web", "path: ./web, directory: {exclude: '*.md'}"},
		"synced by us": {"syncPolicy: {automated: {}}", "syncPolicy: {}"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGit()
				g.push("app-gitops", "dev", "1111", map[string]string{"web/a.yaml": configMap("a")})
				g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": strings.Replace(application("web", "app-gitops", "web"), c.old, c.text, 1)})
				f := start(t, g, stores(t, "one", workshop.ArgoCD, workshop.Virtual{})...)
				if r, _ := f.Report("one"); r.State != Failed || !strings.Contains(r.Reason, "large/a.yaml:4: Application web") {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// TestADependencyGoesFirst has a Kustomization that waits for another, of the same
// repository, and one that waits for none that there is.
func TestADependencyGoesFirst(t *testing.T) {
	depends := func(name, on string) string {
		return strings.Replace(kustomization(name, "app", name), "{path:", "{dependsOn: [{name: "+on+"}], path:", 1) + "---\n"
	}
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{
			"large/a.yaml": depends("last", "first") + depends("never", "none") + repository("app", organisation+"/app", "dev") + "---\n" + kustomization("first", "app", "first"),
		})
		files := map[string]string{"first/a.yaml": "kind: [\n", "last/a.yaml": configMap("a"), "never/a.yaml": configMap("a")}
		g.push("app", "dev", "1111", files)
		f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{})...)
		of := func(name string) Source {
			t.Helper()
			synctest.Wait()
			r, _ := f.Report("one")
			for _, s := range r.Sources {
				if s.Object.Name == name {
					return s
				}
			}
			t.Fatalf("no %s in %+v", name, r)
			return Source{}
		}
		if s := of("last"); s.State != fleet.Pending || s.Applied != "" || !strings.Contains(s.Reason, "'flux-system/first' is not ready") {
			t.Errorf("%+v", s)
		}
		g.push("app", "dev", "2222", map[string]string{"first/a.yaml": configMap("a"), "last/a.yaml": configMap("a"), "never/a.yaml": configMap("a")})
		f.Notify("kalypso/app", "dev")
		if s := of("last"); s.State != fleet.Compliant || s.Applied != "2222" {
			t.Errorf("%+v", s)
		}
		if s := of("never"); s.State != fleet.Pending || s.Applied != "" || !strings.Contains(s.Reason, "'flux-system/none' not found") {
			t.Errorf("%+v", s)
		}
	})
}
