// Package recipe says how each component is made from the modules and packages
// it is published as.
//
// A recipe is data as far as it can be, because everything that decides what
// comes out belongs into the key of the cache: see [Recipe.Inputs]. What a
// recipe does in code only is covered by its Revision, which is raised when
// the code changes.
package recipe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/progress"
)

// A Recipe makes one component.
type Recipe struct {
	// Name names the component, its folder and its program.
	Name string
	// GOOS is the system that the program is for, "" for this one.
	GOOS string
	// Tags are the build tags of the program.
	Tags string
	// Revision is raised when the code of Begin or Finish changes what comes out.
	Revision int
	// Lists are what Begin and Finish work from, printed.
	Lists []string
	// Module is the module whose version is stamped into the program; Stamp are
	// the linker's -X settings for it, in which {version}, {major} and {minor}
	// are replaced.
	Module string
	Stamp  []string
	// Versions names what is inside: common name to the module that has the
	// version.
	Versions map[string]string
	// Begin makes what the program is linked from and its folder does not have.
	// It returns which files of the folder are read from elsewhere then: path
	// within the folder to path on disk.
	Begin func(ctx context.Context, b Bench) (map[string]string, error)
	// Finish adds what belongs beside the program. It returns the licences of
	// what it added, and of what Begin did.
	Finish func(ctx context.Context, b Bench) ([]components.License, error)
}

// A Bench has the folders in which a recipe is carried out.
type Bench struct {
	// Source is the component's folder in the repository; it is only read.
	Source string
	// Out is the tree that will be packed.
	Out string
	// Work is for what is not.
	Work string
	// Component is whose bench it is, and Track gets what is being done to it.
	Component string
	Track     *progress.Tracker
}

// Doing tells the user what takes time now.
func (b Bench) Doing(what string) { b.Track.Doing(b.Component, what) }

// All are the components of a kalypso for the system goos. A node is made of
// what only Linux has.
func All(goos string) []Recipe {
	all := []Recipe{Kube(), ArgoCD(), Flux()}
	if goos == "linux" {
		all = append(all, Node())
	}
	return append(all, Kwok(), Gitea(), Samples(), Runner(), Relay())
}

// linkFlags drop the symbol table and debug information.
const linkFlags = "-s -w"

// programFlags build a program that has no version stamped in.
var programFlags = append(slices.Clone(buildFlags), "-ldflags", linkFlags)

// Inputs lists all that decides what comes out, except for the component's
// folder and the Go toolchain.
func (r Recipe) Inputs() []string {
	in := []string{"revision=" + fmt.Sprint(r.Revision), "flags=" + fmt.Sprint(buildFlags, goEnv), "link=" + linkFlags}
	for _, l := range r.Lists {
		in = append(in, "list="+l)
	}
	for _, s := range r.Stamp {
		in = append(in, "stamp="+s)
	}
	if r.GOOS != "" {
		in = append(in, "goos="+r.GOOS)
	}
	if r.Tags != "" {
		in = append(in, "tags="+r.Tags)
	}
	return in
}

// Env is the environment in which the go command looks at the program.
func (r Recipe) Env() []string {
	env := GoEnv()
	if r.GOOS != "" {
		env = append(env, "GOOS="+r.GOOS)
	}
	if r.Tags != "" {
		env = append(env, "GOFLAGS=-tags="+r.Tags)
	}
	return env
}

// Make carries out the recipe and returns the licences of what is not a Go
// module.
func (r Recipe) Make(ctx context.Context, b Bench) ([]components.License, error) {
	link := linkFlags
	if len(r.Stamp) > 0 {
		m, err := findModule(ctx, b.Source, r.Module)
		if err != nil {
			return nil, err
		}
		stamps, err := stamp(r.Stamp, m.Version)
		if err != nil {
			return nil, err
		}
		link += stamps
	}
	flags := slices.Clone(buildFlags)
	if r.Begin != nil {
		files, err := r.Begin(ctx, b)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			overlay, err := writeOverlay(b, files)
			if err != nil {
				return nil, err
			}
			flags = append(flags, "-overlay", overlay)
		}
	}
	flags = append(flags, "-ldflags", link)
	if err := (Compilation{Dir: b.Source, Env: r.Env(), Flags: flags, Package: ".", Out: filepath.Join(b.Out, r.Name), Component: b.Component, Track: b.Track}).Run(ctx); err != nil {
		return nil, err
	}
	if r.Finish == nil {
		return nil, nil
	}
	return r.Finish(ctx, b)
}

// writeOverlay lists for the go command which files of the component's folder it
// reads from elsewhere, and returns the file that says so.
func writeOverlay(b Bench, files map[string]string) (string, error) {
	replace := map[string]string{}
	for name, from := range files {
		replace[filepath.Join(b.Source, filepath.FromSlash(name))] = from
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.Work, "overlay.json")
	return path, os.WriteFile(path, data, 0o644)
}

// Kube is etcd, a Kubernetes control plane and kubectl in one program.
func Kube() Recipe {
	const v = "k8s.io/component-base/version."
	return Recipe{
		Name:   "kube",
		Module: "k8s.io/kubernetes",
		Stamp: []string{
			v + "gitVersion={version}",
			v + "gitMajor={major}",
			v + "gitMinor={minor}",
			v + "gitTreeState=clean",
			// built from a module, which knows no commit and has no date
			v + "gitCommit=module",
			v + "buildDate=1970-01-01T00:00:00Z",
		},
		Versions: map[string]string{
			"Kubernetes": "k8s.io/kubernetes",
			"kubectl":    "k8s.io/kubernetes",
			"etcd":       "go.etcd.io/etcd/server/v3",
		},
	}
}

// Kwok simulates the nodes of embedded clusters on a machine that cannot have
// real ones.
func Kwok() Recipe {
	return Recipe{
		Name:     "kwok",
		Revision: 1,
		Versions: map[string]string{"kwok": "sigs.k8s.io/kwok"},
	}
}

// Runner runs the forge's workflows on this machine, and so without the part of
// its library that drives a container engine.
func Runner() Recipe {
	return Recipe{
		Name:     "runner",
		Tags:     "WITHOUT_DOCKER",
		Revision: 1,
		Versions: map[string]string{"act": "github.com/nektos/act"},
	}
}

// Relay runs in the nodes and pods of clusters in containers, which are
// Linux's whatever this machine is.
func Relay() Recipe {
	return Recipe{
		Name:     "relay",
		GOOS:     "linux",
		Revision: 1,
		Versions: map[string]string{"yamux": "github.com/hashicorp/yamux"},
	}
}
