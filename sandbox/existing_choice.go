package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
)

// sources are where the chosen contexts are.
func (c Choice) sources() map[string]attached.Source {
	if len(c.Contexts) == 0 {
		return nil
	}
	all := map[string]attached.Source{}
	for name, context := range c.Contexts {
		all[name] = attached.Source{Files: c.Kubeconfig, Context: context}
	}
	return all
}

// checkContexts is a *UsageError for contexts that a new sandbox with this
// workshop cannot use. It finds the files of the kubeconfig.
func (c *Choice) checkContexts(h Home, w workshop) error {
	if len(c.Contexts) == 0 {
		return nil
	}
	if err := c.checkClusters(w); err != nil {
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
	if slices.ContainsFunc(c.Kubeconfig, func(f string) bool { return inside(string(h), f) }) {
		return &UsageError{in + " is the sandbox's own: let KUBECONFIG name the one of your clusters"}
	}
	contexts, err := attached.Contexts(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("the kubeconfig: %w", err)
	}
	if len(contexts) == 0 {
		return &UsageError{in + " has no contexts: let KUBECONFIG name the kubeconfig of your clusters"}
	}
	clusters := map[string]string{} // by context
	for _, name := range w.clusterNames() {
		context, given := c.Contexts[name]
		switch other := clusters[context]; {
		case !given:
		case !slices.Contains(contexts, context):
			var known *UsageError
			errors.As(unknown("context", context, contexts), &known)
			return &UsageError{known.Message + ", of " + in}
		case other != "":
			return &UsageError{fmt.Sprintf("the context %s cannot be both %s and %s: give another cluster for one of them, or let kalypso make it", context, other, name)}
		default:
			clusters[context] = name
		}
	}
	return nil
}

// checkClusters is a *UsageError for a cluster that the workshop has not.
func (c *Choice) checkClusters(w workshop) error {
	for name := range c.Contexts {
		if !slices.Contains(w.clusterNames(), name) {
			return unknown("cluster", name, w.clusterNames())
		}
	}
	return nil
}

// checkSameContexts is a *UsageError when a sandbox has other clusters than the
// chosen ones.
func (c *Choice) checkSameContexts(h Home, s *State) error {
	w, err := findWorkshop(s.Workshop)
	if err == nil {
		err = c.checkClusters(w)
	}
	if err != nil {
		return err
	}
	for _, name := range w.clusterNames() {
		wanted, given := c.Contexts[name]
		has, is := s.Existing[name]
		switch {
		case given && !is:
			return otherSandbox(h, fmt.Sprintf("a cluster %s that it has made itself", name))
		case given && has.Context != wanted:
			return otherSandbox(h, fmt.Sprintf("as cluster %s that of %s", name, has))
		}
	}
	return nil
}
