package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
)

// Build says what to make an image of, and how it is called.
type Build struct {
	Context    string // the application's folder
	Dockerfile string // in there; Dockerfile when empty
	Name       string // registry/owner/repository/name
	Tag        string

	// Bases has other images for those that FROM names, where their registry
	// is out of reach.
	Bases map[string]string
	// GoProgram is a file that COPY names and that is the program of the Go files
	// in the folder, whatever the folder has under that name; "" when there is
	// none.
	GoProgram string
	// Programs are files for COPY that the folder does not have, by name. One
	// with a fingerprint beside it, see package gosources, can be the GoProgram.
	Programs map[string]string
	// Keep leaves an image of that name and tag as it is.
	Keep bool

	Registry, User, Token string
	Server                string // the forge's URL, for its scheme
	Report                func(string)
}

// Built is the image that BuildImage has pushed.
type Built struct {
	Image  string // NAME:TAG
	Digest string
}

// ImageName is the name of an application's image: below the repository's own,
// in the registry of the forge. Registries want lower case.
func ImageName(e Environment, name string) (string, error) {
	if e.Registry == "" || e.Repository == "" {
		return "", usage.Errorf("where does the image go? Give its full name with --name, or set GITHUB_SERVER_URL and GITHUB_REPOSITORY")
	}
	parts := []string{e.Registry, strings.ToLower(e.Repository)}
	if name != "" {
		parts = append(parts, strings.ToLower(name))
	}
	return strings.Join(parts, "/"), nil
}

// BuildImage makes an image of a folder as its Dockerfile says and pushes it, in
// the place of one of the same tag unless that is to be kept. The same files
// make the same image, down to its digest.
func BuildImage(ctx context.Context, b Build) (Built, error) {
	image := b.Name + ":" + b.Tag
	recipe, err := b.recipe()
	if err != nil {
		return Built{}, fmt.Errorf("image %s: %w", image, err)
	}
	forge, err := url.Parse(b.Server)
	r := registry{host: b.Registry, user: b.User, token: b.Token, insecure: err == nil && forge.Scheme == "http"}
	ref, err := r.reference(image)
	if err != nil {
		return Built{}, usage.Errorf("image %s: %v", image, err)
	}
	if b.Keep {
		if digest, err := r.digest(ctx, ref); err != nil || digest != "" {
			return Built{image, digest}, err
		}
	}
	from := sources{context: b.Context, programs: b.Programs}
	if b.GoProgram != "" {
		scratch, err := os.MkdirTemp("", "kalypso-ci-")
		if err != nil {
			return Built{}, err
		}
		defer os.RemoveAll(scratch)
		from.goName = b.GoProgram
		if from.goProgram, err = b.goProgram(ctx, scratch); err != nil {
			return Built{}, fmt.Errorf("image %s: %w", image, err)
		}
	}
	files := map[string]imageFile{}
	for _, c := range recipe.Copies {
		if err := from.collect(c, files); err != nil {
			return Built{}, fmt.Errorf("image %s: %s:%d: %w", image, b.dockerfile(), c.Line, err)
		}
	}
	base, err := r.base(ctx, recipe.From, runtime.GOARCH)
	if err != nil {
		return Built{}, fmt.Errorf("image %s: %w", image, err)
	}
	made, err := assemble(base, recipe, files, runtime.GOARCH)
	if err != nil {
		return Built{}, fmt.Errorf("image %s: %w", image, err)
	}
	digest, err := made.Digest()
	if err != nil {
		return Built{}, fmt.Errorf("image %s: %w", image, err)
	}
	return Built{image, digest.String()}, r.push(ctx, ref, made)
}

func (b Build) dockerfile() string {
	name := b.Dockerfile
	if name == "" {
		name = "Dockerfile"
	}
	return filepath.Join(b.Context, name)
}

func (b Build) recipe() (Recipe, error) {
	if name, err := filepath.Rel(b.Context, b.dockerfile()); err == nil && filepath.IsLocal(name) {
		if err := checkLink(b.Context, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Recipe{}, err
		}
	}
	content, err := os.ReadFile(b.dockerfile())
	if err != nil {
		return Recipe{}, withHint(err, "name the application's folder with --context and its Dockerfile with --dockerfile")
	}
	recipe, err := ParseDockerfile(b.dockerfile(), content)
	if err != nil {
		return Recipe{}, err
	}
	if other, ok := b.Bases[recipe.From]; ok {
		b.report("%s replaces %s, which the Dockerfile begins with", other, recipe.From)
		recipe.From = other
	}
	return recipe, nil
}

func (b Build) report(format string, args ...any) {
	if b.Report != nil {
		b.Report(fmt.Sprintf(format, args...))
	}
}

// goProgram returns the file with the folder's Go program. A packed program
// that was made of the same Go files is taken as it is, which saves a runner
// with an empty build cache half a minute; otherwise the Go toolchain builds
// one into the folder scratch. A packed program that is made of other files is
// never taken: the image would not be what the repository says.
func (b Build) goProgram(ctx context.Context, scratch string) (string, error) {
	reason := "there is no packed program of that name"
	remedy := fmt.Sprintf("build the program elsewhere and say with --program %s=FILE where it is, without --go-program", b.GoProgram)
	if packed, ok := b.Programs[b.GoProgram]; ok {
		var err error
		if reason, remedy, err = differs(b.Context, packed); err != nil {
			return "", fmt.Errorf("program %s: %w", b.GoProgram, err)
		}
		if reason == "" {
			b.report("%s is the packed program %s: it was built of the same Go files as those in %s", b.GoProgram, packed, b.Context)
			return packed, nil
		}
	}
	toolchain, err := exec.LookPath("go")
	if err != nil {
		return "", withHint(fmt.Errorf("program %s: %s, and there is no Go toolchain to build one: %w", b.GoProgram, reason, err),
			"install Go on the runner (actions/setup-go does it), or %s", remedy)
	}
	b.report("building %s of the Go files in %s: %s", b.GoProgram, b.Context, reason)
	return filepath.Join(scratch, "program"), goBuild(ctx, toolchain, b.Context, filepath.Join(scratch, "program"))
}

// goBuild builds a static program for the image. The environment comes along:
// where GOCACHE names a folder that lasts, the next build is quick.
func goBuild(ctx context.Context, toolchain, folder, program string) error {
	build := exec.CommandContext(ctx, toolchain, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOWORK=off")
	var out bytes.Buffer
	build.Stdout, build.Stderr = &out, &out
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", folder, err, strings.TrimSpace(out.String()))
	}
	return nil
}

// differs says why a packed program is not that of the Go files in a folder,
// and what could be done about it without a toolchain; "" when it is theirs.
func differs(folder, packed string) (reason, remedy string, err error) {
	of, err := os.ReadFile(packed + gosources.Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("nothing says which Go files %s was built of", packed), "leave --go-program out to take that program all the same", nil
	}
	if err != nil {
		return "", "", err
	}
	now, err := gosources.OfFolder(folder)
	if err != nil {
		return "", "", err
	}
	if now == strings.TrimSpace(string(of)) {
		return "", "", nil
	}
	return "the Go files were changed, so the packed program is not theirs",
		"undo the changes of go.mod and the .go files: all other files can change without it", nil
}
