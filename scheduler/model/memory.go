package model

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync"
)

// Loader loads an environment again and again. It remembers what it parsed for
// the last time: a file that has not changed gives the same objects again, as
// [Object.Same] tells, whatever commit it is in. The zero Loader is ready; it
// may be used by several goroutines, which then wait for each other.
type Loader struct {
	mu   sync.Mutex
	last *memory
}

// Load is [LoadEnvironment] with a memory.
func (l *Loader) Load(ctx context.Context, r Reader, name string, controlPlane Reference, options ...Option) (*Environment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := newMemory(l.last)
	loading := &loader{
		reads: newReads(r),
		env:   &Environment{Name: name, ControlPlane: controlPlane},
		now:   now,
	}
	for _, option := range options {
		option(loading)
	}
	if err := loading.load(ctx); err != nil {
		return nil, fmt.Errorf("loading environment %s: %w", name, err)
	}
	now.last = nil
	l.last = now
	return loading.env, nil
}

// memory is what one load has parsed, and what the load before it had.
type memory struct {
	last    *memory              // nil when there was none
	folders map[Position]folder  // by position without line
	files   map[Position]*parsed // by position without line
}

// folder is a folder of a tree and all files in it that may hold documents.
type folder struct {
	tree  *Tree
	files []*parsed
}

// parsed is a file's content and what it parses to.
type parsed struct {
	position  Position
	content   []byte
	documents []document
	findings  findings
}

func newMemory(last *memory) *memory {
	if last == nil {
		last = &memory{}
	}
	return &memory{
		last:    last,
		folders: make(map[Position]folder, len(last.folders)),
		files:   make(map[Position]*parsed, len(last.files)),
	}
}

// documents returns the documents of the files at or below a folder, in order
// of path and line. Whatever is wrong goes to findings.
func (m *memory) documents(tree *Tree, path string, findings *findings) []document {
	at := Position{Repo: tree.Repo, Branch: tree.Branch, File: path}
	f := folder{tree: tree}
	if old, found := m.last.folders[at]; found && sameTree(old.tree, tree) {
		f.files = old.files
		for _, p := range f.files {
			m.files[p.position] = p
		}
	} else {
		for _, file := range modelFiles(tree, path) {
			f.files = append(f.files, m.parse(Position{Repo: tree.Repo, Branch: tree.Branch, File: file}, tree.Files[file]))
		}
	}
	m.folders[at] = f
	var all []document
	for _, p := range f.files {
		findings.join(p.findings)
		all = append(all, p.documents...)
	}
	return all
}

// sameTree says whether two trees of a repository are of one commit, or even
// hold the same files in memory.
func sameTree(a, b *Tree) bool {
	return a.Commit != "" && a.Commit == b.Commit && len(a.Files) == len(b.Files) ||
		reflect.ValueOf(a.Files).Pointer() == reflect.ValueOf(b.Files).Pointer()
}

// parse reads a file, unless it has been read already.
func (m *memory) parse(position Position, content []byte) *parsed {
	for _, known := range []*parsed{m.files[position], m.last.files[position]} {
		if known != nil && bytes.Equal(known.content, content) {
			m.files[position] = known
			return known
		}
	}
	p := &parsed{position: position, content: content}
	p.documents = documentsOf(position, content, &p.findings)
	m.files[position] = p
	return p
}

// outcome is what became of a document.
type outcome[Spec any] struct {
	object   Object[Spec]
	usable   bool
	findings findings
}

// recall returns what became of a document, which it finds out only once.
func recall[Spec any](doc document, find func() outcome[Spec]) *outcome[Spec] {
	known, found := (*doc.outcome).(*outcome[Spec])
	if !found {
		o := find()
		known = &o
		*doc.outcome = known
	}
	return known
}

// keep adds the outcome to what is known of all documents.
func (o *outcome[Spec]) keep(f *findings, list *[]Object[Spec]) {
	f.join(o.findings)
	if o.usable {
		*list = append(*list, o.object)
	}
}
