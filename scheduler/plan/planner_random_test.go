package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// randomModel changes a model at random. Few names and values, so that things
// meet often.
type randomModel struct {
	*modeltest.Repositories
	r *rand.Rand
}

func (w *randomModel) one(of ...string) string { return of[w.r.IntN(len(of))] }

func (w *randomModel) labels() string {
	text := ""
	for _, key := range []string{"region", "size", "cluster-type", "deployment-target", "workload", "workspace", "app.kubernetes.io/name"} {
		if w.r.IntN(4) == 0 {
			text += fmt.Sprintf(", %s: '%s'", key, w.value(key))
		}
	}
	return text
}

func (w *randomModel) value(key string) string {
	switch key {
	case "cluster-type":
		return w.one("east", "west", "north")
	case "deployment-target":
		return w.one("shop-test", "stock-test", "shop-uat")
	case "workload":
		return w.one("shop", "stock", "bank")
	case "workspace":
		return w.one("team", "other")
	}
	return w.one("a", "b")
}

func (w *randomModel) selector() string {
	text := "{"
	if w.r.IntN(2) == 0 {
		text += fmt.Sprintf("matchLabels: {region: %s}, ", w.one("a", "b"))
	}
	if w.r.IntN(3) == 0 {
		text += fmt.Sprintf("matchExpressions: [{key: size, operator: %s}]", w.one("Exists", "DoesNotExist", "In, values: [a]", "NotIn, values: [b]", "Broken"))
	}
	return text + "}"
}

// expression is nothing, one of a few, or the given one.
func (w *randomModel) expression(own string) string {
	return w.one("", "", `, cel: "labels.size == 'a'"`, `, cel: "labels.size != 'a' && 'region' in labels"`, `, cel: "labels[broken"`, `, cel: "`+own+`"`)
}

// change changes one thing and says which.
func (w *randomModel) change() string {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	control := func(file, text string) string {
		w.Write("control", "dev", file, []byte(text))
		return file + ":\n" + text
	}
	switch w.r.IntN(11) {
	case 0, 1:
		name := w.one("c1", "c2", "c3", "azure-app-config-x")
		data := fmt.Sprintf("K%d: %s", w.r.IntN(3), w.one("a", "'{x: 1, y: [a]}'", "'{x: 2}'", "'{{ .Workload }}'", "'007'", "'a: b: c'", "7"))
		if name == "azure-app-config-x" {
			data += fmt.Sprintf(", region.%s.Q: q, size.a.workload.shop.Q: z", w.one("a", "b"))
		}
		return control(name+".yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {platform-config: 'true'%s}}\ndata: {%s}\n", name, w.labels(), data))
	case 2:
		name := w.one("east", "west", "north")
		return control(name+".yaml", head+fmt.Sprintf("kind: ClusterType\nmetadata: {name: %s, labels: {region: %s, size: %s}}\nspec: {reconciler: %s, namespaceService: default}\n",
			name, w.one("a", "b"), w.one("a", "b"), w.one("flux", "flux", "argo", "gone")))
	case 3:
		name := w.one("p1", "p2", "p3")
		return control(name+".yaml", head+fmt.Sprintf("kind: SchedulingPolicy\nmetadata: {name: %s}\nspec: {deploymentTargetSelector: {labelSelector: %s%s}, clusterTypeSelector: {labelSelector: %s%s}}\n",
			name, w.selector(), w.expression("workload.labels.size == 'a' || target.name == 'shop-test'"), w.selector(), w.expression("clusterType.name != 'west'")))
	case 4:
		name := w.one("shop", "stock", "bank")
		text := head + fmt.Sprintf("kind: Workload\nmetadata: {name: %s, labels: {size: %s}}\nspec:\n  deploymentTargets:\n    - {name: test, environment: dev, labels: {region: %s}, manifests: {repo: r, path: ./%s}}\n",
			name, w.one("a", "b"), w.one("a", "b"), w.one("p", "q"))
		if w.r.IntN(2) == 0 {
			text += "    - {name: uat, environment: " + w.one("dev", "qa") + "}\n"
		}
		w.Write(name, "main", "workload.yaml", []byte(text))
		return text
	case 5:
		name := w.one("shop", "stock", "bank")
		text := head + fmt.Sprintf("kind: WorkloadRegistration\nmetadata: {name: %s}\nspec: {workspace: %s, workload: {repo: %s, branch: main}}\n", name, w.one("team", "other"), modeltest.Forge+name)
		w.Write("control", "main", name+".yaml", []byte(text))
		return text
	case 6:
		name := w.one("default", "configmap", "flux", "argo")
		kind := map[string]string{"default": "namespace", "configmap": "config", "flux": "reconciler", "argo": "reconciler"}[name]
		text := head + fmt.Sprintf("kind: Template\nmetadata: {name: %s}\nspec:\n  type: %s\n  manifests: ['%s']\n", name, kind, w.one(
			"a: {{ .DeploymentTargetName }}", "b: {{ .Namespace }}", "c: {{ toJson .ConfigData }}", "d: {{ .ConfigData.K1 }}", "e: {{ .Manifests.path }}", "f: [{{ .Workload }}", "", "g: {{ hash .Namespace }} {{ .Workspace }}"))
		w.Write("control", "main", name+".yaml", []byte(text))
		return text
	case 7:
		return control("s.yaml", head+fmt.Sprintf("kind: ConfigSchema\nmetadata: {name: s, labels: {%s: %s}}\nspec: {schema: '%s'}\n", "region", w.one("a", "b"),
			w.one(`{"required": ["K1"]}`, `{"properties": {"K1": {"type": "integer"}}}`, "{")))
	case 8:
		return control("broken.yaml", w.one("a: [", "", "# nothing", "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {platform-config: 'true'}}\ndata: {a: [}\n"))
	case 9:
		tree := w.Tree("control", "dev")
		var files []string
		for file := range tree.Files {
			if file != "base.yaml" && file != "gitops.yaml" {
				files = append(files, file)
			}
		}
		slices.Sort(files)
		file := files[w.r.IntN(len(files))]
		w.Remove("control", "dev", file)
		return "remove " + file
	default:
		file := w.one("east/README.md", "west/shop-test/reconciler.yaml", "gone/README.md", "gone/x-test/namespace.yaml", "east/x/platform-config.sh", "users.txt")
		text := w.one("mine\n", "This folder contains deployment targets scheduled on the cluster type\n")
		w.Write("gitops", "dev", file, []byte(text))
		return file + ": " + text
	}
}

