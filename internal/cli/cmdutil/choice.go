package cmdutil

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// AddChoice adds the flags that say which sandbox is wanted.
func AddChoice(c *cobra.Command, o *sandbox.Choice) {
	c.Flags().StringVar(&o.Workshop, "workshop", "", "the workshop that is wanted: "+WorkshopHelp()+" (default "+sandbox.DefaultWorkshop+")")
	c.Flags().StringVar(&o.Provider, "provider", "", "how the clusters are made: "+strings.Join(state.Providers(), " or ")+", which needs Docker or podman (default "+sandbox.ProviderEmbedded+")")
	c.Flags().StringVar(&o.Image, "image", "", "the image of kind's nodes (default: what make kind-node-image has built, or kind's own)")
	c.Flags().Var(contexts{&o.Contexts}, "cluster", "use a cluster that you have, by its context in your kubeconfig; may be repeated")
	CompleteFlag(c, "workshop", Known(workshop.Builtin()...))
	CompleteFlag(c, "provider", Known(state.Providers()...))
}

// ChoiceFlags are the flags of [AddChoice] that lead to a choice, each after a blank.
func ChoiceFlags(o sandbox.Choice) string {
	var b strings.Builder
	for _, flag := range []struct{ name, value string }{{"workshop", o.Workshop}, {"provider", o.Provider}, {"image", o.Image}} {
		if flag.value != "" {
			fmt.Fprintf(&b, " --%s %s", flag.name, flag.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Contexts)) {
		fmt.Fprintf(&b, " --cluster %s=%s", name, o.Contexts[name])
	}
	return b.String()
}

// contexts is the flag --cluster, which may be repeated.
type contexts struct{ of *map[string]string }

func (c contexts) String() string { return "" }
func (c contexts) Type() string   { return "NAME=CONTEXT" }

func (c contexts) Set(text string) error {
	name, context, ok := strings.Cut(text, "=")
	if !ok || name == "" || context == "" {
		return errors.New("write NAME=CONTEXT, such as store=my-cluster: the workshop's name of the cluster, and the context in your kubeconfig that leads to yours")
	}
	if has, twice := (*c.of)[name]; twice && has != context {
		return fmt.Errorf("%s is given twice, as %s and as %s", name, has, context)
	}
	if *c.of == nil {
		*c.of = map[string]string{}
	}
	(*c.of)[name] = context
	return nil
}
