package ci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

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
	// context has under that name is what somebody built of them at some time.
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