// merge puts a plan on the branch.
func (w *randomModel) merge(p *Plan) {
	for _, c := range p.Changes {
		if c.Action == Remove {
			w.Remove("gitops", "dev", c.Path)
		} else {
			w.Write("gitops", "dev", c.Path, c.Content)
		}
	}
}

// TestPlannerIsNew changes models at random and proves each time that the
// planner's memory makes no difference.
func TestPlannerIsNew(t *testing.T) {
	const rounds, steps = 12, 60
	assignments, failed := 0, 0
	for seed := range uint64(rounds) {
		w := &randomModel{Repositories: twoApps(), r: rand.New(rand.NewPCG(seed, 1))}
		a, f := w.replan(t, steps, w.change)
		if t.Failed() {
			return
		}
		assignments, failed = assignments+a, failed+f
	}
	t.Logf("%d assignments, %d problems with assignments", assignments, failed)
	if assignments < rounds*steps || failed < rounds {
		t.Errorf("too little happens: %d assignments, %d problems with them", assignments, failed)
	}
}

// TestPlannerIsNewOnRareChanges is the same with what is rare.
func TestPlannerIsNewOnRareChanges(t *testing.T) {
	const rounds, steps = 12, 60
	for seed := range uint64(rounds) {
		w := &randomModel{Repositories: twoApps(), r: rand.New(rand.NewPCG(seed, 77))}
		w.replan(t, steps, func() string {
			if w.r.IntN(2) == 0 {
				return w.change()
			}
			return w.rareChange()
		})
		if t.Failed() {
			return
		}
	}
}

// replan changes a model step by step, and compares what a planner and a loader
// with memories plan to what new ones do. It returns how many assignments there
// were in all, and how many problems with them.
func (w *randomModel) replan(t *testing.T, steps int, change func() string) (assignments, failed int) {
	t.Helper()
	w.Write("gitops", "dev", "README.md", []byte("x"))
	ref := model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}
	var loader model.Loader
	var planner Planner
	for step := range steps {
		what := ""
		for range 1 + w.r.IntN(3) {
			what += change()
		}
		env, err := loader.Load(t.Context(), w, "dev", ref)
		if err != nil {
			t.Fatal(err)
		}
		anew, err := model.LoadEnvironment(t.Context(), w, "dev", ref)
		if err != nil {
			t.Fatal(err)
		}
		branch := w.Tree("gitops", "dev")
		got := planWith(t, &planner, env, branch)
		samePlan(t, fmt.Sprintf("step %d, after\n%s", step, what), planWith(t, new(Planner), anew, branch), got)
		if t.Failed() {
			return
		}
		assignments += len(got.Assignments)
		for _, p := range got.Problems {
			if p.Target != "" {
				failed++
			}
		}
		if w.r.IntN(3) == 0 {
			w.merge(got)
		}
	}
	return assignments, failed
}

