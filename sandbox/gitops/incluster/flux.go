package incluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"sigs.k8s.io/yaml"
)

// Flux is source-controller and kustomize-controller, as two Deployments in
// namespace flux-system.
type Flux struct {
	Staged func() string // folder of the staged component flux, known once it is staged
	Relay  func() string // folder of the staged component relay
	// ForgePort is the forge's, on the loopback of the user's machine and of the
	// pods, and the relay's on the nodes' addresses.
	ForgePort int
}

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
	relay, err := relayImage(f.Relay())
	return []Image{main, relay}, err
}

// version is what the controllers' own manifests say that they are.
func (f Flux) version() (string, error) {
	file := filepath.Join(f.Staged(), "manager", sourceController, "kustomization.yaml")
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
	program := filepath.Join(f.Staged(), "flux")
	machine, err := linuxProgram(program)
	if err != nil {
		return Image{}, err
	}
	version, err := f.version()
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
		layers: []*layer{trustLayer(), newLayer(entry{path: fluxProgram[1:], from: program, program: true})},
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
	return apply(ctx, c, objects)
}

func (f Flux) kinds() string { return filepath.Join(f.Staged(), "crds") }

// Ready returns nil when both controllers are, and what is not ready yet and
// why otherwise. It does not wait.
func (f Flux) Ready(ctx context.Context, c *cluster.Client) error {
	return ready(ctx, c, gitops.FluxNamespace,
		workload{"Deployment", sourceController},
		workload{"Deployment", kustomizeController})
}
