package state

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/workshop"
)

// The ways to get clusters.
const (
	ProviderEmbedded = "embedded" // processes of this machine; needs nothing
	ProviderKind     = "kind"     // containers of an engine such as Docker
)

// Providers returns the ways to get clusters.
func Providers() []string { return []string{ProviderEmbedded, ProviderKind} }

// Choice is what the user of `kalypso up` chooses of a new sandbox. One that is
// there keeps its own, which may only be repeated.
type Choice struct {
	Workshop string // as workshop.Open takes it; "" for the sandbox's own, or DefaultWorkshop
	Provider string // one of Providers; "" for ProviderEmbedded
	Image    string // of kind's nodes; "" for the one of this kalypso
	// Contexts are those of the user's kubeconfig that lead to clusters to be
	// attached in place of new ones, by the workshop's name of the cluster.
	Contexts map[string]string
	// Kubeconfig has the files of the user's kubeconfig; Check fills in those that
	// kubectl would take.
	Kubeconfig []string
	// Say gets what is done before there are components; may be nil.
	Say func(string)

	opened *workshop.Workshop // of Open; nil for one that comes with kalypso
	origin string             // where it came from
}

// Draft is the state of a new sandbox that is not on disk yet, without ports and
// secrets.
func (c Choice) Draft() (*State, error) {
	w := c.opened
	if w == nil {
		var err error
		if w, err = workshop.OpenBuiltin(cmp.Or(c.Workshop, DefaultWorkshop)); err != nil {
			return nil, err
		}
	}
	s := &State{
		Origin:   c.origin,
		ID:       randomHex(8),
		Workshop: w.Name,
		Provider: cmp.Or(c.Provider, ProviderEmbedded),
		Created:  time.Now().UTC().Truncate(time.Second),
		workshop: w,
	}
	for name, context := range c.Contexts {
		if s.Existing == nil {
			s.Existing = map[string]attached.Source{}
		}
		s.Existing[name] = attached.Source{Files: c.Kubeconfig, Context: context}
	}
	return s, nil
}

// Foreign returns the workshop of a choice that does not come with kalypso, nil for
// one that does. It is known after Open.
func (c *Choice) Foreign() *workshop.Workshop { return c.opened }

// Check returns a *usage.Error for a choice that makes no sense, or is another
// one than that of the sandbox in the home.
func (c *Choice) Check(h Home) error {
	draft, err := c.Draft()
	if err != nil {
		return err
	}
	switch {
	case c.Provider != "" && !slices.Contains(Providers(), c.Provider):
		return usage.Errorf("there is no provider %q: choose one of %s", c.Provider, joined(Providers()))
	case c.Image != "" && c.Provider != ProviderKind:
		return usage.Errorf("--image is of kind's nodes: give --provider kind, too")
	}
	s, err := h.Load()
	if errors.Is(err, ErrNoSandbox) {
		return c.checkContexts(h, draft)
	}
	if err != nil {
		return err
	}
	return c.checkSame(h, s)
}

// checkSame compares the choice with the sandbox that is there.
func (c *Choice) checkSame(h Home, s *State) error {
	if c.opened != nil && c.origin == s.Origin && !c.sameWorkshop(s) {
		return usage.Errorf("%s has changed since the sandbox in %s was made of it: `kalypso reset --workshop %s` begins again with it as it is now", c.origin, h, c.origin)
	}
	var has string
	switch {
	case c.Workshop != "" && !c.sameWorkshop(s):
		has = "the workshop " + s.madeOf()
	case c.Provider != "" && c.Provider != s.Provider:
		has = s.Provider + " clusters"
	case c.Image != "" && c.Image != s.NodeImage:
		has = "nodes of the image " + s.NodeImage
	}
	if err := c.checkClusters(s); err != nil && has == "" {
		return err
	}
	for _, name := range s.ClusterNames() {
		wanted, given := c.Contexts[name]
		attached, is := s.Existing[name]
		switch {
		case has != "" || !given:
		case !is:
			has = fmt.Sprintf("a cluster %s that it has made itself", name)
		case attached.Context != wanted:
			has = fmt.Sprintf("as cluster %s that of %s", name, attached)
		}
	}
	if has == "" {
		return nil
	}
	return usage.Errorf("the sandbox in %s holds %s: %s", h, has, h.removeHint())
}

// removeHint says how there can be another sandbox than the one that is there.
func (h Home) removeHint() string {
	remove := "kalypso down --delete"
	if _, err := os.Stat(h.Path("snapshots")); err == nil {
		remove += " --snapshots"
	}
	return "remove it with `" + remove + "`, or set KALYPSO_HOME to another folder"
}

// sameWorkshop says whether the sandbox was made of the chosen workshop, as it is
// now.
func (c *Choice) sameWorkshop(s *State) bool {
	if c.opened == nil || s.Origin == "" {
		return c.opened == nil && s.Origin == "" && c.Workshop == s.Workshop
	}
	return c.origin == s.Origin && c.opened.Equal(s.workshop)
}

func (s *State) madeOf() string {
	if s.Origin == "" {
		return s.Workshop
	}
	return fmt.Sprintf("%s of %s", s.Workshop, s.Origin)
}

// checkContexts looks for the chosen contexts in the user's kubeconfig.
func (c *Choice) checkContexts(h Home, s *State) error {
	if len(c.Contexts) == 0 {
		return nil
	}
	if err := c.checkClusters(s); err != nil {
		return err
	}
	if len(c.Kubeconfig) == 0 {
		files, err := attached.Files()
		if err != nil {
			return err
		}
		c.Kubeconfig = files
	}
	in := strings.Join(c.Kubeconfig, " and ")
	if slices.ContainsFunc(c.Kubeconfig, h.Contains) {
		return usage.Errorf("%s is the sandbox's own: let KUBECONFIG name the one of your clusters", in)
	}
	contexts, err := attached.Contexts(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("the kubeconfig: %w", err)
	}
	if len(contexts) == 0 {
		return usage.Errorf("%s has no contexts: let KUBECONFIG name the kubeconfig of your clusters", in)
	}
	clusters := map[string]string{} // by context
	for _, name := range s.ClusterNames() {
		context, given := c.Contexts[name]
		if !given {
			continue
		}
		if err := CheckName("context", context, contexts); err != nil {
			return usage.Errorf("%s, of %s", err, in)
		}
		if other := clusters[context]; other != "" {
			return usage.Errorf("the context %s cannot be both %s and %s: give another cluster for one of them, or let kalypso make it", context, other, name)
		}
		clusters[context] = name
	}
	return nil
}

func (c *Choice) checkClusters(s *State) error {
	for name := range c.Contexts {
		if err := s.CheckCluster(name); err != nil {
			return err
		}
	}
	return nil
}
