package edit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// proposeFlags say whether and where a pull request is opened.
type proposeFlags struct {
	propose, dryRun              bool
	config, title, text, confirm string
}

func (f *proposeFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&f.propose, "propose", false, "open a pull request with the edit")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what a pull request would change, and open none")
	flags.StringVar(&f.config, "config", "", "scheduler's or hub's configuration `FILE` with the forge and the control planes (default the running sandbox's)")
	flags.StringVar(&f.title, "title", "", "`TITLE` of the pull request")
	flags.StringVar(&f.text, "text", "", "`TEXT` of the pull request")
	flags.StringVar(&f.confirm, "confirm", "", "name of the `ENVIRONMENT`, where most assignments would be removed")
}

func (f *proposeFlags) wanted() bool { return f.propose || f.dryRun }

// check refuses flags that have no effect together.
func (f *proposeFlags) check(c *cobra.Command) error {
	if f.wanted() {
		for _, name := range []string{"write", "control-plane", "branch", "base", "workload", "gitops", "allow-host"} {
			if c.Flags().Changed(name) {
				return usage.Errorf("a pull request is made from what the forge has: leave --%s out", name)
			}
		}
		return nil
	}
	for _, name := range []string{"config", "title", "text", "confirm"} {
		if c.Flags().Changed(name) {
			return usage.Errorf("--%s is of a pull request: add --propose or --dry-run", name)
		}
	}
	return nil
}

// propose prints what the edits would change, and opens the pull request.
func (o *Options) propose(ctx context.Context) error {
	config, author, err := o.author()
	if err != nil {
		return err
	}
	platform := propose.Live{Forge: author.Forge, Planes: config.Planes()}
	made, err := o.plan(ctx, platform)
	if err != nil {
		return ofForge(err)
	}
	if err := print(o.Out, made.Plan); err != nil {
		return err
	}
	if o.Propose.dryRun {
		return nil
	}
	if !made.Plan.Changed {
		o.Messagef("There is nothing to propose.")
		return nil
	}
	if m := made.Plan.MassRemoval; m != nil && o.Propose.confirm != made.Plan.Environment {
		return usage.Errorf("this removes %d of %d assignments: if that is meant, add --confirm %s", m.Count, m.Of, made.Plan.Environment)
	}
	title := o.Propose.title
	if title == "" {
		title = defaultTitle(o.Edits)
	}
	secret := ""
	if config.WebhookSecret != "" || config.WebhookSecretFile != "" {
		if secret, err = config.Secret(); err != nil {
			return err
		}
	}
	if secret == "" && !author.Own {
		o.Messagef("The configuration has no webhookSecret: a hub cannot know that this is proposed by %s, and lets its status %s wait.", author.Name, propose.FourEyes)
	}
	proposer := propose.Proposer{Key: propose.NewKey(secret)}
	proposal, created, err := proposer.Propose(ctx, author, made, title, o.Propose.text)
	if err != nil {
		return ofForge(err)
	}
	if !created {
		o.Messagef("The pull request was open already.")
	}
	if proposal.FourEyes {
		o.Messagef("It waits for the approval of somebody else: see the status %s.", propose.FourEyes)
	}
	_, err = fmt.Fprintln(o.Out, proposal.URL)
	return err
}

