package model

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/redact"
)

// Loader loads an environment again and again, with a cache of what it parsed for
// the last time: an unchanged file gives the same objects, see [Object.Same],
// whatever commit it is in. The zero Loader is ready; several goroutines may use
// it, one after the other.
type Loader struct {
	mu   sync.Mutex
	last *parseCache
	pool *Pool // nil for a Loader that shares with no other
	kept int   // bytes of workloads' repositories in last
}

// Load is [LoadEnvironment] with the cache.
func (l *Loader) Load(ctx context.Context, r Reader, name string, controlPlane Reference, options ...Option) (*Environment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := newParseCache(l.last)
	loading := &loader{
		reads: newReads(r, func(bytes int) int { return l.pool.take(l, bytes) }),
		env:   &Environment{Name: name, ControlPlane: controlPlane},
		cache: now,
	}
	for _, option := range options {
		option(loading)
	}
	if err := loading.load(ctx); err != nil {
		l.pool.settle(l, l.kept)
		return nil, fmt.Errorf("loading environment %s: %w", name, err)
	}
	l.kept = loading.reads.kept
	l.pool.settle(l, l.kept)
	l.last = &parseCache{folders: now.folders}
	return loading.env, nil
}

// parseCache is what one load has parsed, and what the load before it had.
type parseCache struct {
	last    map[folderKey]folder
	folders map[folderKey]folder
	left    int // indicators that further files may have
}

type folderKey struct{ repo, branch, path string }

// folder is a folder of a tree and all files in it that may hold documents.
type folder struct {
	commit     string
	size       int               // of the tree, in files
	tree       map[string][]byte // only where there is no commit: a tree may be large
	files      []*parsedFile     // sorted by path
	indicators int               // in those files that may hold objects and are not left out
	left       int               // indicators that it was allowed
	cut        bool              // files were left out because of that limit
}

// parsedFile is a file's content and what it parses to.
type parsedFile struct {
	path       string
	content    []byte
	chart      bool // it is part of a Helm chart
	indicators int  // 0 in a file that cannot hold objects, of which no nodes are kept
	read       bool
	cut        bool // it was left out because all files together have too many indicators
	documents  []document
	findings   findings
	configs    findings // about what may be a ConfigMap
}

func newParseCache(last *parseCache) *parseCache {
	if last == nil {
		last = &parseCache{}
	}
	return &parseCache{last: last.folders, folders: make(map[folderKey]folder, len(last.folders)), left: maxOwnIndicators}
}

// documents returns the documents of the files at or below a folder, in order
// of path and line. What is wrong goes to findings, and what is wrong with
// ConfigMaps to configs, which is nil for callers that do not read them.
func (m *parseCache) documents(tree *Tree, path string, findings, configs *findings) []document {
	key := folderKey{tree.Repo, tree.Branch, path}
	old := m.last[key]
	f := folder{commit: tree.Commit, size: len(tree.Files), left: m.left}
	if f.commit == "" {
		f.tree = tree.Files
	}
	if f.same(old) {
		f = old
	} else {
		f.files = parsedFiles(tree, Files(tree, path), old.files, m.left)
		for _, p := range f.files {
			f.cut = f.cut || p.cut
			if !p.cut {
				f.indicators += p.indicators
			}
		}
	}
	m.folders[key] = f
	m.left -= f.indicators
	if len(f.files) == 1 {
		findings.join(f.files[0].findings)
		configs.join(f.files[0].configs)
		return f.files[0].documents
	}
	n := 0
	for _, p := range f.files {
		n += len(p.documents)
	}
	all := make([]document, 0, n)
	for _, p := range f.files {
		findings.join(p.findings)
		configs.join(p.configs)
		all = append(all, p.documents...)
	}
	return all
}

// parsedFiles reads files, whose names are sorted. Those whose content is known
// are taken from what was there before. Of files that may hold objects and have
// more indicators than are left, the largest are left out.
func parsedFiles(tree *Tree, names []string, before []*parsedFile, left int) []*parsedFile {
	files := make([]*parsedFile, len(names))
	charts := chartFolders(names)
	total := 0
	for i, name := range names {
		for len(before) > 0 && before[0].path < name {
			before = before[1:]
		}
		content, chart := tree.Files[name], ofChart(name, charts)
		if len(before) > 0 && before[0].path == name && before[0].chart == chart &&
			bytes.Equal(before[0].content, content) && (before[0].content == nil) == (content == nil) {
			files[i] = before[0]
		} else {
			files[i] = &parsedFile{path: name, content: content, chart: chart}
			if mayHoldObjects(content) && parseLimit(content) == nil {
				files[i].indicators = indicators(content)
			}
		}
		total += files[i].indicators
	}
	var cut map[*parsedFile]bool
	if total > left {
		cut = largest(files, total-left)
	}
	for i, p := range files {
		if p.read && p.cut == cut[p] {
			continue
		}
		p = &parsedFile{path: p.path, content: p.content, chart: p.chart, indicators: p.indicators, read: true, cut: cut[p]}
		files[i] = p
		at := Position{Repo: redact.URL(tree.Repo), Branch: tree.Branch, File: p.path}
		if p.cut {
			p.findings.oversized(at, p.content, &LimitError{What: "fields, list elements and lines in all files together, of which it is one of the largest", Max: maxOwnIndicators})
			continue
		}
		p.documents = documentsOf(at, p.content, p.chart, &p.findings, &p.configs)
	}
	return files
}

// largest returns the files with most indicators that have so many together. Of
// equal ones they are the last by name.
func largest(files []*parsedFile, indicators int) map[*parsedFile]bool {
	bySize := slices.Clone(files)
	slices.SortStableFunc(bySize, func(a, b *parsedFile) int { return a.indicators - b.indicators })
	found := map[*parsedFile]bool{}
	for i := len(bySize) - 1; i >= 0 && indicators > 0; i-- {
		found[bySize[i]] = true
		indicators -= bySize[i].indicators
	}
	return found
}

// same says whether two folders are of one commit, or even hold the same files
// in memory, and nothing is left out of either that is not of the other.
func (f folder) same(other folder) bool {
	if other.left != f.left && (other.cut || other.indicators > f.left) {
		return false
	}
	if f.commit != "" || other.commit != "" {
		return f.commit == other.commit && f.size == other.size
	}
	return f.tree != nil && reflect.ValueOf(f.tree).Pointer() == reflect.ValueOf(other.tree).Pointer()
}

// readFolder is a folder of a tree whose documents have been read.
type readFolder struct {
	tree   *Tree
	folder string // clean
}

// documents returns the documents of a folder's files, except for files that
// were read before with the same content: a base may lie in a folder of the
// environment's own, and what is there is there once.
func (l *loader) documents(tree *Tree, folder string) []document {
	all := l.cache.documents(tree, folder, &l.all.findings, &l.all.findings)
	before := slices.DeleteFunc(slices.Clone(l.folders), func(f readFolder) bool {
		return f.tree.Repo != tree.Repo || f.tree.Branch != tree.Branch
	})
	l.folders = append(l.folders, readFolder{tree, CleanFolder(folder)})
	if len(before) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(doc document) bool {
		file := doc.position.File
		return slices.ContainsFunc(before, func(f readFolder) bool {
			content, found := f.tree.Files[file]
			return found && within(file, f.folder) && bytes.Equal(content, tree.Files[file])
		})
	})
}
