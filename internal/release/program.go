package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// built is a program with what is known about it.
type built struct {
	path      string
	inventory inventory
}

// inventory is what the builder writes of a program: all that is in it.
type inventory struct {
	Components []component `json:"components"`
	Licenses   []module    `json:"licenses"`
}

// A component is a packed archive of programs; versions are of the software in it.
type component struct {
	Name     string            `json:"name"`
	Versions map[string]string `json:"versions"`
	SHA256   string            `json:"sha256"`
}

// A module is a Go module or npm package that is linked into, or bundled with, a
// component or kalypso itself.
type module struct {
	Component string `json:"component"`
	Name      string `json:"module"`
	Version   string `json:"version"`
	Files     []struct {
		Name string `json:"name"`
		Text string `json:"text"`
	} `json:"files"`
}

// buildPrograms builds kalypso for every target.
func (r *Release) buildPrograms(ctx context.Context) error {
	builder := filepath.Join(r.work, "build")
	err := r.step(ctx, "build the builder", func() error {
		return r.run(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", builder, "./sandbox/components/build")
	})
	if err != nil {
		return err
	}
	r.programs = map[Target]built{}
	for _, t := range r.Targets {
		dir := filepath.Join(r.work, t.String())
		b := built{path: filepath.Join(dir, t.Program())}
		list := filepath.Join(dir, "inventory.json")
		args := []string{builder, "-platform", t.Platform(), "-kalypso", b.path, "-version", r.Version, "-inventory", list}
		if t.Name == cli {
			args = append(args, "-cli")
		}
		err := r.step(ctx, "build "+t.String(), func() error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := r.run(ctx, nil, args...); err != nil {
				return err
			}
			data, err := os.ReadFile(list)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(data, &b.inventory); err != nil {
				return fmt.Errorf("%s: %w", list, err)
			}
			if len(b.inventory.Licenses) == 0 {
				return fmt.Errorf("%s lists no licence", list)
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.programs[t] = b
	}
	return nil
}

// run runs a tool in the root of the repository. Its messages are the user's.
func (r *Release) run(ctx context.Context, env []string, args ...string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Env = r.Root, append(os.Environ(), env...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(args[0]), err)
	}
	return nil
}

// shells are those that completions are written for, and the names that these are
// found under.
var shells = map[string]string{"bash": "kalypso", "zsh": "_kalypso", "fish": "kalypso.fish", "powershell": "kalypso.ps1"}

// documents writes what comes with every program: the manual pages, and what
// completes lines in a shell.
func (r *Release) documents(ctx context.Context) (tree, error) {
	var documents tree
	err := r.step(ctx, "manual pages and completions", func() error {
		program := r.programs[r.Targets[slices.IndexFunc(r.Targets, Target.runsHere)]].path
		man, home := filepath.Join(r.work, "man"), filepath.Join(r.work, "home")
		if err := os.RemoveAll(man); err != nil {
			return err
		}
		// what a sandbox of the user's has is nothing for a manual
		env := []string{"KALYPSO_HOME=" + home, "SOURCE_DATE_EPOCH=" + fmt.Sprint(r.time.Unix())}
		if err := r.run(ctx, env, program, "man", man); err != nil {
			return err
		}
		pages, err := os.ReadDir(man)
		if err != nil {
			return err
		}
		for _, page := range pages {
			data, err := os.ReadFile(filepath.Join(man, page.Name()))
			if err != nil {
				return err
			}
			documents.add("man/"+page.Name(), data)
		}
		for shell, name := range shells {
			c := exec.CommandContext(ctx, program, "completion", shell)
			c.Env, c.Stderr = append(os.Environ(), env...), os.Stderr
			script, err := c.Output()
			if err != nil {
				return fmt.Errorf("completion %s: %w", shell, err)
			}
			documents.add("completions/"+shell+"/"+name, script)
		}
		for _, name := range []string{"LICENSE", "README.md"} {
			data, err := os.ReadFile(filepath.Join(r.Root, name))
			if err != nil {
				return err
			}
			documents.add(name, data)
		}
		return nil
	})
	return documents, err
}
