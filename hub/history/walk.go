package history

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// assignments follows what is assigned below a folder from commit to commit. Folders that have
// not changed are not looked into.
type assignments struct {
	m         *mirror
	addresses *addresses.Replacer
	root      string
	length    int           // the number of the last commit that was read
	at        plumbing.Hash // the folder, as of that commit
	types     map[string]plumbing.Hash
	// open are those that there are, by cluster type and target.
	open    map[string]map[string]*store.DesiredAssignment
	written int                        // the number of the last commit that is in the store
	changed []*store.DesiredAssignment // since then
}

// newAssignments goes on after a commit that was read; none is 0.
func (r *Reader) newAssignments(ctx context.Context, m *mirror, b Branch, root string, length int, commit plumbing.Hash) (*assignments, error) {
	a := &assignments{m: m, addresses: r.Addresses, root: root, length: length, written: length, types: map[string]plumbing.Hash{}, open: map[string]map[string]*store.DesiredAssignment{}}
	if length == 0 {
		return a, nil
	}
	var err error
	if a.at, err = m.folderAt(commit, root); err != nil {
		return nil, err
	}
	entries, err := m.folder(a.at)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Mode == filemode.Dir {
			a.types[e.Name] = e.Hash
		}
	}
	still, err := r.Store.DesiredAssignments(ctx, redact.URL(b.Repo), b.Name, true)
	for i := range still {
		if d := &still[i]; d.Root == root {
			a.of(d.ClusterType)[d.Target] = d
		}
	}
	return a, err
}

// of are the assignments to a cluster type.
func (a *assignments) of(clusterType string) map[string]*store.DesiredAssignment {
	if a.open[clusterType] == nil {
		a.open[clusterType] = map[string]*store.DesiredAssignment{}
	}
	return a.open[clusterType]
}

// step goes on to the next commit, of which the folder is given.
func (a *assignments) step(folder plumbing.Hash) error {
	a.length++
	if folder == a.at {
		return nil
	}
	entries, err := a.m.folder(folder)
	if err != nil {
		return err
	}
	types := map[string]plumbing.Hash{}
	for _, e := range entries {
		if e.Mode == filemode.Dir {
			types[e.Name] = e.Hash
		}
	}
	for name := range a.types {
		if types[name].IsZero() {
			if err := a.stepType(name, nil); err != nil {
				return err
			}
		}
	}
	for name, id := range types {
		if id == a.types[name] {
			continue
		}
		now, err := a.m.folder(id)
		if err != nil {
			return err
		}
		if err := a.stepType(name, now); err != nil {
			return err
		}
	}
	a.at, a.types = folder, types
	return nil
}

// stepType goes on with one cluster type, whose folder has changed.
func (a *assignments) stepType(clusterType string, entries []object.TreeEntry) error {
	open := a.of(clusterType)
	there := map[string]bool{}
	for _, e := range entries {
		if e.Mode != filemode.Dir {
			continue
		}
		was := open[e.Name]
		if was != nil && was.Digest == e.Hash.String() {
			there[e.Name] = true
			continue
		}
		files, err := a.files(clusterType, e)
		if err != nil {
			return err
		}
		if files == nil {
			continue
		}
		there[e.Name] = true
		if was != nil {
			a.end(was)
		}
		now := &store.DesiredAssignment{Root: a.root, ClusterType: clusterType, Target: e.Name, From: a.length, Digest: e.Hash.String()}
		if ref, err := placement.Followed(files); err == nil { // what cannot be read follows nothing
			now.Repo, now.Branch, now.Path = redact.URL(ref.Repo), ref.Branch, ref.Path
		}
		open[e.Name] = now
		a.changed = append(a.changed, now)
	}
	for target, was := range open {
		if !there[target] {
			a.end(was)
			delete(open, target)
		}
	}
	return nil
}

// end notes that an assignment is not there any more, or not so.
func (a *assignments) end(d *store.DesiredAssignment) {
	d.To = a.length
	if d.From <= a.written {
		a.changed = append(a.changed, d)
	}
}

// files are those of an assignment's folder, nil for a folder that is of none.
func (a *assignments) files(clusterType string, folder object.TreeEntry) (map[string][]byte, error) {
	entries, err := a.m.folder(folder.Hash)
	if err != nil {
		return nil, err
	}
	var files map[string][]byte
	for _, e := range entries {
		name := path.Join(a.root, clusterType, folder.Name, e.Name)
		if _, _, of := publish.PairOf(a.root, name); !of || !isFile(e.Mode) {
			continue
		}
		if files == nil {
			files = map[string][]byte{}
		}
		content, err := a.m.content(e.Hash)
		if err != nil {
			return nil, err
		}
		files[name] = a.addresses.Replace(content)
	}
	return files, nil
}

