package explain_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The words of random models are few, so that much matches, and near to each
// other, so that much looks misspelt.
var (
	someKeys   = []string{"region", "regoin", "size", "tier", "workspace", "cluster-type", "k8s.io/name"}
	someValues = []string{"west-us", "westus", "east-us", "large", "team-a", "team-b", "small"}
	someNames  = []string{"drone", "dron", "large", "small"}
)

// randomModel writes a model whose targets can be twins and whose policies,
// ConfigMaps and schemas match some of it.
func randomArchive(r *rand.Rand) string {
	g := &generator{r: r}
	g.file("control@dev/repos.yaml", `apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec: {repo: "https://forge.test/kalypso/control", branch: main}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: "https://forge.test/kalypso/gitops", branch: dev, path: fleet}
`)
	g.file("control@main/templates.yaml", `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: default}
spec: {type: namespace, manifests: ["kind: Namespace"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: configmap}
spec: {type: config, manifests: ["data: {{ len .ConfigData }}"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec: {type: reconciler, manifests: ["kind: Kustomization"]}
`)
	for i, name := range []string{"a", "a-b"} {
		g.object("control@main", "WorkloadRegistration", name, nil, fmt.Sprintf(
			"spec:\n  workload: {repo: \"https://forge.test/kalypso/apps\", branch: main, path: %q}\n  workspace: %s\n", name, g.one([]string{"team-a", "team-b"})))
		spec := "spec:\n  deploymentTargets:\n"
		for _, target := range [][]string{{"b-c", "x"}, {"c", "y"}}[i] {
			spec += fmt.Sprintf("  - name: %s\n    environment: dev\n%s", target, g.labels("    ", 3))
		}
		g.file("apps@main/"+name+"/workload.yaml", header("Workload", name)+g.labels("  ", 1)+spec)
	}
	for _, name := range someNames {
		g.object("control@dev", "ClusterType", name, g, "spec: {reconciler: flux, namespaceService: default}\n")
	}
	for i := range 1 + g.r.IntN(5) {
		spec := "spec:\n  deploymentTargetSelector:\n"
		if g.r.IntN(3) == 0 {
			spec += "    workspace: " + g.one([]string{"team-a", "team-b", "team"}) + "\n"
		}
		spec += g.selector() + g.expression() + "  clusterTypeSelector:\n" + g.selector() + g.expression()
		g.object("control@dev", "SchedulingPolicy", fmt.Sprintf("policy-%d", i), nil, spec)
	}
	for i := range 6 {
		labels := "  labels:\n    platform-config: \"true\"\n"
		if g.r.IntN(2) == 0 {
			labels += fmt.Sprintf("    %s: %s\n", g.one(someKeys), g.one(append(someValues, someNames...)))
		}
		g.file(fmt.Sprintf("control@dev/config-%d.yaml", i), fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n%sdata:\n  OWN_%d: \"%d\"\n  SHARED: \"%d\"\n", i, labels, i, i, g.r.IntN(2)))
	}
	g.file("control@dev/azure.yaml", fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: azure-app-config-%d\ndata:\n  %s.%s.A: x\n  %s.%s.size.large.B: x\n  C: x\n",
		g.r.IntN(2), g.one(someKeys[:5]), g.one(someValues), g.one(someKeys[:5]), g.one(someValues)))
	g.file("control@dev/azure-elsewhere.yaml", fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: azure-app-config-elsewhere\n  labels: {size: %s}\ndata:\n  region.%s.D: x\n",
		g.one(someValues), g.one(someValues)))
	g.object("control@dev", "ConfigSchema", "schema", g, "spec: {schema: '{\"required\": [\"OWN_1\"]}'}\n")
	return g.String()
}

type generator struct {
	strings.Builder
	r *rand.Rand
}

func (g *generator) one(words []string) string { return words[g.r.IntN(len(words))] }

func (g *generator) file(name, content string) {
	fmt.Fprintf(g, "-- %s --\n%s", name, content)
}

func header(kind, name string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
}

// object writes an object to a file of its own, with labels if labelled is not
// nil.
func (g *generator) object(branch, kind, name string, labelled *generator, spec string) {
	labels := ""
	if labelled != nil {
		labels = g.labels("  ", 3)
	}
	g.file(fmt.Sprintf("%s/%s-%s.yaml", branch, kind, name), header(kind, name)+labels+spec)
}

func (g *generator) labels(indent string, most int) string {
	n := g.r.IntN(most + 1)
	if n == 0 {
		return ""
	}
	text := indent + "labels:\n"
	for _, i := range g.r.Perm(len(someKeys))[:n] {
		text += fmt.Sprintf("%s  %s: %s\n", indent, someKeys[i], g.one(someValues))
	}
	return text
}

// expression writes an expression that may follow a label selector.
func (g *generator) expression() string {
	var operands []string
	for range g.r.IntN(3) {
		key, value := g.one(someKeys), g.one(someValues)
		operands = append(operands, fmt.Sprintf(g.one([]string{
			`labels["%s"] == "%s"`, `labels["%s"] != "%s"`, `(labels["%s"] == "%s" || environment.name == "qa")`, `(!("%s" in labels) || size(labels) > size("%s"))`,
		}), key, value))
	}
	if len(operands) == 0 {
		return ""
	}
	return "    cel: '" + strings.Join(operands, " && ") + "'\n"
}

// selector writes a label selector in either order of its parts.
func (g *generator) selector() string {
	labels, expressions := "", ""
	for _, i := range g.r.Perm(len(someKeys))[:g.r.IntN(2)] {
		labels += fmt.Sprintf("        %s: %s\n", someKeys[i], g.one(someValues))
	}
	for range g.r.IntN(3) {
		switch operator := g.one([]string{"In", "NotIn", "Exists", "DoesNotExist"}); operator {
		case "In", "NotIn":
			expressions += fmt.Sprintf("      - {key: %s, operator: %s, values: [%s, %s]}\n", g.one(someKeys), operator, g.one(someValues), g.one(someValues))
		default:
			expressions += fmt.Sprintf("      - key: %s\n        operator: %s\n", g.one(someKeys), operator)
		}
	}
	if labels != "" {
		labels = "      matchLabels:\n" + labels
	}
	if expressions != "" {
		expressions = "      matchExpressions:\n" + expressions
	}
	if g.r.IntN(2) == 0 {
		labels, expressions = expressions, labels
	}
	if labels+expressions == "" {
		return "    labelSelector: {}\n"
	}
	return "    labelSelector:\n" + labels + expressions
}
