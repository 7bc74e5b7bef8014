package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Environment is all that is known of one environment: typed objects, each
// with its position, sorted by name; names are unique within a kind. It does
// not depend on the order in which files or repositories were read.
type Environment struct {
	Name         string
	ControlPlane Reference  // the environment's branch
	GitOps       Reference  // where generated manifests go; zero when unknown
	GitOpsRepo   GitOpsRepo // says so
	BaseRepos    []BaseRepo
	Promoted     string // the commit that pins the base repository, "" when none or not there

	ClusterTypes  []ClusterType
	Policies      []SchedulingPolicy
	Configs       []PlatformConfig // also those that are unreadable
	ConfigSchemas []ConfigSchema   // likewise, and then with an empty schema
	Templates     []Template
	Registrations []WorkloadRegistration
	Workloads     []Workload
	Rollouts      []Rollout // one for a cluster type at most

	// Diagnostics are sorted by position. Each error stands for something that
	// was left out.
	Diagnostics []Diagnostic
	// Blank are about files, which are among Diagnostics, too, and objects that hold
	// nothing. Their content may have been lost.
	Blank []Diagnostic
	// Sources are the repositories this environment was read from, each with
	// the commit that was read, sorted. One that does not exist is among them,
	// without a commit unless one was asked for: a push may create it.
	Sources []Reference
	// Unreadable are errors of reading workloads' repositories that were left out
	// for that, see [Tolerant].
	Unreadable []error

	// Incomplete says that something in the sources could not be read or
	// understood, or holds nothing. Then an object's absence does not mean that it was removed.
	Incomplete bool
	// ConfigIncomplete says that a platform ConfigMap may be missing. One that
	// is among Configs as unreadable is not.
	ConfigIncomplete bool
	// SchemasIncomplete says the same of ConfigSchemas: then no configuration is
	// known to be valid.
	SchemasIncomplete bool
	// BaseUnreadable says that a base repository that the branch names could not
	// be read. Then what other objects refer to may still exist.
	BaseUnreadable bool
}

// LoadEnvironment reads one environment: its branch of the control plane, the
// base repository that the branch names, and the repositories of all workloads
// that are registered. A repository, branch or commit that does not exist
// becomes a diagnostic; any other read error is returned, and then there is no
// model at all, but see [Tolerant].
func LoadEnvironment(ctx context.Context, r Reader, name string, controlPlane Reference, options ...Option) (*Environment, error) {
	return new(Loader).Load(ctx, r, name, controlPlane, options...)
}

// LoadEnvironments reads the Environment objects at or below a folder of a
// tree, which is that of the control plane's default branch. They come sorted
// by name, with what is wrong about them. Those in .environments/ count
// whatever an ignore file says.
func LoadEnvironments(tree *Tree, path string) ([]EnvironmentObject, []Diagnostic) {
	return newParseCache(nil).environments(tree, path)
}

// LoadControlPlane does what LoadEnvironments and LoadFiles do, and parses the
// files once.
func LoadControlPlane(tree *Tree, path string) ([]EnvironmentObject, []Diagnostic, *Environment) {
	parsed := newParseCache(nil)
	environments, diagnostics := parsed.environments(tree, path)
	return environments, diagnostics, newParseCache(parsed).files(tree, path)
}

func (m *parseCache) environments(tree *Tree, path string) ([]EnvironmentObject, []Diagnostic) {
	var c collection
	for _, doc := range m.documents(tree, path, &c.findings, nil) {
		if doc.kind == v1alpha1.KindEnvironment {
			c.add(doc)
		}
	}
	c.addIgnoredEnvironments(tree, path)
	environments := sorted(unique(v1alpha1.KindEnvironment, c.environments, &c.findings))
	// An empty file need not have held one.
	c.findings.diagnostics = slices.DeleteFunc(c.findings.diagnostics, func(d Diagnostic) bool { return slices.Contains(c.findings.blank, d) })
	return environments, sortDiagnostics(c.findings.diagnostics)
}

// addIgnoredEnvironments adds the Environment objects that an ignore file hides.
// Control planes name their .environments/ there, because Flux applies it by an
// inclusion of its own and everything else by the ignore file.
func (c *collection) addIgnoredEnvironments(tree *Tree, path string) {
	for _, p := range parsedFiles(tree, ignoredEnvironments(tree, path), nil, maxOwnIndicators) {
		c.findings.join(p.findings)
		for _, doc := range p.documents {
			if doc.kind == v1alpha1.KindEnvironment {
				c.add(doc)
			}
		}
	}
}

