package incluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
)

// ArgoCD is Argo CD in namespace argocd: API server, repository server,
// application controller and cache, each in pods of its own.
type ArgoCD struct {
	Staged func() string // folder of the staged component argocd, known once it is staged
	Relay  func() string // folder of the staged component relay
	// ForgePort is as Flux has it.
	ForgePort int
	// URL is where people find the web pages. Argo CD answers with TLS, as it does
	// by default, unless the URL says http.
	URL string
	// Password of gitops.ArgoCDUser, from the first time on until a person changes
	// it in Argo CD: 8 to 72 characters.
	Password string
}

const (
	// argoCDResync is how often an application is compared without a push, which
	// is only for a push that was lost.
	argoCDResync = time.Minute

	// argoCDUser runs everything in the image, as in upstream's.
	argoCDUser = 999

	// argoCDPages is where the API server looks for its pages.
	argoCDPages = "shared/app"
)

// argoCDParts are the parts, by the names that the program has for them.
var argoCDParts = []string{"argocd-server", "argocd-repo-server", "argocd-application-controller", "argocd-redis"}

// Images are the images that a node must have before [ArgoCD.Install].
func (a ArgoCD) Images(ctx context.Context) ([]Image, error) {
	main, err := a.image(ctx)
	if err != nil {
		return nil, err
	}
	relay, err := relayImage(a.Relay())
	return []Image{main, relay}, err
}

// image has all parts, which are one program, the web pages and git.
func (a ArgoCD) image(ctx context.Context) (Image, error) {
	program := filepath.Join(a.Staged(), "argocd")
	machine, err := linuxProgram(program)
	if err != nil {
		return Image{}, err
	}
	version, err := a.version()
	if err != nil {
		return Image{}, err
	}
	git, err := findGit(ctx)
	if err != nil {
		return Image{}, err
	}
	if git.machine != machine {
		return Image{}, fmt.Errorf("git is a program for %s, and Argo CD for %s: kalypso and git must be for the same machine", git.machine, machine)
	}
	pages, err := folder(filepath.Join(a.Staged(), "ui"), argoCDPages)
	if err != nil {
		return Image{}, err
	}
	programs := []entry{{path: "usr/local/bin/argocd", from: program, program: true}}
	for _, part := range argoCDParts {
		programs = append(programs, entry{path: "usr/local/bin/" + part, link: "argocd"})
	}
	return blueprint{
		name:    "argocd",
		version: version,
		machine: machine,
		config: v1.Config{
			Env:        append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "USER=argocd"}, git.env...),
			User:       fmt.Sprint(argoCDUser),
			WorkingDir: "/home/argocd",
		},
		layers: []*layer{newLayer(argoCDSystem()...), trustLayer(), newLayer(git.files...), newLayer(pages...), newLayer(programs...)},
	}.build()
}

// argoCDSystem is what a program expects of any system.
func argoCDSystem() []entry {
	return []entry{
		{path: "etc/passwd", content: fmt.Sprintf("root:x:0:0::/:/\nargocd:x:%[1]d:%[1]d::/home/argocd:/\n", argoCDUser)},
		{path: "etc/group", content: fmt.Sprintf("root:x:0:\nargocd:x:%d:\n", argoCDUser)},
		{path: "etc/nsswitch.conf", content: "hosts: files dns\n"},
		{path: "home/argocd", folder: true, owner: argoCDUser},
		{path: "tmp", folder: true, owner: argoCDUser},
	}
}

// folder returns all files of a folder, to be found below another in an image.
func folder(from, to string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		all = append(all, entry{path: to + "/" + filepath.ToSlash(rel), from: path})
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the image of Argo CD needs its web pages: %w", err)
	}
	return all, err
}

func (a ArgoCD) settings() gitops.ArgoCDSettings {
	return gitops.ArgoCDSettings{
		Kinds: filepath.Join(a.Staged(), "crds"), URL: a.URL, Password: a.Password, Resync: argoCDResync,
	}
}

// insecure tells whether the API server answers without TLS.
func (a ArgoCD) insecure() bool { return strings.HasPrefix(a.URL, "http://") }

// Install puts Argo CD on the cluster, or makes what is there of it as it should
// be, and returns when the API server of the cluster serves its kinds. Whether
// it runs is for [ArgoCD.Ready] to say.
func (a ArgoCD) Install(ctx context.Context, c *cluster.Client) error {
	objects, err := a.manifests(ctx)
	if err != nil {
		return err
	}
	if err := a.settings().Install(ctx, c); err != nil {
		return err
	}
	if err := setCachePassword(ctx, c); err != nil {
		return fmt.Errorf("password of the cache: %w", err)
	}
	return apply(ctx, c, objects)
}

// Ready returns nil when all parts are, and what is not ready yet and why
// otherwise. It does not wait.
func (a ArgoCD) Ready(ctx context.Context, c *cluster.Client) error {
	return ready(ctx, c, gitops.ArgoCDNamespace,
		workload{"Deployment", "argocd-redis"},
		workload{"Deployment", "argocd-repo-server"},
		workload{"StatefulSet", "argocd-application-controller"},
		workload{"Deployment", "argocd-server"})
}
