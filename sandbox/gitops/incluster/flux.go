package incluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Flux is source-controller and kustomize-controller, as two Deployments in
// namespace flux-system.
//
// The forge has the same port on the loopback of the user's machine and of the
// pods, and the relay has it on the nodes' addresses.
type Flux struct{ supervisor.Host }

const fluxProgram = "/usr/local/bin/flux"

// The controllers, by their Deployments.
const (
	sourceController    = "source-controller"
	kustomizeController = "kustomize-controller"
)

// Images are the images that a node must have before [Flux.Install].
func (f Flux) Images(context.Context) ([]Image, error) {
	main, err := f.image()
	if err != nil {
		return nil, err
	}
	relay, err := relayImage(f.Staged("relay"))
	return []Image{main, relay}, err
}

// version is what the controllers' own manifests say that they are.
func (f Flux) version() (string, error) {
	file := filepath.Join(f.Staged("flux"), "manager", sourceController, "kustomization.yaml")
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var k struct {
		Images []struct{ NewTag string }
	}
	if err := yaml.Unmarshal(b, &k); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if len(k.Images) != 1 || k.Images[0].NewTag == "" {
		return "", fmt.Errorf("%s: no version in it", file)
	}
	return k.Images[0].NewTag, nil
}

// image has both controllers, which are one program.
func (f Flux) image() (Image, error) {
	program := filepath.Join(f.Staged("flux"), "flux")
	machine, err := linuxProgram(program)
	if err != nil {
		return Image{}, err
	}
	version, err := f.version()
	if err != nil {
		return Image{}, err
	}
	flux, err := programLayer(fluxProgram[1:], program)
	if err != nil {
		return Image{}, err
	}
	return blueprint{
		name:    "flux",
		version: version,
		machine: machine,
		config: v1.Config{
			Entrypoint: []string{fluxProgram},
			Env:        []string{"PATH=/usr/local/bin"},
			User:       nobody,
		},
		layers: []filetree.Tree{trustLayer(), flux},
	}.build()
}

// Install puts Flux on the cluster, or makes what is there of it as it should
// be, and returns when the API server serves its kinds. Whether it runs is for
// [Flux.Ready] to say.
func (f Flux) Install(ctx context.Context, c *cluster.Client) error {
	objects, err := f.manifests()
	if err != nil {
		return err
	}
	if err := gitops.InstallKinds(ctx, c, f.kinds()); err != nil {
		return err
	}
	return c.ApplyObjects(ctx, objects...)
}

func (f Flux) kinds() string { return filepath.Join(f.Staged("flux"), "crds") }

// Ready returns nil when both controllers are, and what is not ready yet and
// why otherwise. It does not wait.
func (f Flux) Ready(ctx context.Context, c *cluster.Client) error {
	return ready(ctx, c, gitops.FluxNamespace,
		workload{"Deployment", sourceController},
		workload{"Deployment", kustomizeController})
}

// fluxRBAC is what Flux may do, and what a cluster's users may do with it. The
// names get the namespace as their ending.
//
//go:embed flux_rbac.yaml
var fluxRBAC []byte

// soon are upstream's flags for how soon what failed is tried again: the forge
// and the cluster are on the same machine, and the user waits.
var soon = []string{"--min-retry-delay=250ms", "--max-retry-delay=30s", "--requeue-dependency=2s"}

// manifests are what upstream's command makes of upstream's Deployments, with
// our image.
func (f Flux) manifests() ([]*unstructured.Unstructured, error) {
	image, err := f.image()
	if err != nil {
		return nil, err
	}
	relay, err := relayImage(f.Staged("relay"))
	if err != nil {
		return nil, err
	}
	version, err := f.version()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kalypso-flux-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "base")
	if err := f.layBase(base); err != nil {
		return nil, fmt.Errorf("manifests of Flux: %w", err)
	}
	o := install.MakeDefaultOptions()
	o.Version = version
	o.Namespace = gitops.FluxNamespace
	o.Components = []string{sourceController, kustomizeController}
	o.Registry = ""
	// a sandbox's namespaces are not isolated
	o.NetworkPolicy = false
	// with a base, it fetches nothing
	generated, err := install.Generate(o, base)
	if err != nil {
		return nil, fmt.Errorf("manifests of Flux: %w", err)
	}
	objects, err := cluster.Decode([]byte(generated.Content))
	if err != nil {
		return nil, fmt.Errorf("manifests of Flux: %w", err)
	}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		if err := f.editController(o, image.Name, relay.Name); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// editController makes a Deployment run our program in the place of upstream's.
func (f Flux) editController(o *unstructured.Unstructured, image, relay string) error {
	return editContainer(o, "manager", func(c *corev1.Container, spec *corev1.PodSpec) {
		useImage(c, image)
		c.Command = []string{fluxProgram, o.GetName()}
		// There is one of each and never two. After a node's sudden end, its
		// successor would only wait until the lease of the dead is over.
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return a == "--enable-leader-election" })
		c.Args = append(c.Args, soon...)
		if o.GetName() == kustomizeController {
			// a health check in progress never keeps a fix from what it fixes
			c.Args = append(c.Args, "--feature-gates=CancelHealthCheckOnNewRevision=true")
			return
		}
		spec.InitContainers = append(spec.InitContainers, forgeSidecar(relay, f.Port("gitea")))
	})
}

// layBase writes what upstream's command expects of its base: a file for each
// controller, and one with what they may do.
func (f Flux) layBase(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "rbac.yaml"), fluxRBAC, 0o600); err != nil {
		return err
	}
	for _, name := range []string{sourceController, kustomizeController} {
		all, err := f.controller(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), all, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// controller returns the objects of a controller: those of its own project, and
// what Flux as a whole adds to them.
func (f Flux) controller(name string) ([]byte, error) {
	objects := []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": name},
	}}}
	for _, file := range []string{"service.yaml", "deployment.yaml"} {
		b, err := os.ReadFile(filepath.Join(f.Staged("flux"), "manager", name, file))
		if errors.Is(err, os.ErrNotExist) && file == "service.yaml" {
			continue // it has no clients
		}
		if err != nil {
			return nil, err
		}
		some, err := cluster.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, some...)
	}
	var documents [][]byte
	for _, o := range objects {
		if err := label(o, "app.kubernetes.io/component", name); err != nil {
			return nil, err
		}
		if o.GetKind() == "Deployment" {
			if err := join(o, name); err != nil {
				return nil, err
			}
		}
		document, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n")), nil
}

// label sets a label of an object, and of its pods if it has any.
func label(o *unstructured.Unstructured, key, value string) error {
	if err := unstructured.SetNestedField(o.Object, value, "metadata", "labels", key); err != nil {
		return err
	}
	if o.GetKind() != "Deployment" {
		return nil
	}
	return unstructured.SetNestedField(o.Object, value, "spec", "template", "metadata", "labels", key)
}

// join makes a controller's Deployment part of Flux. Upstream's command counts
// on the place of the first argument.
func join(o *unstructured.Unstructured, account string) error {
	return editContainer(o, "manager", func(c *corev1.Container, spec *corev1.PodSpec) {
		c.Args = append([]string{"--events-addr="}, c.Args...)
		c.Env = append(c.Env, corev1.EnvVar{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{
			ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: c.Name, Resource: "limits.memory"},
		}})
		spec.ServiceAccountName = account
		spec.PriorityClassName = "system-cluster-critical"
	})
}