// LoadGitOps returns where an environment publishes to: what its one GitOpsRepo at
// or below a folder of a tree names, which is that of the environment's branch, and
// the zero Reference where that cannot be known.
func LoadGitOps(tree *Tree, folder string) Reference {
	var c collection
	// Of the other files only those that say what is ignored matter.
	few := *tree
	few.Files = maps.Clone(tree.Files)
	maps.DeleteFunc(few.Files, func(name string, content []byte) bool {
		return !strings.HasPrefix(path.Base(name), ".") && !bytes.Contains(content, []byte(v1alpha1.KindGitOpsRepo))
	})
	for _, doc := range newParseCache(nil).documents(&few, folder, &c.findings, nil) {
		if doc.kind == v1alpha1.KindGitOpsRepo {
			c.add(doc)
		}
	}
	if repos := unique(v1alpha1.KindGitOpsRepo, c.gitOps, &c.findings); len(repos) == 1 {
		return reference(repos[0].Spec.RepositoryFolder)
	}
	return Reference{}
}

// LoadBases returns the base repositories that an environment names at or below a folder of a
// tree, which is that of its branch.
func LoadBases(tree *Tree, folder string) []BaseRepo {
	var c collection
	for _, doc := range newParseCache(nil).documents(tree, folder, &c.findings, nil) {
		if doc.kind == v1alpha1.KindBaseRepo {
			c.add(doc)
		}
	}
	return sorted(unique(v1alpha1.KindBaseRepo, c.bases, &c.findings))
}

type loader struct {
	reads      *reads
	env        *Environment
	all        collection
	cache      *parseCache
	folders    []readFolder
	substitute substitution
}

func (l *loader) load(ctx context.Context) error {
	if err := l.loadBranch(ctx); err != nil {
		return err
	}
	if err := l.loadBases(ctx); err != nil {
		return err
	}
	l.keepObjects()
	if err := l.loadWorkloads(ctx); err != nil {
		return err
	}
	f := &l.all.findings
	l.env.Diagnostics, l.env.Blank = sortDiagnostics(f.diagnostics), sortDiagnostics(f.blank)
	l.env.Incomplete, l.env.ConfigIncomplete, l.env.SchemasIncomplete = f.incomplete, f.configIncomplete, f.schemasIncomplete
	slices.SortFunc(l.env.Sources, compareReferences)
	l.env.Sources = slices.Compact(l.env.Sources)
	return nil
}

func (l *loader) loadBranch(ctx context.Context) error {
	ref := l.env.ControlPlane
	tree, err := l.read(ctx, ref)
	if err != nil {
		return err
	}
	at := Position{Repo: redact.URL(ref.Repo), Branch: ref.Branch, File: CleanFolder(ref.Path)}
	if tree == nil {
		l.all.findings.add("", notFound(ref, at))
		return nil
	}
	for _, doc := range l.documents(tree, ref.Path) {
		l.all.add(doc)
	}
	l.env.BaseUnreadable = l.all.findings.basesIncomplete
	l.chooseGitOps(at)
	l.all.bases = sorted(unique(v1alpha1.KindBaseRepo, l.all.bases, &l.all.findings))
	l.env.BaseRepos = l.all.bases
	if len(l.all.bases) == 0 {
		l.all.findings.add("", missingObject(v1alpha1.KindBaseRepo, at, "templates and workload registrations come from there"))
	}
	return nil
}

// chooseGitOps takes the environment's one GitOpsRepo, and none of several.
func (l *loader) chooseGitOps(branch Position) {
	repos := unique(v1alpha1.KindGitOpsRepo, l.all.gitOps, &l.all.findings)
	switch len(repos) {
	case 0:
		l.all.findings.add(v1alpha1.KindGitOpsRepo, missingObject(v1alpha1.KindGitOpsRepo, branch, "generated manifests go there"))
	case 1:
		l.env.GitOpsRepo, l.env.GitOps = repos[0], reference(repos[0].Spec.RepositoryFolder)
	default:
		for _, repo := range repos[1:] {
			l.all.findings.add(v1alpha1.KindGitOpsRepo, errorAt(DuplicateObject, repo.Position, "remove one of them; until then nothing is generated",
				"an environment has one GitOpsRepo, and there is one at %s", repos[0].Position))
		}
	}
}

// loadBases reads what the environment takes from base repositories. Their
// own Environment, BaseRepo and GitOpsRepo objects are not this environment's.
func (l *loader) loadBases(ctx context.Context) error {
	promoted := l.promotedBase()
	for i, base := range l.all.bases {
		ref := reference(base.Spec.RepositoryFolder)
		ref.Commit = base.Spec.Commit
		ref, err := l.substituted(ctx, v1alpha1.KindBaseRepo, base.Name, ref)
		if err != nil {
			return err
		}
		tree, err := l.read(ctx, ref)
		if isInput(err) {
			l.all.findings.add("", l.reads.leftOut(ref, err, base.At("spec", "repo")))
			l.env.BaseUnreadable = true
			continue
		}
		if err != nil {
			return err
		}
		if tree == nil {
			field := "repo"
			if ref.Commit != "" {
				field = "commit"
			}
			l.all.findings.add("", notFound(ref, base.At("spec", field)))
			l.env.BaseUnreadable = true
			continue
		}
		if i == promoted {
			l.env.Promoted = base.Spec.Commit
		}
		for _, doc := range l.documents(tree, ref.Path) {
			switch doc.kind {
			case v1alpha1.KindEnvironment, v1alpha1.KindBaseRepo, v1alpha1.KindGitOpsRepo:
			default:
				l.all.add(doc)
			}
		}
	}
	return nil
}

