package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// collection is the files of a tree in the making, within the limits that hold
// for every repository: a clone holds what a stranger has pushed.
type collection struct {
	contents *model.Keeper[string]
	count    model.Counter
	names    []string
}

func newCollection() *collection {
	return &collection{contents: model.NewKeeper[string]()}
}

// add adds a file of a size. Its content is read only where it is kept.
func (c *collection) add(file string, size int64, read func() ([]byte, error)) error {
	if err := c.pass(file); err != nil {
		return err
	}
	c.names = append(c.names, file)
	matters := model.MayMatter(file)
	keep, err := c.contents.Admit(matters, size)
	if err != nil || !keep {
		return err
	}
	content, err := read()
	if err != nil {
		return err
	}
	c.contents.Keep(file, matters, content)
	return nil
}

// pass counts a folder, or what is no regular file.
func (c *collection) pass(name string) error { return c.count.Add(name, strings.Count(name, "/")) }

// addFrom adds a file of a folder on this machine.
func (c *collection) addFrom(root *os.Root, at, file string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	return c.add(file, info.Size(), func() (_ []byte, err error) {
		f, err := root.Open(at)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return io.ReadAll(io.LimitReader(f, info.Size())) // it may have grown since
	})
}

// files returns all of them; those without a content that is kept are nil.
func (c *collection) files() map[string][]byte {
	files := make(map[string][]byte, len(c.names))
	for _, file := range c.names {
		files[file] = c.contents.Get(file, model.MayMatter(file))
	}
	return files
}
