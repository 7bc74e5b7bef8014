package model

import (
	"bytes"
	"fmt"
	"path"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// LimitError is wrapped by the error of a Reader about a repository that is larger
// than a Reader accepts. Like [ErrNotFound] it is a mistake in the input and no
// failure: where the repository is a workload's, it becomes a diagnostic at the
// registration, and all else is loaded.
type LimitError struct {
	What string // what there is too much of, as in "bytes of file contents"
	Max  int64  // how many of these there may be
	Path string // the file or folder where it shows, "" where it is the whole repository
	Hint string // what to do

	Commit string // that was read, "" where it did not come to that
}

func (e *LimitError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("there are more than %d %s", e.Max, e.What)
	}
	return fmt.Sprintf("%.200q: there are more than %d %s", e.Path, e.Max, e.What)
}

// HostError is wrapped by the error of a Reader about a repository on a server that
// it must not ask: who registers a workload must not have the scheduler look around
// in its network. It is a mistake in the input, as a [LimitError] is.
type HostError struct {
	Host string // with the port, where it is not that of the scheme
}

func (e *HostError) Error() string { return "host " + e.Host + " is not among those that are read" }

func (e *HostError) hint() string {
	return fmt.Sprintf("allow it with allowedHosts: [%q] in the scheduler's configuration, and with --allow-host %s for commands", e.Host, e.Host)
}

// Limits of what a Reader returns. Contents of files that [MayMatter] are read
// up to MaxFile each and MaxContent together. Of other files, which nothing
// but a comparison of whole branches looks at, they are returned only where
// that is cheap: up to MaxOther together.
const (
	// MaxFile is the size in bytes above which a file is there by its name
	// only. Kubernetes takes no object above 1.5 MB; lists of custom resource
	// definitions reach 4 MB.
	MaxFile = 8 << 20
	// MaxContent bounds the contents of a repository's files, in bytes.
	MaxContent = 64 << 20
	// MaxOther bounds the contents of files that the platform model has no use
	// of, in bytes; of a repository with more of them there is none.
	MaxOther = 16 << 20
	// MaxPath is the length of the longest path, in bytes. It is Linux's own
	// PATH_MAX.
	MaxPath = 4096
	// MaxDepth is how many folders can lie in each other.
	MaxDepth = 128
	// MaxEntries bounds the files and folders of a repository. The largest
	// monorepos in the open have about 100,000.
	MaxEntries = 300_000
	// MaxNames bounds the paths of all files together, in bytes.
	MaxNames = 48 << 20
)

// Limits of what is parsed.
const (
	// maxIndicators bounds the characters of a YAML file that can begin a node, which
	// takes nodeBytes. A ConfigMap of 1 MB that is all JSON has about 200,000.
	maxIndicators = 400_000
	nodeBytes     = 192
	// maxOwnIndicators bounds the same of all files together that an environment
	// reads of its branch and its bases, and of those of a branch that is read by
	// itself. That is about 25,000 registrations. The largest files are left out.
	maxOwnIndicators = 750_000
	// maxWorkloads bounds what the environments of a process keep of all
	// repositories of their workloads, in bytes of memory. That is about 20,000
	// workloads. The largest repositories of an environment are left out, see Pool.
	maxWorkloads = 256 << 20
)

// indicators counts the characters that can begin a node in YAML: an upper bound of
// its nodes before it is parsed.
func indicators(content []byte) int {
	n := 0
	for _, mark := range []string{"\n", "\r", ",", ":", "-", "?", "[", "{"} {
		n += bytes.Count(content, []byte(mark))
	}
	return n
}

// mayHoldObjects says whether a file can have objects of the platform model,
// which are kept as nodes. An escape in YAML can spell any name.
func mayHoldObjects(content []byte) bool {
	return bytes.Contains(content, []byte(v1alpha1.Group)) || bytes.Contains(content, []byte(platformConfigLabel)) || bytes.IndexByte(content, '\\') >= 0
}

// MayMatter says by its name whether a file can be part of the platform model, or
// of what is generated from it.
func MayMatter(file string) bool {
	switch path.Ext(file) {
	case ".yaml", ".yml", ".sh":
		return true
	}
	switch path.Base(file) {
	case ignoreFile, "README.md", "Promoted_Commit_Id":
		return true
	}
	return false
}

const tooMuchHint = "name a repository or branch that holds less: one for the manifests alone will do"

// Counter counts a repository's files and folders against the limits. The zero
// Counter is ready.
type Counter struct {
	entries int
	names   int64
}

// Add counts a file or a folder. Its path has no slash at the end.
func (c *Counter) Add(name string, depth int) error {
	c.entries++
	c.names += int64(len(name))
	switch {
	case c.entries > MaxEntries:
		return &LimitError{What: "files and folders", Max: MaxEntries, Hint: tooMuchHint}
	case c.names > MaxNames:
		return &LimitError{What: "bytes of paths", Max: MaxNames, Hint: tooMuchHint}
	case len(name) > MaxPath:
		return &LimitError{What: "bytes in one path", Max: MaxPath, Path: name, Hint: "rename the file or its folders"}
	case depth > MaxDepth:
		return &LimitError{What: "folders in each other", Max: MaxDepth, Path: name, Hint: "move the file up"}
	}
	return nil
}

// ContentCache collects contents of files within the limits, each by a key that
// equal contents share.
type ContentCache[Key comparable] struct {
	kept            map[Key][]byte
	others          map[Key][]byte // of files that do not matter; nil when they are too many
	matter, notable int64          // bytes of both
}

// NewContentCache returns an empty ContentCache.
func NewContentCache[Key comparable]() *ContentCache[Key] {
	return &ContentCache[Key]{kept: map[Key][]byte{}, others: map[Key][]byte{}}
}

// Admit counts a content of a size, once for its key, and says whether it is to
// be read and handed to Keep. It fails when there is too much that matters.
func (k *ContentCache[Key]) Admit(matters bool, size int64) (bool, error) {
	switch {
	case size > MaxFile:
		return false, nil
	case !matters:
		if k.notable += size; k.notable > MaxOther {
			k.others = nil
		}
		return k.others != nil, nil
	}
	if k.matter += size; k.matter > MaxContent {
		return false, &LimitError{What: "bytes in files that may be the platform's", Max: MaxContent, Hint: tooMuchHint}
	}
	return true, nil
}

// Keep takes a content that was admitted.
func (k *ContentCache[Key]) Keep(key Key, matters bool, content []byte) {
	if content == nil {
		content = []byte{} // nil is for what was not read
	}
	if matters {
		k.kept[key] = content
	} else if k.others != nil {
		k.others[key] = content
	}
}

// WithoutOthers says whether only what matters is kept.
func (k *ContentCache[Key]) WithoutOthers() bool { return k.others == nil }

// Get returns the content of a file, nil when it was not kept.
func (k *ContentCache[Key]) Get(key Key, matters bool) []byte {
	if content, ok := k.kept[key]; ok && (matters || k.others != nil) {
		return content
	}
	return k.others[key]
}
