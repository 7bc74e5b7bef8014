// Package history has the command that shows what has happened to a deployment target.
package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/hub"
	"github.com/kalypso-dev/kalypso/internal/redact"
)

// Options are those of `kalypso history`.
type Options struct {
	*cmdutil.App
	Hub         hub.ClientFlags
	Target      string
	Environment string // "" for all
	Cluster     string // "" for all
	Output      cmdutil.Output
}

// newest is how many events are shown.
const newest = 100

// NewCommand makes `kalypso history`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "history TARGET",
		Short: "Show what has happened to a deployment target on the clusters",
		Long: `Show what has happened to a deployment target, the newest first: how it was on each
cluster, at which version, and which versions git asked for. TARGET is
WORKLOAD-TARGET, as "kalypso get targets" lists them. The newest ` + strconv.Itoa(newest) + ` are shown.

A hub has seen it. ` + hub.ClientHelp + `

Outputs:
  text  a table
  wide  a table with commits
  json  a list of what has happened, as the hub's API has it
  yaml  the same`,
		Example: `  kalypso history hello-world-functional-test
  kalypso history hello-world-functional-test -e dev --cluster drone
  kalypso history kaizen-app-east --hub https://hub.example.com -o json`,
		Args: cmdutil.ExactArgs("TARGET"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Target = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVarP(&o.Environment, "environment", "e", "", "only of `ENVIRONMENT`")
	c.Flags().StringVar(&o.Cluster, "cluster", "", "only what has happened on `CLUSTER`")
	o.Hub.Register(c)
	o.Output.AddTo(c, "text", "wide", "json", "yaml")
	names := func(path, field string, query url.Values) cmdutil.Candidates {
		return func(ctx context.Context) ([]string, error) { return o.names(ctx, path, field, query) }
	}
	most := url.Values{"limit": {"500"}}
	c.ValidArgsFunction = cmdutil.Complete(false, names("/placements", "target", most))
	cmdutil.CompleteFlag(c, "environment", names("/environments", "name", nil))
	cmdutil.CompleteFlag(c, "cluster", names("/clusters", "name", most))
	return c
}

// names are those of the first page of a list of the hub.
func (o *Options) names(ctx context.Context, path, field string, query url.Values) ([]string, error) {
	client, err := o.Hub.Client(ctx, o.App)
	if err != nil {
		return nil, err
	}
	var found struct{ Items []map[string]any }
	if err := client.Get(ctx, path, query, &found); err != nil {
		return nil, err
	}
	var all []string
	for _, item := range found.Items {
		if name, ok := item[field].(string); ok && name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Run shows the history.
func Run(ctx context.Context, o *Options) error {
	client, err := o.Hub.Client(ctx, o.App)
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(newest)}}
	for name, value := range map[string]string{"env": o.Environment, "cluster": o.Cluster} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var found struct {
		Items []json.RawMessage
		Next  string
	}
	if err := client.Get(ctx, "/targets/"+url.PathEscape(o.Target)+"/history", query, &found); err != nil {
		return err
	}
	if found.Next != "" {
		o.Messagef("note: these are the newest %d; the hub's pages and its API have all", newest)
	}
	if len(found.Items) == 0 {
		o.Messagef("Nothing was seen of %s there yet.", o.Target)
	}
	return o.Output.Print(o.App, found.Items, func() error {
		var table strings.Builder
		if err := printTable(&table, found.Items, o.Output.String() == "wide"); err != nil {
			return err
		}
		_, err := io.WriteString(o.Out, redact.Text(table.String()))
		return err
	})
}

func printTable(out io.Writer, items []json.RawMessage, wide bool) error {
	if len(items) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	line := func(commit string, cells ...string) {
		if wide {
			cells = append(cells, commit)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	line("COMMIT", "AT", "ENVIRONMENT", "CLUSTER", "STATE", "VERSION", "REASON")
	for _, item := range items {
		var e api.TargetEvent
		if err := json.Unmarshal(item, &e); err != nil {
			return fmt.Errorf("the hub's answer: %w", err)
		}
		state, version := step(string(e.FromState), string(e.ToState)), step(e.FromVersion, e.ToVersion)
		if e.Kind == "version" {
			state, version = "asked for", e.ToVersion
		}
		line(cmp.Or(e.ToCommit, "-"), e.At.Local().Format(time.DateTime), e.Environment, cmp.Or(e.Cluster, "-"), state, version, cmp.Or(strings.Join(strings.Fields(e.Reason), " "), "-"))
	}
	return t.Flush()
}

// step is what something has become, and what it was where that differs.
func step(from, to string) string {
	if from == to || from == "" {
		return cmp.Or(to, "-")
	}
	return from + " → " + cmp.Or(to, "gone")
}