// rareChange changes what seldom changes: names that are joined to the same
// one, folders, pins, ignored files, a second base, templates of another type.
func (w *randomModel) rareChange() string {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	switch w.r.IntN(9) {
	case 0: // shop + x-test and shop-x + test have one name
		a, b := w.one("shop", "shop-x"), w.one("x-test", "test", "uat")
		text := head + fmt.Sprintf("kind: Workload\nmetadata: {name: %s}\nspec:\n  deploymentTargets:\n    - {name: %s, environment: dev, labels: {region: a}}\n", a, b)
		w.Write(w.one("shop", "stock", "bank"), "main", "workload.yaml", []byte(text))
		return text
	case 1:
		text := head + fmt.Sprintf("kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: %sgitops, branch: dev, path: %s}\n", modeltest.Forge, w.one(".", "./env", "env", "env/x"))
		w.Write("control", "dev", "gitops.yaml", []byte(text))
		return text
	case 2:
		commit := ""
		switch w.r.IntN(3) {
		case 0:
			commit = ", commit: " + w.Tree("control", "main").Commit
		case 1:
			commit = ", commit: 0123456789012345678901234567890123456789"
		}
		text := head + fmt.Sprintf("kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: %scontrol, branch: main%s}\n", modeltest.Forge, commit)
		w.Write("control", "dev", "base.yaml", []byte(text))
		return text
	case 3:
		text := w.one("", "c1.yaml\n", "*\n!base.yaml\n!gitops.yaml\n!policy.yaml\n", "p*.yaml\n", "east.yaml\n")
		w.Write("control", "dev", ".sourceignore", []byte(text))
		return ".sourceignore " + text
	case 4: // with a dash, as names of targets may have: ambiguous namespaces
		n := w.one("east-shop", "east-stock")
		text := head + fmt.Sprintf("kind: ClusterType\nmetadata: {name: %s, labels: {region: %s}}\nspec: {reconciler: flux, namespaceService: default, configType: %s}\n", n, w.one("a", "b"), w.one("configmap", "env", "default"))
		w.Write("control", "dev", n+".yaml", []byte(text))
		return text
	case 5:
		text := head + fmt.Sprintf("kind: Template\nmetadata: {name: env}\nspec:\n  type: config\n  contentType: %s\n  manifests: ['%s', '%s']\n", w.one("sh", "yaml"), w.one("A={{ .ConfigData.K0 }}", "{{ range $k, $v := .ConfigData }}{{ $k }}={{ $v }}\n{{ end }}", "a: {{ .Labels.region }}"), w.one("", "b: {{ .Labels.size }}"))
		w.Write("control", "main", "env.yaml", []byte(text))
		return text
	case 6: // one name in two files, one file in branch and base
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {platform-config: 'true'%s}}\ndata: {K1: %s}\n", w.one("c1", "c2"), w.labels(), w.one("x", "y", "5", "[1]", "'[1]'"))
		w.Write("control", w.one("dev", "main"), w.one("dup.yaml", "a.yaml"), []byte(text))
		return text
	case 7:
		text := head + fmt.Sprintf("kind: BaseRepo\nmetadata: {name: second}\nspec: {repo: %s%s, branch: main, path: %s}\n", modeltest.Forge, w.one("second", "control", "gone"), w.one(".", "sub"))
		w.Write("control", "dev", "base2.yaml", []byte(text))
		w.Write("second", "main", "sub/c.yaml", []byte(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c9, labels: {platform-config: 'true'}}\ndata: {K1: '%d'}\n", w.r.IntN(3))))
		return text
	default:
		text := head + fmt.Sprintf("kind: ConfigSchema\nmetadata: {name: %s, labels: {%s}}\nspec: {schema: '%s'}\n", w.one("s", "s2"), w.one("", "workload: shop", "region: a", "cluster-type: east"),
			w.one(`{"required": ["K1"]}`, `{"properties": {"K1": {"type": "integer"}}}`, "{", `{"$ref": "#"}`))
		w.Write("control", "dev", "s2.yaml", []byte(text))
		return text
	}
}

// TestLabelIndex proves that the numbers for labels say the same as the labels.
func TestLabelIndex(t *testing.T) {
	for seed := range uint64(200) {
		w := &randomModel{r: rand.New(rand.NewPCG(seed, 2))}
		env := &model.Environment{Name: "dev"}
		for i := range 8 {
			env.Configs = append(env.Configs, config(t, fmt.Sprintf("c%d", i), "{platform-config: 'true'"+w.labels()+"}", "{}"))
		}
		v := newLabelIndex(env.Configs, nil)
		var c model.ClusterType
		c.Name = w.value("cluster-type")
		fromYAML(t, "{pool: "+w.one("a", "b")+w.labels()+"}", &c.Labels)
		d := &target{Target: Target{Name: w.value("deployment-target"), Workload: w.value("workload")}}
		fromYAML(t, "{pool: "+w.one("a", "b")+w.labels()+"}", &d.Labels)
		got := v.configs.matching(v.ofClusterType(&c), v.ofTarget(d))
		var want []int32
		for i, object := range env.Configs {
			if (pair{clusterType: &c, target: d}).matches(object.Labels) {
				want = append(want, int32(i))
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d: matching %v, want %v", seed, got, want)
		}
	}
}
