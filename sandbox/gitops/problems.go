package gitops

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	kustomizationKind = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	podKind           = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	networkPolicyKind = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
	namespaceKind     = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	// idleKinds are sources of Flux that clusters know, since kustomize-controller
	// looks at them, and that nothing fetches where the packed Flux runs.
	idleKinds = []schema.GroupVersionKind{
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "Bucket"},
	}
)

// FluxKinds are the kinds of Flux that the packed controllers handle.
const FluxKinds = "GitRepository and Kustomization"

// Condition is how a cluster does with what git says.
type Condition struct {
	// Applied are the commits of the subscriptions, by name; "" is none yet.
	Applied  map[string]string
	Problems []Problem
}

// Problem is what is wrong with an object on a cluster.
type Problem struct {
	Object string // kind, namespace and name
	Reason string
}

// ConditionOf looks at a cluster with Flux, or else with Argo CD.
func ConditionOf(ctx context.Context, c *cluster.Client, flux bool) (Condition, error) {
	found := Condition{Applied: map[string]string{}}
	look := found.applications
	if flux {
		look = found.flux
	}
	if err := look(ctx, c); err != nil {
		return Condition{}, err
	}
	pods, err := c.List(ctx, podKind, "", metav1.ListOptions{})
	for i := range pods {
		found.add(&pods[i], cannotStart(&pods[i]))
	}
	return found, err
}

func (f *Condition) add(o *unstructured.Unstructured, reason string) {
	if reason == "" {
		return
	}
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	f.Problems = append(f.Problems, Problem{o.GetKind() + " " + name, strings.Join(strings.Fields(reason), " ")})
}

func (f *Condition) flux(ctx context.Context, c *cluster.Client) error {
	sources, err := c.List(ctx, gitRepository, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range sources {
		f.add(&sources[i], refused(&sources[i]))
	}
	all, err := c.List(ctx, kustomizationKind, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	namespaces, err := c.List(ctx, namespaceKind, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for i := range namespaces {
		present[namespaces[i].GetName()] = namespaces[i].GetDeletionTimestamp() == nil
	}
	for i := range all {
		o := &all[i]
		source, _, _ := unstructured.NestedString(o.Object, "spec", "sourceRef", "name")
		revision, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		f.Applied[source] = revision[strings.LastIndexByte(revision, ':')+1:]
		f.add(o, refused(o))
		for _, name := range appliedNamespaces(o) {
			if !present[name] {
				f.add(o, fmt.Sprintf("namespace %s, which it has applied, is not there any more: somebody has deleted it", name))
			}
		}
	}
	for _, kind := range idleKinds {
		idle, err := c.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range idle {
			f.add(&idle[i], ignored(&idle[i]))
		}
	}
	return nil
}

// ignored is why nothing comes of an object of Flux that no controller has looked
// at, "" when one has: that of a cluster's own Flux.
func ignored(o *unstructured.Unstructured) string {
	if conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); len(conditions) > 0 {
		return refused(o)
	}
	return nothingHandles(o.GetKind())
}

func nothingHandles(kind string) string {
	return fmt.Sprintf("nothing on this cluster handles %s: Flux has its source and kustomize controllers here, for %s", kind, FluxKinds)
}

// refused is why an object of Flux is not ready, "" when it is or goes on.
func refused(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == "Ready" && m["status"] == "False" {
			return fmt.Sprintf("%v: %v", m["reason"], m["message"]) + unhandled(m["message"])
		}
	}
	return ""
}

// fluxKind is a kind of Flux's that the API server does not know, in its words.
var fluxKind = regexp.MustCompile(`no matches for kind "(\w+)" in version "\w+\.toolkit\.fluxcd\.io/`)

// unhandled says of a message that nothing on the cluster handles the kind that it
// is about, "" where it is about something else.
func unhandled(message any) string {
	text, _ := message.(string)
	m := fluxKind.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return " (" + nothingHandles(m[1]) + ")"
}

// Unenforced are the NetworkPolicies of a cluster on which nothing enforces them.
func Unenforced(ctx context.Context, c *cluster.Client) ([]Problem, error) {
	var found Condition
	all, err := c.List(ctx, networkPolicyKind, "", metav1.ListOptions{})
	for i := range all {
		found.add(&all[i], "nothing enforces it on an embedded cluster: all pods reach each other; use --provider kind to try it")
	}
	return found.Problems, err
}

// appliedNamespaces are those in a Kustomization's inventory, whose entries are
// NAMESPACE_NAME_GROUP_KIND
// (fluxcd.io/flux/components/kustomize/kustomizations/#inventory).
func appliedNamespaces(o *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "inventory", "entries")
	var names []string
	for _, e := range entries {
		m, _ := e.(map[string]any)
		id, _ := m["id"].(string)
		if name, ok := strings.CutSuffix(strings.TrimPrefix(id, "_"), "__Namespace"); ok && strings.HasPrefix(id, "_") {
			names = append(names, name)
		}
	}
	return names
}

func (f *Condition) applications(ctx context.Context, c *cluster.Client) error {
	all, err := c.List(ctx, applicationKind, "", metav1.ListOptions{})
	for i := range all {
		o := &all[i]
		synced, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		if synced == "Synced" {
			f.Applied[o.GetName()], _, _ = unstructured.NestedString(o.Object, "status", "sync", "revision")
		} else {
			f.Applied[o.GetName()] = ""
		}
		f.add(o, notWell(o))
	}
	return err
}

// notWell is why an Application is not as it should be: its errors, or else the
// resources that are not.
func notWell(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if kind, _ := m["type"].(string); strings.HasSuffix(kind, "Error") {
			return fmt.Sprintf("%s: %v", kind, m["message"])
		}
	}
	synced, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
	health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
	if synced != "OutOfSync" && health != "Degraded" && health != "Missing" {
		return ""
	}
	resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
	var names []string
	for _, r := range resources {
		m, _ := r.(map[string]any)
		healthy, _, _ := unstructured.NestedString(m, "health", "status")
		if m["status"] == "OutOfSync" || healthy == "Degraded" || healthy == "Missing" {
			names = append(names, fmt.Sprintf("%v %v (%s)", m["kind"], m["name"], cmp.Or(healthy, "OutOfSync")))
		}
	}
	reason := fmt.Sprintf("%s, %s", cmp.Or(synced, "Unknown"), cmp.Or(health, "Unknown"))
	if len(names) > 0 {
		reason += ": " + strings.Join(names, ", ")
	}
	// while a sync that fails is retried, no condition says why
	retries, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
	if phase, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "phase"); retries > 0 || phase == "Failed" || phase == "Error" {
		message, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
		reason += ": " + message
	}
	return reason
}

// waitsToStart are the reasons of a container that waits for nothing that is wrong.
var waitsToStart = []string{"", "ContainerCreating", "PodInitializing"}

// cannotStart is why a pod does not start, "" when it runs or is on its way.
func cannotStart(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == "PodScheduled" && m["status"] == "False" {
			return fmt.Sprintf("%v: %v", m["reason"], m["message"])
		}
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(o.Object, "status", list)
		for _, c := range containers {
			m, _ := c.(map[string]any)
			reason, _, _ := unstructured.NestedString(m, "state", "waiting", "reason")
			message, _, _ := unstructured.NestedString(m, "state", "waiting", "message")
			if !slices.Contains(waitsToStart, reason) {
				return strings.TrimSuffix(fmt.Sprintf("container %v: %s: %s", m["name"], reason, message), ": ")
			}
		}
	}
	return ""
}
