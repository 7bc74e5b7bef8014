package ci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
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
			return nil, fmt.Errorf("a file cannot take the place of the image's root")
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
