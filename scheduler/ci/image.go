package ci

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// epoch is the time of all files and images: then the same files make the same
// image, wherever and whenever it is made.
var epoch = time.Unix(0, 0).UTC()

// assemble makes the image of a recipe on top of its base.
func assemble(base v1.Image, recipe Recipe, files map[string]imageFile, architecture string) (v1.Image, error) {
	image := base
	if len(files) > 0 {
		layer, err := layerOf(files)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(base, layer); err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	if base == empty.Image {
		file.OS, file.Architecture = "linux", architecture
	}
	file.Created = v1.Time{Time: epoch}
	configure(&file.Config, recipe)
	return mutate.ConfigFile(image, file)
}

// configure puts what the recipe says over what the base's configuration has.
func configure(config *v1.Config, recipe Recipe) {
	config.Env = append(config.Env, recipe.Env...)
	for name, value := range recipe.Labels {
		if config.Labels == nil {
			config.Labels = map[string]string{}
		}
		config.Labels[name] = value
	}
	for _, port := range recipe.Ports {
		if config.ExposedPorts == nil {
			config.ExposedPorts = map[string]struct{}{}
		}
		config.ExposedPorts[port] = struct{}{}
	}
	if recipe.User != "" {
		config.User = recipe.User
	}
	if recipe.WorkingDir != "" {
		config.WorkingDir = recipe.WorkingDir
	}
	if recipe.Entrypoint != nil {
		config.Entrypoint, config.Cmd = recipe.Entrypoint, nil
	}
	if recipe.Command != nil {
		config.Cmd = recipe.Command
	}
}

// layerOf makes a layer of files and the folders they lie in.
func layerOf(files map[string]imageFile) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	written := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == "" || name == "." {
			return nil, fmt.Errorf("a file cannot replace the image's root")
		}
		for _, folder := range above(name) {
			if written[folder] {
				continue
			}
			written[folder] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: epoch}); err != nil {
				return nil, err
			}
		}
		file := files[name]
		mode := int64(0o644)
		if file.executable {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(file.content)), ModTime: epoch}); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}

// above lists the folders that a file lies in, the outermost first.
func above(name string) []string {
	var folders []string
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		folders = append(folders, folder)
	}
	slices.Reverse(folders)
	return folders
}

// imageFile is one file of a layer.
type imageFile struct {
	content    []byte
	executable bool
}

// sources gives the files that a Dockerfile copies.
type sources struct {
	context string // folder
	// programs has files that the context does not: programs built by a step
	// before, or put there by the runner. By their name in the context.
	programs map[string]string
	// goProgram is the file with the program of the context's Go files, and
	// goName is what COPY calls it, "" when there is none. A file that the
	// context has under that name is what was built of them at some time.
	goName, goProgram string
}

// collect reads what a COPY names, as files by their path in the image without
// the slash ahead.
func (s sources) collect(c Copy, into map[string]imageFile) error {
	for _, source := range c.Sources {
		if err := s.collectOne(source, c.To, into); err != nil {
			return fmt.Errorf("COPY %s: %w", source, err)
		}
	}
	return nil
}

func (s sources) collectOne(source, to string, into map[string]imageFile) error {
	if strings.ContainsAny(source, "*?[") {
		return errors.New("patterns are not known here: name files or folders")
	}
	if name := path.Clean(strings.TrimPrefix(source, "/")); name == ".." || strings.HasPrefix(name, "../") {
		return withHint(fmt.Errorf("the path leaves the folder %s", s.context), "copy the file into the folder in a step ahead of this one, or name a folder that has it with --context")
	}
	name := strings.TrimPrefix(path.Clean("/"+source), "/")
	if s.goName != "" && name == s.goName {
		return put(s.goProgram, target(to, path.Base(name)), into)
	}
	root, err := os.OpenRoot(s.context)
	if err != nil {
		return fmt.Errorf("the application's folder: %w", err)
	}
	defer root.Close()
	if name == "" {
		name = "."
	}
	if err := checkLink(s.context, filepath.FromSlash(name)); err != nil {
		return err
	}
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.program(name, to, into)
	case err != nil:
		return err
	case !info.IsDir():
		content, err := root.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		into[target(to, path.Base(name))] = imageFile{content, info.Mode()&0o111 != 0}
		return nil
	}
	// the content of a folder is copied, as Docker does it
	return fs.WalkDir(root.FS(), name, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := root.ReadFile(file)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(strings.TrimPrefix(file, name), "/")
		if name == "." {
			below = file
		}
		into[strings.TrimPrefix(path.Join(to, below), "/")] = imageFile{content, info.Mode()&0o111 != 0}
		return nil
	})
}

// program takes a file that the context does not have from the programs.
func (s sources) program(name, to string, into map[string]imageFile) error {
	file, ok := s.programs[name]
	if !ok {
		return withHint(fmt.Errorf("%s is not in %s", name, s.context),
			"build it in a step ahead of this one, with --go-program %s when it is a Go program, or say with --program %s=FILE where it is", name, name)
	}
	return put(file, target(to, path.Base(name)), into)
}

// put makes a file of this machine a program of the image.
func put(file, name string, into map[string]imageFile) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	into[name] = imageFile{content, true}
	return nil
}

// target is where a single file goes.
func target(to, base string) string {
	if strings.HasSuffix(to, "/") {
		to = path.Join(to, base)
	}
	return strings.TrimPrefix(path.Clean(to), "/")
}