// author is who proposes: in the sandbox its user, elsewhere the account of the configuration, on
// whose behalf the pull request is then.
func (o *Options) author() (controller.Config, propose.Author, error) {
	log := slog.New(slog.NewTextHandler(o.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if o.Propose.config != "" {
		config, err := hub.LoadScheduler(o.Propose.config)
		if err != nil {
			return config, propose.Author{}, err
		}
		author := propose.Author{Name: "somebody"}
		if who, err := user.Current(); err == nil {
			author.Name = who.Username
		}
		author.Forge, err = config.Connect(log, nil)
		return config, author, err
	}
	home, err := o.Home()
	if err != nil {
		return controller.Config{}, propose.Author{}, err
	}
	config, err := controller.LoadOnceConfig(sandbox.HubScheduler(home))
	if errors.Is(err, os.ErrNotExist) {
		return config, propose.Author{}, usage.New("which forge? Name a configuration with --config FILE, or run `kalypso up` to use the sandbox's")
	}
	if err != nil {
		return config, propose.Author{}, err
	}
	c, err := sandbox.GetCredentials(home)
	if err != nil {
		return config, propose.Author{}, err
	}
	f, err := config.ConnectAs(strings.TrimSpace(c.Token), c.User, log)
	return config, propose.Author{Name: c.User, Forge: f, Own: true}, err
}

// plan is what the edits would do in the environment that is named, or in the only one that has
// what they edit.
func (o *Options) plan(ctx context.Context, platform propose.Live) (*propose.Made, error) {
	planner := propose.NewPlanner(platform)
	request := propose.Request{Environment: o.Model.Environment, Edits: o.Edits, Against: propose.Planned}
	if request.Environment != "" {
		return planner.Plan(ctx, request)
	}
	names, err := platform.Names(ctx)
	if err != nil {
		return nil, err
	}
	var found []*propose.Made
	var missing error
	var in []string
	for _, name := range names {
		request.Environment = name
		made, err := planner.Plan(ctx, request)
		if e, ok := errors.AsType[*edit.Error](err); ok && e.Missing {
			missing = err
			continue
		}
		if err != nil {
			return nil, err
		}
		found, in = append(found, made), append(in, name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && missing != nil:
		return nil, missing
	}
	return nil, usage.Errorf("which environment? Give -e: %s", strings.Join(in, " or "))
}

// ofForge marks the error of a forge that has refused the account.
func ofForge(err error) error {
	if errors.Is(err, gitclient.ErrDenied) {
		return cmdutil.Classify(err, &source.Error{Err: source.ErrCredentials, Hint: "the token must be allowed to push to the control plane, and to open pull requests there"})
	}
	return err
}

// print writes a plan for users.
func print(w io.Writer, p propose.Plan) error {
	var out strings.Builder
	s := cmdutil.NewStyle(w)
	fmt.Fprintf(&out, "%s\n", s.Bold(fmt.Sprintf("# Environment %s: %s", p.Environment, p.Summary)))
	for _, f := range p.Source.Files {
		fmt.Fprintf(&out, "%s %s\n", f.Change, f.Path)
	}
	for _, part := range []struct {
		mark  string
		paint func(string) string
		list  []propose.Assignment
		count int
	}{
		{"+", s.Good, p.Assignments.Gained, p.Assignments.GainedCount},
		{"-", s.Bad, p.Assignments.Lost, p.Assignments.LostCount},
		{"~", s.Warn, p.Assignments.Changed, p.Assignments.ChangedCount},
	} {
		for _, a := range part.list {
			by := ""
			if len(a.Policies) > 0 {
				by = s.Faint("  by " + strings.Join(a.Policies, ", "))
			}
			fmt.Fprintf(&out, "%s%s\n", part.paint(part.mark+" "+a.ClusterType+"/"+a.Target), by)
		}
		if more := part.count - len(part.list); more > 0 {
			fmt.Fprintf(&out, "%s and %d more\n", part.mark, more)
		}
	}
	for _, f := range p.Findings {
		if f.New {
			fmt.Fprintf(&out, "%s: %s: %s\n", f.Place, f.Severity, f.Message)
		}
	}
	for _, t := range p.PolicyTests.Failed {
		fmt.Fprintf(&out, "%s: policy test %q fails: %s\n", t.Place, t.Name, t.Message)
	}
	if p.UnchangedBecause != "" {
		fmt.Fprintf(&out, "%s\n", p.UnchangedBecause)
	}
	_, err := io.WriteString(w, redact.Text(out.String()))
	return err
}

// defaultTitle says what the first edit does.
func defaultTitle(edits []edit.Edit) string {
	e := edits[0]
	object := e.Kind + " " + e.Name
	var title string
	switch e.Operation {
	case edit.SetLabel:
		title = fmt.Sprintf("Set label %s=%s of %s", e.Key, e.Value, object)
	case edit.RemoveLabel:
		title = fmt.Sprintf("Remove label %s of %s", e.Key, object)
	case edit.SetSelector:
		title = fmt.Sprintf("Set %s of %s", e.Key, object)
	case edit.SetConfigKey:
		title = fmt.Sprintf("Set %s of %s", e.Key, object)
	case edit.RemoveConfigKey:
		title = fmt.Sprintf("Remove %s of %s", e.Key, object)
	case edit.DeleteObject:
		title = "Remove " + object
	default:
		title = "Change the platform model"
	}
	if more := len(edits) - 1; more > 0 {
		title += fmt.Sprintf(", and %d more", more)
	}
	return title
}