// flushed returns what has changed since the last call.
func (a *assignments) flushed() []store.DesiredAssignment {
	all := make([]store.DesiredAssignment, 0, len(a.changed))
	for _, d := range a.changed {
		all = append(all, *d)
	}
	a.changed, a.written = nil, a.length
	return all
}

// folderAt is a folder of a commit, zero where it is not there.
func (m *mirror) folderAt(commit plumbing.Hash, folder string) (plumbing.Hash, error) {
	c, err := m.commit(commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return m.folderIn(c.TreeHash, folder)
}

func (m *mirror) folderIn(tree plumbing.Hash, folder string) (plumbing.Hash, error) {
	for name := range strings.SplitSeq(folder, "/") {
		if name == "" {
			continue
		}
		entries, err := m.folder(tree)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name && e.Mode == filemode.Dir })
		if i < 0 {
			return plumbing.ZeroHash, nil
		}
		tree = entries[i].Hash
	}
	return tree, nil
}

type versionKey struct{ environment, target string }

// versions follows which versions the DeploymentDescriptors of a branch name.
type versions struct {
	m       *mirror
	length  int
	at      plumbing.Hash // the folder of descriptors
	files   map[string]descriptorFile
	open    map[versionKey]*store.TargetVersion
	written int
	changed []*store.TargetVersion
}

// descriptorFile is a file, and what it says.
type descriptorFile struct {
	id  plumbing.Hash
	all []ci.Descriptor
}

// newVersions goes on after a commit that was read; none is 0.
func (r *Reader) newVersions(ctx context.Context, m *mirror, b Branch, length int, commit plumbing.Hash) (*versions, error) {
	v := &versions{m: m, length: length, written: length, files: map[string]descriptorFile{}, open: map[versionKey]*store.TargetVersion{}}
	if length == 0 {
		return v, nil
	}
	var err error
	if v.at, err = m.folderAt(commit, ci.DescriptorsFolder); err != nil {
		return nil, err
	}
	if v.files, err = v.read(v.at); err != nil {
		return nil, err
	}
	still, err := r.Store.BranchVersions(ctx, redact.URL(b.Repo), b.Name, true)
	for i := range still {
		one := &still[i]
		v.open[versionKey{one.Environment, one.Target}] = one
	}
	return v, err
}

// step goes on to the next commit.
func (v *versions) step(tree plumbing.Hash) error {
	v.length++
	folder, err := v.m.folderIn(tree, ci.DescriptorsFolder)
	if err != nil || folder == v.at {
		return err
	}
	if v.files, err = v.read(folder); err != nil {
		return err
	}
	v.at = folder
	now := map[versionKey]ci.Version{}
	for _, name := range slices.Sorted(maps.Keys(v.files)) {
		for _, d := range v.files[name].all {
			now[versionKey{d.Environment, d.Workload + "-" + d.Target}] = d.Version
		}
	}
	for key, was := range v.open {
		if next, ok := now[key]; ok && next.Version == was.Version && next.Commit == was.SourceCommit {
			delete(now, key)
			continue
		}
		was.To = v.length
		if was.From <= v.written {
			v.changed = append(v.changed, was)
		}
		delete(v.open, key)
	}
	for key, version := range now {
		one := &store.TargetVersion{Environment: key.environment, Target: key.target, From: v.length, Version: version.Version, SourceCommit: version.Commit}
		v.open[key] = one
		v.changed = append(v.changed, one)
	}
	return nil
}

// read reads the descriptors of a folder. Files that have not changed are not read again, and
// those that are none say nothing.
func (v *versions) read(folder plumbing.Hash) (map[string]descriptorFile, error) {
	files := map[string]descriptorFile{}
	err := v.m.eachFile(folder, ci.DescriptorsFolder, func(name string, id plumbing.Hash) error {
		if was, known := v.files[name]; known && was.id == id {
			files[name] = was
			return nil
		}
		content, err := v.m.content(id)
		if err != nil {
			return err
		}
		all, _ := ci.Descriptors(&model.Tree{Files: map[string][]byte{name: content}})
		files[name] = descriptorFile{id, all}
		return nil
	})
	return files, err
}

// flushed returns what has changed since the last call.
func (v *versions) flushed() []store.TargetVersion {
	all := make([]store.TargetVersion, 0, len(v.changed))
	for _, one := range v.changed {
		all = append(all, *one)
	}
	v.changed, v.written = nil, v.length
	return all
}

// isFile is whether an entry is a file, and neither a link nor a submodule.
func isFile(mode filemode.FileMode) bool {
	return mode == filemode.Regular || mode == filemode.Deprecated || mode == filemode.Executable
}

// eachFile calls f with the files below a folder.
func (m *mirror) eachFile(folder plumbing.Hash, name string, f func(name string, id plumbing.Hash) error) error {
	entries, err := m.folder(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(name, e.Name)
		switch {
		case e.Mode == filemode.Dir:
			err = m.eachFile(e.Hash, at, f)
		case isFile(e.Mode):
			err = f(at, e.Hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
