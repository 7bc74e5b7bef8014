package modules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

const (
	// The database is a module, too, so it can be had wherever modules can.
	databaseModule = "golang.org/x/vulndb"
	scanner        = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
)

// A Database is the Go vulnerability database in a folder.
type Database struct{ dir string }

// OpenDatabase brings the newest database into the cache folder.
func OpenDatabase(ctx context.Context, cache string) (Database, error) {
	out, err := command.Command{Dir: os.TempDir(), Env: alone, Args: []string{"go", "mod", "download", "-json", databaseModule + "@latest"}}.Output(ctx)
	if err != nil {
		return Database{}, fmt.Errorf("download the vulnerability database: %w", err)
	}
	var module struct{ Dir, Version string }
	if err := json.Unmarshal(out, &module); err != nil {
		return Database{}, fmt.Errorf("download the vulnerability database: %w", err)
	}
	dir := filepath.Join(cache, "vulnerabilities-"+module.Version)
	if _, err := os.Stat(dir); err == nil {
		return Database{dir}, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Database{}, err
	}
	work, err := os.MkdirTemp(cache, ".vulnerabilities-")
	if err != nil {
		return Database{}, err
	}
	defer os.RemoveAll(work)
	index := []string{"go", "run", databaseModule + "/cmd/indexdb@" + module.Version, "-vulns", filepath.Join(module.Dir, "data", "osv"), "-out", work}
	if _, err := (command.Command{Dir: os.TempDir(), Env: alone, Args: index}).Output(ctx); err != nil {
		return Database{}, fmt.Errorf("index the vulnerability database: %w", err)
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return Database{}, err
	}
	return Database{dir}, os.Chmod(dir, 0o755)
}

// A Vulnerability is a module that has packages in a build that reports of the
// database speak of.
type Vulnerability struct {
	// Module and Version are what is built in; the module of Go itself is stdlib.
	Module, Version string
	// Fixed is the lowest version with all fixes that there are; empty without one.
	Fixed string
	// IDs are the reports, such as GO-2026-4918.
	IDs []string
}

// Scan looks up the packages that the module in dir is built from.
func (d Database) Scan(ctx context.Context, dir string) ([]Vulnerability, error) {
	args := []string{"go", "run", scanner, "-db", "file://" + d.dir, "-scan", "package", "-format", "json", "-C", dir, "./..."}
	out, err := command.Command{Dir: os.TempDir(), Env: alone, Args: args}.Output(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", dir, err)
	}
	found, err := parseFindings(bytes.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", dir, err)
	}
	return found, nil
}

// parseFindings reads the scanner's stream of JSON messages
// (https://pkg.go.dev/golang.org/x/vuln/internal/govulncheck). A finding
// without a package is about one that nothing here imports.
func parseFindings(r io.Reader) ([]Vulnerability, error) {
	var all []Vulnerability
	for decoder := json.NewDecoder(r); ; {
		var message struct {
			Finding *struct {
				OSV          string
				FixedVersion string `json:"fixed_version"`
				Trace        []struct{ Module, Version, Package string }
			}
		}
		if err := decoder.Decode(&message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the scanner's report: %w", err)
		}
		f := message.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Package == "" {
			continue
		}
		at := slices.IndexFunc(all, func(v Vulnerability) bool { return v.Module == f.Trace[0].Module })
		if at < 0 {
			at = len(all)
			all = append(all, Vulnerability{Module: f.Trace[0].Module, Version: f.Trace[0].Version})
		}
		v := &all[at]
		if !slices.Contains(v.IDs, f.OSV) {
			v.IDs = append(v.IDs, f.OSV)
		}
		if semver.Compare(f.FixedVersion, v.Fixed) > 0 {
			v.Fixed = f.FixedVersion
		}
	}
	for _, v := range all {
		slices.Sort(v.IDs)
	}
	slices.SortFunc(all, func(a, b Vulnerability) int { return strings.Compare(a.Module, b.Module) })
	return all, nil
}
