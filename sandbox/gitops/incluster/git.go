package incluster

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

// gitHelpers are the programs that git runs to fetch. What else it needs to
// fetch and check out is in itself.
var gitHelpers = []string{"git-remote-http", "git-remote-https"}

// machineGit is this machine's git as it can be put into an image.
type machineGit struct {
	machine elf.Machine
	files   filetree.Tree
	env     []string // environment variables that locate its files
}

// findGit takes git from this machine, with the libraries that it and its
// helpers need. Argo CD calls git for all it fetches, and no image of it is to
// be had here.
func findGit(ctx context.Context) (machineGit, error) {
	if runtime.GOOS != "linux" {
		return machineGit{}, errors.New("the image of Argo CD needs git for Linux, which only a Linux machine has")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return machineGit{}, errors.New("the image of Argo CD needs this machine's git, and there is none: install git")
	}
	// a link's own path may be that of the link which the image gets below
	if git, err = filepath.EvalSymlinks(git); err != nil {
		return machineGit{}, err
	}
	helpers, err := output(ctx, git, "--exec-path")
	if err != nil {
		return machineGit{}, err
	}
	helpers = strings.TrimSpace(helpers)
	programs := []string{git}
	for _, name := range gitHelpers {
		programs = append(programs, filepath.Join(helpers, name))
	}
	g, err := takePrograms(ctx, programs...)
	if err != nil {
		return machineGit{}, fmt.Errorf("the image of Argo CD needs this machine's git: %w", err)
	}
	g.env = append(g.env, "GIT_EXEC_PATH="+helpers, "GIT_SSL_CAINFO="+certificateFile)
	if git != "/usr/bin/git" {
		g.files.Link("usr/bin/git", git)
	}
	return g, nil
}

// takePrograms returns the files of programs of this machine with their
// libraries, each at its own path.
func takePrograms(ctx context.Context, programs ...string) (machineGit, error) {
	g := machineGit{files: filetree.Tree{}}
	files := map[string]bool{}
	var folders []string
	for _, named := range programs {
		p, err := filepath.EvalSymlinks(named)
		if errors.Is(err, fs.ErrNotExist) {
			return g, fmt.Errorf("%s is missing: install git with its helpers for http", named)
		}
		if err != nil {
			return g, err
		}
		if p != named {
			g.files.Link(named[1:], p)
		}
		machine, loader, err := machineProgram(p)
		if errors.As(err, new(*elf.FormatError)) {
			return g, fmt.Errorf("%s is a script and not a program, so its libraries cannot be found: put the folder of the program itself first in PATH", p)
		}
		if err != nil {
			return g, err
		}
		g.machine, files[p] = machine, true
		if loader == "" {
			continue
		}
		files[loader] = true
		libraries, err := libraries(ctx, loader, p)
		if err != nil {
			return g, err
		}
		for _, l := range libraries {
			files[l] = true
			if dir := filepath.Dir(l); !slices.Contains(folders, dir) {
				folders = append(folders, dir)
			}
		}
	}
	for f := range files {
		if err := g.files.Disk(f[1:], 0o755, f); err != nil {
			return g, err
		}
	}
	if len(folders) > 0 {
		slices.Sort(folders)
		// in place of the loader's cache of what is where
		g.env = append(g.env, "LD_LIBRARY_PATH="+strings.Join(folders, ":"))
	}
	return g, nil
}

// machineProgram returns which machines a program runs on, and its loader, ""
// when it needs none.
func machineProgram(path string) (elf.Machine, string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return 0, "", fmt.Errorf("%s: %w", path, err)
		}
		return f.Machine, strings.TrimRight(string(name), "\x00"), nil
	}
	return f.Machine, "", nil
}

// nameServices are what older C libraries load for names, and do not list.
var nameServices = []string{"libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"}

// libraries lists the libraries that the loader would load for a program.
func libraries(ctx context.Context, loader, program string) ([]string, error) {
	list, err := output(ctx, loader, "--list", program)
	if err != nil {
		return nil, err
	}
	all, err := parseLibraries(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	for _, l := range all {
		if !strings.HasPrefix(filepath.Base(l), "libc.so") {
			continue
		}
		for _, name := range nameServices {
			if beside := filepath.Join(filepath.Dir(l), name); exists(beside) {
				all = append(all, beside)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// parseLibraries reads lines such as
//
//	libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f3a5c1e2000)
func parseLibraries(list string) ([]string, error) {
	var all []string
	for line := range strings.Lines(list) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue // the loader itself, or what the kernel brings
		}
		path, _, _ := strings.Cut(rest, " (")
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("library %s: %s", name, rest)
		}
		all = append(all, path)
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// output returns a program's output, in the C locale so that it can be parsed.
func output(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
}