// MainBase is the name of the base repository whose commit is promoted.
const MainBase = "main"

// promotedBase returns the index of the base whose commit is promoted: the
// main one's where that has one, else the first there is. It is -1 for none, and
// when the main one may be among those that could not be read.
func (l *loader) promotedBase() int {
	pinned := func(base BaseRepo) bool { return base.Spec.Commit != "" }
	main := slices.IndexFunc(l.all.bases, func(base BaseRepo) bool { return base.Name == MainBase && pinned(base) })
	if main >= 0 || l.env.BaseUnreadable {
		return main
	}
	return slices.IndexFunc(l.all.bases, pinned)
}

// keepObjects moves what was collected into the environment. Before sorting,
// the order is that of reading: the branch before the bases, files by path.
func (l *loader) keepObjects() {
	e, c, f := l.env, &l.all, &l.all.findings
	e.ClusterTypes = sorted(unique(v1alpha1.KindClusterType, c.clusterTypes, f))
	e.Policies = sorted(unique(v1alpha1.KindSchedulingPolicy, c.policies, f))
	e.Configs = sorted(unique(kindConfigMap, c.configs, f))
	e.ConfigSchemas = sorted(unique(v1alpha1.KindConfigSchema, c.configSchemas, f))
	e.Templates = sorted(unique(v1alpha1.KindTemplate, c.templates, f))
	e.Registrations = sorted(unique(v1alpha1.KindWorkloadRegistration, c.registrations, f))
	e.Rollouts = oneOfEach(sorted(unique(v1alpha1.KindRollout, c.rollouts, f)), f)
}

// read reads a reference and remembers it as a source. It returns nil without
// an error when it does not exist.
func (l *loader) read(ctx context.Context, ref Reference) (*Tree, error) {
	tree, err := l.reads.read(ctx, ref)
	if err != nil {
		source := ref
		if limit, ok := errors.AsType[*LimitError](err); ok {
			source.Commit = cmp.Or(ref.Commit, limit.Commit)
		}
		l.env.Sources = append(l.env.Sources, source) // a push may mend it
		return nil, err
	}
	source := ref
	if tree != nil {
		source.Commit = tree.Commit
		// A tree read by commit need not know how it was asked for, and
		// positions have the branch, which users know.
		named := *tree
		named.Repo, named.Branch = ref.Repo, ref.Branch
		tree = &named
	}
	l.env.Sources = append(l.env.Sources, source)
	return tree, nil
}

// LoadFiles reads the objects at or below a folder of a tree, each for itself:
// nothing that they name is looked for. What comes back has no name and is no
// environment to plan; it is for checking a change that no environment has yet.
func LoadFiles(tree *Tree, folder string) *Environment { return newParseCache(nil).files(tree, folder) }

func (m *parseCache) files(tree *Tree, folder string) *Environment {
	l := &loader{env: new(Environment), cache: m}
	c := &l.all
	for _, doc := range l.cache.documents(tree, folder, &c.findings, &c.findings) {
		c.add(doc)
	}
	c.addIgnoredEnvironments(tree, folder)
	unique(v1alpha1.KindEnvironment, c.environments, &c.findings)
	unique(v1alpha1.KindBaseRepo, c.bases, &c.findings)
	unique(v1alpha1.KindGitOpsRepo, c.gitOps, &c.findings)
	l.keepObjects()
	l.env.Diagnostics, l.env.Blank = sortDiagnostics(c.findings.diagnostics), sortDiagnostics(c.findings.blank)
	return l.env
}

// Option changes how LoadEnvironment reads.
type Option func(*loader)

// substitution says what is read instead of what an object refers to.
type substitution func(ctx context.Context, kind, name string, ref Reference) (Reference, error)

// Substitute replaces where a BaseRepo's and a WorkloadRegistration's content is
// read, for example by a local folder: f gets the object's
// kind and name with what it refers to, and returns what is read instead. It
// is called once for every such object, one after the other; an error ends
// LoadEnvironment.
//
// The objects themselves, and so what the environment says about them, do not
// change. Positions are where they were read.
func Substitute(f func(ctx context.Context, kind, name string, ref Reference) (Reference, error)) Option {
	return func(l *loader) { l.substitute = f }
}

// Tolerant leaves out workloads whose repositories cannot be read, whatever the
// error, as if they were too large. reason words an error for the diagnostic, in the
// same words for the same reason, and says what to do.
func Tolerant(reason func(error) (what, hint string)) Option {
	return func(l *loader) { l.reads.reason = reason }
}

func (l *loader) substituted(ctx context.Context, kind, name string, ref Reference) (Reference, error) {
	if l.substitute == nil {
		return ref, nil
	}
	instead, err := l.substitute(ctx, kind, name, ref)
	if err != nil {
		return Reference{}, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return instead, nil
}
