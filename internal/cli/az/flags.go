package az

import (
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// global are the flags that all commands of Azure's have.
type global struct {
	output       string
	query        string
	subscription string
	cloud        string
}

func (g *global) addTo(f *pflag.FlagSet) {
	f.StringVarP(&g.output, "output", "o", "json", "json, jsonc, table, tsv, yaml or none")
	f.StringVar(&g.query, "query", "", "JMESPath query on what is printed")
	f.StringVar(&g.subscription, "subscription", "", "ID of the subscription")
	f.StringVar(&g.cloud, "cloud", "", "Azure itself instead of the sandbox: AzurePublic, AzureGovernment, AzureChina, or the https:// URL of a Resource Manager")
	for _, name := range []string{"verbose", "debug", "only-show-errors"} {
		f.Bool(name, false, "taken, and without effect here")
	}
}

// separator stands between the values of a flag that takes several. It is no
// character that a value has.
const separator = "\x1f"

// splitArgs makes of a command line of Azure's one that our flags understand.
// Azure's differ in two ways: some take all values up to the next flag
// (--kustomization name=a path=b), and truth values may follow after a space
// (--suspend false).
func splitArgs(args []string) []string {
	several := []string{"--kustomization", "-k"}
	truth := []string{"--suspend", "--force", "--yes", "-y", "--no-wait"}
	var out []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case slices.Contains(several, arg):
			from := i + 1
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
			if from <= i {
				arg = "--kustomization=" + strings.Join(args[from:i+1], separator)
			}
			out = append(out, arg)
		case slices.Contains(truth, arg) && i+1 < len(args) && isTruth(args[i+1]):
			out = append(out, arg+"="+strings.ToLower(args[i+1]))
			i++
		default:
			out = append(out, arg)
		}
	}
	return out
}

func isTruth(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }

// aliases are the other names of flags.
func aliases(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "sync-interval":
		name = "interval"
	case "ns":
		name = "namespace"
	case "local-ref":
		name = "local-auth-ref"
	}
	return pflag.NormalizedName(name)
}

// required marks flags that must be given.
const required = "kalypso_az_required"

func require(c *cobra.Command, names ...string) {
	for _, name := range names {
		// every name is one that the command has just defined
		_ = c.Flags().SetAnnotation(name, required, []string{"true"})
	}
}

func missing(c *cobra.Command) string {
	var missing []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[required] != nil && !f.Changed {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name += "/-" + f.Shorthand
			}
			missing = append(missing, name)
		}
	})
	return strings.Join(missing, ", ")
}

// seconds reads a duration such as 10s or 1h5m; nil for one that is not
// given.
func seconds(flag, text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return nil, usage.Errorf("%s %q is no duration: write it like 10s or 1h5m", flag, text)
	}
	n := int64(d / time.Second)
	return &n, nil
}
