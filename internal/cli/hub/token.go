package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/spf13/cobra"
)

// tokenOptions are those of the commands below `kalypso hub token`.
type tokenOptions struct {
	Options
	Name   string // of the token
	Token  store.Token
	Valid  string // an age
	Output cmdutil.Output
}

// newToken makes `kalypso hub token`.
func newToken(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "token",
		Short: "Let scripts use the API of a hub",
		Long: `Tokens let scripts use the API of a hub, as "Authorization: Bearer TOKEN". The
commands write to the database that the hub's configuration names, whether the
hub runs or not.`,
	}, newTokenCreate(a, createToken), newTokenList(a, listTokens), newTokenRevoke(a, revokeToken))
}

// config adds the flag that names the hub.
func (o *tokenOptions) config(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&o.Config, "config", "", "the hub's configuration file (default the running sandbox's hub)")
	return c
}

// open opens the hub's database.
func (o *tokenOptions) open(ctx context.Context) (*store.Store, error) {
	if o.Config != "" {
		config, err := hub.LoadConfig(o.Config)
		if err != nil {
			return nil, err
		}
		return config.OpenStore(ctx)
	}
	home, err := o.Home()
	if err != nil {
		return nil, err
	}
	return openSandbox(ctx, home)
}

func newTokenCreate(a *cmdutil.App, run func(context.Context, *tokenOptions) error) *cobra.Command {
	o := &tokenOptions{Options: Options{App: a}}
	c := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make a token, and print it once",
		Long: `Make a token, and print it. It is not shown again: the database has its digest.

The roles are
  viewer    sees what runs where, in the workspaces and environments that are named
  proposer  proposes changes there, too
  operator  sees all, and manages tokens

With --cluster the token is for "kalypso hub agent" in that cluster: it may
report of it, and nothing else. Its name is agent-CLUSTER if none is given.`,
		Example: `  kalypso hub token create dashboard --role viewer --expires 30d
  kalypso hub token create team --workspace kaizen-app-team --environment dev --environment stage
  kalypso hub token create ci --config hub.yaml
  kalypso hub token create --cluster store-17 --expires 365d --config hub.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if o.Token.Cluster != "" && len(args) == 0 {
				return nil
			}
			return cmdutil.ExactArgs("name")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.Token.Name = "agent-" + o.Token.Cluster; len(args) > 0 {
				o.Token.Name = args[0]
			}
			if o.Token.Cluster != "" {
				if c.Flags().Changed("role") {
					return usage.New("--cluster makes the token of an agent: leave --role out")
				}
				o.Token.Role = roleAgent
			}
			valid, err := hub.ParseAge(o.Valid)
			if err != nil {
				return usage.Errorf("--expires %v", err)
			}
			o.Token.Expires = time.Now().Add(time.Duration(valid)).UTC()
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Token.Role, "role", roleViewer, strings.Join(roles, " or "))
	cmdutil.CompleteFlag(c, "role", cmdutil.Known(roles...))
	c.Flags().StringVar(&o.Valid, "expires", "30d", "when it ends, such as 30d or 12h from now")
	c.Flags().StringVar(&o.Token.Cluster, "cluster", "", "`NAME` of the cluster whose agent the token is for")
	c.Flags().StringArrayVar(&o.Token.Scope.Workspaces, "workspace", nil, "see only this workspace; may be repeated")
	c.Flags().StringArrayVar(&o.Token.Scope.Environments, "environment", nil, "see only this environment; may be repeated")
	o.Output.AddTo(c, "text", "json")
	return o.config(c)
}

// The roles that a token can have.
const (
	roleViewer   = string(auth.Viewer)
	roleProposer = string(auth.Proposer)
	roleOperator = string(auth.Operator)
	roleAgent    = string(auth.Agent)
)

var roles = []string{roleViewer, roleProposer, roleOperator}

func createToken(ctx context.Context, o *tokenOptions) error {
	scoped := len(o.Token.Scope.Workspaces)+len(o.Token.Scope.Environments) > 0
	switch {
	case o.Token.Cluster != "" && scoped:
		return usage.New("--cluster is all that an agent reports of: leave --workspace and --environment out")
	case o.Token.Cluster == "" && !slices.Contains(roles, o.Token.Role):
		return usage.Errorf("--role %q: choose %s", o.Token.Role, strings.Join(roles, " or "))
	case o.Token.Role == roleOperator && scoped:
		return usage.New("--role operator sees all: leave --workspace and --environment out")
	}
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	secret, err := s.CreateToken(ctx, o.Token)
	if err != nil {
		return err
	}
	created := createdToken{tokenOf(o.Token), secret}
	return o.Output.Print(o.App, created, func() error {
		o.Messagef("Token %s, for %s until %s. It is not shown again:", o.Token.Name, o.Token.Role, o.Token.Expires.Format(time.DateTime))
		_, err := fmt.Fprintln(o.Out, secret)
		return err
	})
}

// The JSON of tokens.
type (
	tokenDocument struct {
		Name         string    `json:"name"`
		Role         string    `json:"role"`
		Workspaces   []string  `json:"workspaces,omitempty"`
		Environments []string  `json:"environments,omitempty"`
		Cluster      string    `json:"cluster,omitempty"` // of an agent
		Expires      time.Time `json:"expires"`
	}
	createdToken struct {
		tokenDocument
		Secret string `json:"secret"`
	}
)

func tokenOf(t store.Token) tokenDocument {
	return tokenDocument{t.Name, t.Role, t.Scope.Workspaces, t.Scope.Environments, t.Cluster, t.Expires}
}

func newTokenList(a *cmdutil.App, run func(context.Context, *tokenOptions) error) *cobra.Command {
	o := &tokenOptions{Options: Options{App: a}}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens of a hub, without their secrets",
		Example: `  kalypso hub token list`,
		Args:    cmdutil.ExactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	return o.config(c)
}

func listTokens(ctx context.Context, o *tokenOptions) error {
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	list := []tokenDocument{}
	for _, t := range all {
		list = append(list, tokenOf(t))
	}
	if len(list) == 0 {
		o.Messagef("There are no tokens.")
	}
	return o.Output.Print(o.App, list, func() error {
		if len(list) == 0 {
			return nil
		}
		w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tROLE\tWORKSPACES\tENVIRONMENTS\tEXPIRES")
		for _, t := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Name, t.Role, orAll(t.Workspaces), orAll(t.Environments), t.Expires.Format(time.DateTime))
		}
		return w.Flush()
	})
}

func orAll(names []string) string {
	if len(names) == 0 {
		return "<all>"
	}
	return strings.Join(names, ",")
}

func newTokenRevoke(a *cmdutil.App, run func(context.Context, *tokenOptions) error) *cobra.Command {
	o := &tokenOptions{Options: Options{App: a}}
	c := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a token now",
		Example: `  kalypso hub token revoke dashboard`,
		Args:    cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	return o.config(c)
}

func revokeToken(ctx context.Context, o *tokenOptions) error {
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.RevokeToken(ctx, o.Name); err != nil {
		return err
	}
	o.Messagef("Token %s is revoked.", o.Name)
	return nil
}
