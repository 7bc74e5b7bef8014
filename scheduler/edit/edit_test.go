package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

const drone = `# the small ones
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: drone
  labels:
    # where it flies
    region: west-us # for now
    size: "small"
    edge: 'true'
spec:
  reconciler: argocd
  namespaceService: default
`

const policies = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: first}
spec:
  deploymentTargetSelector:
    workspace: team
    labelSelector:
      matchLabels:
        purpose: test # only these
      matchExpressions:
      # the near ones
      - {key: region, operator: In, values: [west, east]}
      - key: tier
        operator: Exists
  clusterTypeSelector:
    labelSelector: {matchLabels: {edge: "true"}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: second
spec: {}
`

const configs = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: web
    labels: {platform-config: "true"}
  data:
    URL: http://a # the old one
    LIMITS: |
      cpu: 1

      # not a comment of ours
      memory: 2

    PORT: "80"
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: empty, labels: {platform-config: "true"}}
`

func files() *model.Tree {
	return &model.Tree{Repo: "http://x/a/control-plane.git", Branch: "dev", Files: map[string][]byte{
		"types/drone.yaml": []byte(drone), "policies/all.yaml": []byte(policies), "configs.yaml": []byte(configs), "README.md": []byte("drone"),
	}}
}

func TestApply(t *testing.T) {
	replaced := func(file, content string, pairs ...string) map[string]string {
		return map[string]string{file: strings.NewReplacer(pairs...).Replace(content)}
	}
	newType := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: large # new\nspec:\n  reconciler: flux\n  namespaceService: default\n"
	for name, test := range map[string]struct {
		edits []Edit
		want  map[string]string // by file, "" for one that is gone
	}{
		"a label's value": {
			[]Edit{{Operation: SetLabel, Kind: v1alpha1.KindClusterType, Name: "drone", Key: "region", Value: "east-us"}},
			replaced("types/drone.yaml", drone, "west-us # for now", "east-us # for now"),
		},
		"quotes stay": {
			[]Edit{{Operation: SetLabel, Kind: v1alpha1.KindClusterType, Name: "drone", Key: "size", Value: "large"}, {Operation: SetLabel, Kind: v1alpha1.KindClusterType, Name: "drone", Key: "edge", Value: "false"}},
			replaced("types/drone.yaml", drone, `"small"`, `"large"`, `'true'`, `'false'`),
		},
		"a new label that looks like no text": {
			[]Edit{{Operation: SetLabel, Kind: v1alpha1.KindClusterType, Name: "drone", Key: "gpu", Value: "true"}},
			replaced("types/drone.yaml", drone, "    edge: 'true'\n", "    edge: 'true'\n    gpu: \"true\"\n"),
		},
		"the first label": {
			[]Edit{{Operation: SetLabel, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: "team", Value: "a"}},
			replaced("policies/all.yaml", policies, "  name: second\n", "  name: second\n  labels:\n    team: a\n"),
		},
		"a label between brackets": {
			[]Edit{{Operation: SetLabel, Kind: "ConfigMap", Name: "web", Key: "cluster-type", Value: "drone"}},
			replaced("configs.yaml", configs, "    labels: {platform-config: \"true\"}\n", "    labels: {platform-config: \"true\", cluster-type: drone}\n"),
		},
		"a label goes": {
			[]Edit{{Operation: RemoveLabel, Kind: v1alpha1.KindClusterType, Name: "drone", Key: "region"}},
			replaced("types/drone.yaml", drone, "    region: west-us # for now\n", ""),
		},
		"the last labels go": {
			[]Edit{
				{Operation: SetLabel, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: "team", Value: "a"},
				{Operation: RemoveLabel, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: "team"},
			},
			map[string]string{},
		},
		"a selector, clause by clause": {
			[]Edit{{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "first", Key: targetSelector, Content: `
workspace: team
labelSelector:
  matchLabels: {purpose: all}
  matchExpressions:
  - {key: region, operator: NotIn, values: [west, east]}
  - {key: tier, operator: Exists}
  - {key: gpu, operator: DoesNotExist}
`}},
			replaced("policies/all.yaml", policies, "purpose: test #", "purpose: all #", "operator: In,", "operator: NotIn,", "        operator: Exists\n", "        operator: Exists\n      - key: gpu\n        operator: DoesNotExist\n"),
		},
		"clauses go": {
			[]Edit{{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "first", Key: targetSelector, Content: `
workspace: team
labelSelector: {matchExpressions: [{key: region, operator: In, values: [west]}], matchLabels: {purpose: test}}
`}},
			replaced("policies/all.yaml", policies, "values: [west, east]", "values: [west]", "      - key: tier\n        operator: Exists\n", ""),
		},
		"an expression, where the selector has none": {
			[]Edit{{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: clusterTypeSelector, Content: `cel: labels["region"].startsWith("west")`}},
			replaced("policies/all.yaml", policies, "spec: {}\n", "spec: {clusterTypeSelector: {cel: 'labels[\"region\"].startsWith(\"west\")'}}\n"),
		},
		"a selector where none is": {
			[]Edit{{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: clusterTypeSelector, Content: `{labelSelector: {matchLabels: {edge: "true"}}}`}},
			replaced("policies/all.yaml", policies, "spec: {}\n", "spec: {clusterTypeSelector: {labelSelector: {matchLabels: {edge: \"true\"}}}}\n"),
		},
		"a configuration key": {
			[]Edit{{Operation: SetConfigKey, Kind: "ConfigMap", Name: "web", Key: "URL", Value: "http://b: #c"}},
			replaced("configs.yaml", configs, "http://a # the", "'http://b: #c' # the"),
		},
		"one of several lines": {
			[]Edit{{Operation: SetConfigKey, Kind: "ConfigMap", Name: "web", Key: "PORT", Value: "a: 1\nb: 2\n"}},
			replaced("configs.yaml", configs, "    PORT: \"80\"\n", "    PORT: |\n      a: 1\n      b: 2\n"),
		},
		"a new one": {
			[]Edit{{Operation: SetConfigKey, Kind: "ConfigMap", Name: "web", Key: "NEW", Value: "8080"}},
			replaced("configs.yaml", configs, "    PORT: \"80\"\n", "    PORT: \"80\"\n    NEW: \"8080\"\n"),
		},
		"the first one": {
			[]Edit{{Operation: SetConfigKey, Kind: "ConfigMap", Name: "empty", Key: "NEW", Value: "x"}},
			replaced("configs.yaml", configs, "  metadata: {name: empty, labels: {platform-config: \"true\"}}\n", "  metadata: {name: empty, labels: {platform-config: \"true\"}}\n  data:\n    NEW: x\n"),
		},
		"a key goes": {
			[]Edit{{Operation: RemoveConfigKey, Kind: "ConfigMap", Name: "web", Key: "URL"}},
			replaced("configs.yaml", configs, "    URL: http://a # the old one\n", ""),
		},
		"a new object, beside its kind": {
			[]Edit{{Operation: PutObject, Content: newType}},
			map[string]string{"types/large.yaml": newType},
		},
		"an object that is there": {
			[]Edit{{Operation: PutObject, Kind: v1alpha1.KindClusterType, Name: "drone", Content: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: drone\n  labels: {region: west-us, size: small, edge: \"true\"}\nspec: {reconciler: flux, namespaceService: default}\n"}},
			replaced("types/drone.yaml", drone, "argocd", "flux"),
		},
		"one of two objects goes": {
			[]Edit{{Operation: DeleteObject, Kind: v1alpha1.KindSchedulingPolicy, Name: "second"}},
			map[string]string{"policies/all.yaml": policies[:strings.Index(policies, "---\n")]},
		},
		"the other goes": {
			[]Edit{{Operation: DeleteObject, Kind: v1alpha1.KindSchedulingPolicy, Name: "first"}},
			map[string]string{"policies/all.yaml": policies[strings.Index(policies, "---\n")+4:]},
		},
		"an item goes": {
			[]Edit{{Operation: DeleteObject, Kind: "ConfigMap", Name: "empty"}},
			map[string]string{"configs.yaml": configs[:strings.Index(configs, "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: empty")]},
		},
		"a file goes": {
			[]Edit{{Operation: DeleteObject, Kind: v1alpha1.KindClusterType, Name: "drone"}},
			map[string]string{"types/drone.yaml": ""},
		},
		"nothing": {[]Edit{{Operation: SetLabel, Kind: v1alpha1.KindClusterType, Name: "drone", Key: "size", Value: "small"}}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := files()
			changed, err := Apply(tree, "", test.edits)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for file, content := range changed {
				got[file] = string(content)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(files(), tree); diff != "" {
				t.Errorf("the tree has changed:\n%s", diff)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	ct := v1alpha1.KindClusterType
	for name, test := range map[string]struct {
		edit    Edit
		file    string // more of the tree
		at      string // file:line, "" for no place
		missing bool
	}{
		"no object":               {edit: Edit{Operation: SetLabel, Kind: ct, Name: "dron", Key: "a", Value: "b"}, missing: true},
		"no label":                {edit: Edit{Operation: RemoveLabel, Kind: ct, Name: "drone", Key: "sizes"}, at: "types/drone.yaml:6", missing: true},
		"a value that is none":    {edit: Edit{Operation: SetLabel, Kind: ct, Name: "drone", Key: "a", Value: "b c"}},
		"a key that is none":      {edit: Edit{Operation: SetConfigKey, Kind: "ConfigMap", Name: "web", Key: "a b", Value: "b"}},
		"no configuration":        {edit: Edit{Operation: SetConfigKey, Kind: ct, Name: "drone", Key: "a", Value: "b"}},
		"no such selector":        {edit: Edit{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "first", Key: "selector", Content: "{}"}},
		"a selector that is none": {edit: Edit{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: clusterTypeSelector, Content: "{labels: {}}"}, at: "policies/all.yaml:22"},
		"an expression with a mistake": {
			edit: Edit{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: clusterTypeSelector, Content: `cel: regoin == "west"`}, at: "policies/all.yaml:22",
		},
		"no YAML":        {edit: Edit{Operation: PutObject, Content: "a: b: c"}},
		"another object": {edit: Edit{Operation: PutObject, Kind: ct, Name: "other", Content: drone}},
		"an object with a mistake": {
			edit: Edit{Operation: PutObject, Content: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: Large}\nspec: {reconciler: flux, namespaceService: x}\n"}, at: "types/Large.yaml:3",
		},
		"two of a name": {edit: Edit{Operation: SetLabel, Kind: ct, Name: "drone", Key: "a", Value: "b"}, file: drone, at: "x.yaml:2"},
		"an anchor": {
			edit: Edit{Operation: SetLabel, Kind: ct, Name: "shared", Key: "b", Value: "2"},
			file: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: shared\n  labels: &l\n    a: b\n  annotations: *l\nspec: {reconciler: a, namespaceService: b}\n", at: "x.yaml:5",
		},
		"a comment that would be lost": {
			edit: Edit{Operation: PutObject, Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\n"},
			file: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata:\n  # why\n  a: b\n", at: "x.yaml:4",
		},
		"no operation":                       {edit: Edit{Operation: "moveObject", Kind: ct, Name: "drone"}},
		"an object with an alias of itself":  {edit: Edit{Operation: PutObject, Content: "a: &a [*a]"}},
		"a selector with an alias of itself": {edit: Edit{Operation: SetSelector, Kind: v1alpha1.KindSchedulingPolicy, Name: "second", Key: clusterTypeSelector, Content: "a: &a {b: *a}"}},
		"a file with an alias of itself":     {edit: Edit{Operation: PutFile, Path: "a.yaml", Content: "a: &a {<<: *a}"}, at: "a.yaml"},
		"lines that end otherwise": {
			edit: Edit{Operation: SetConfigKey, Kind: "ConfigMap", Name: "mac", Key: "a", Value: "one\ntwo"},
			file: strings.ReplaceAll("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mac, labels: {platform-config: \"true\"}}\ndata:\n  a: b\n", "\n", "\r"), at: "x.yaml:5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := files()
			if test.file != "" {
				tree.Files["x.yaml"] = []byte(test.file)
			}
			changed, err := Apply(tree, "", []Edit{test.edit})
			refusal, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("%v: %s", err, changed)
			}
			at := ""
			if refusal.Position.File != "" {
				at = refusal.Position.String()
				_, at, _ = strings.Cut(at, "@dev:")
			}
			if !strings.HasPrefix(at, test.at) || test.at == "" && at != "" || refusal.Missing != test.missing {
				t.Errorf("at %q, missing %t: %v", at, refusal.Missing, err)
			}
		})
	}
}

// FuzzSetField sets a field of whatever is YAML, and expects an error or a file in which
// nothing but the field differs.
func FuzzSetField(f *testing.F) {
	for _, content := range []string{drone, policies, configs, "a: 1\n", "{a: {b: [c]}}", "a: &x 1\nb: *x\n", "- a\n- b: c\n", "a: >\n  b\n\nc: \"d\\\n  e\"\n", "a:\r\n  b: c\r\n", "a:\r  b: c\r"} {
		f.Add([]byte(content), "metadata.labels.a", "b")
		f.Add([]byte(content), "a.b", "x\ny\n")
		f.Add([]byte(content), "0", "'")
	}
	f.Fuzz(func(t *testing.T, content []byte, path, value string) {
		if len(content) > 4<<10 {
			return
		}
		fields := strings.Split(path, ".")
		edited, err := SetField(content, 0, fields, value)
		if err != nil {
			return
		}
		again, err := SetField(edited, 0, fields, value)
		if err == nil && string(again) != string(edited) {
			t.Errorf("set twice:\n%q\n%q", edited, again)
		}
		if removed, err := RemoveField(edited, 0, fields); err == nil && string(removed) == string(edited) {
			t.Errorf("not removed:\n%q", removed)
		}
	})
}
