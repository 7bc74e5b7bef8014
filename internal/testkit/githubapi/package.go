package githubapi

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

// pack is a package that a description of GitHub's is published in, with the sum
// of its archive as npm writes it into lock files.
type pack struct{ name, version, integrity, file string }

var (
	rest = pack{
		"@octokit/openapi", "23.0.2",
		"pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
		"package/generated/api.github.com.json",
	}
	graph = pack{
		"@octokit/graphql-schema", "15.25.0", // 15.26 defines a field twice
		"aqz9WECtdxVWSqgKroUu9uu+CRt5KnfErWs0dBPKlTdrreAeWzS5NRu22ZVcGdPP7s3XDg2Gnf5iyoZPCRZWmQ==",
		"package/schema.graphql",
	}
)

const fetchLimit = 5 * time.Minute

// published returns the package's file. The first test on a machine fetches it
// with npm, into ${KALYPSO_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kalypso}/githubapi.
func (p pack) published(ctx context.Context) ([]byte, error) {
	dir := os.Getenv("KALYPSO_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find the cache folder (or set KALYPSO_CACHE): %w", err)
		}
		dir = filepath.Join(base, "kalypso")
	}
	dir = filepath.Join(dir, "githubapi")
	path := filepath.Join(dir, p.version+filepath.Ext(p.file))
	if data, err := os.ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		return data, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	defer lock.Close()
	if err := retry.Until(ctx, "the end of another test's download", fetchLimit, func(context.Context) error {
		if got, err := lock.TryLock(); got || err != nil {
			return retry.Permanent(err)
		}
		return errors.New("it has the lock " + lock.Path())
	}); err != nil {
		return nil, err
	}
	if data, err := os.ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		return data, err
	}
	data, err := p.fetch(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("fetch GitHub's description of its API, %s %s: %w", p.name, p.version, err)
	}
	return data, renameio.WriteFile(path, data, 0o644)
}

// fetch downloads the package's archive, compares its sum, and returns the file.
func (p pack) fetch(ctx context.Context, dir string) ([]byte, error) {
	dir, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", p.name+"@"+p.version)
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w\n%s", err, out)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return nil, fmt.Errorf("npm pack has left %d archives", len(archives))
	}
	archive, err := os.ReadFile(archives[0])
	if err != nil {
		return nil, err
	}
	if sum := sha512.Sum512(archive); base64.StdEncoding.EncodeToString(sum[:]) != p.integrity {
		return nil, fmt.Errorf("the archive has the sum sha512-%s, not sha512-%s", base64.StdEncoding.EncodeToString(sum[:]), p.integrity)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s in the archive: %w", p.file, err)
		}
		if header.Name == p.file {
			return io.ReadAll(files)
		}
	}
}
