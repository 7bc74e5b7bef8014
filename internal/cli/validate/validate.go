// Package validate has the command that finds what is wrong about a control plane.
package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso validate`.
type Options struct {
	*cmdutil.App
	Model     cmdutil.ModelFlags
	Output    cmdutil.Output
	FailOn    string // the least severity that is a failure
	Tests     bool
	FilesOnly bool
	Rules     bool // list them, and validate nothing

	subjects []validate.Subject // what was read
}

// NewCommand makes `kalypso validate`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "validate [DIR_OR_URL]",
		Short: "Find what is wrong or doubtful about a control plane",
		Long: `Check the platform model of all environments, or of the one that -e names, before
anybody plans with it: mistakes in its objects, references that lead nowhere,
policies and configuration that match nothing, templates and schemas that do not
parse, and what cannot be generated. DIR_OR_URL is the same as --control-plane.
Nothing is written anywhere.

Findings go to stdout, each with its position (file:line:column), severity, rule and
mostly a hint; a summary goes to stderr. --rules lists all rules. The comment
"# kalypso:ignore RULE", in the line of a warning or note or above it, silences it.

With --tests the policy tests in *.policytest.yaml are run too. They say on which
cluster types a deployment target lands, and with which configuration:

    tests:
      - name: functional tests run at the edge only
        target: web-functional-test
        onlyOn: [edge]
        config: {edge: {REGION: East US}}
      - name: load tests stay off the edge
        target: {workspace: web-team, labels: {purpose: load-test}}
        notOn: [edge]

They lie in an environment's branch or in the base repository. Flux must not see
them: write *.policytest.yaml into .sourceignore.

With --files-only nothing is looked at but the files of DIR_OR_URL, of a folder
those that are checked out: that they are YAML, and that each object is right in
itself. What they name is not read. That is the check for a branch that many
teams push to: it fails for what they push, and not for what somebody's
environment or application lacks.

Exits with
  0  when there is no error, or with --fail-on nothing of that severity or worse
  1  when there is; a policy test that fails is an error
` + cmdutil.ModelHelp,
		Example: `  kalypso validate
  kalypso validate . -e dev --tests --fail-on warning
  kalypso validate https://git.example.com/acme/control-plane -o sarif >kalypso.sarif`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && o.Model.ControlPlane != "" {
				return usage.Errorf("usage: %s\nDIR_OR_URL is given once.\nSee `%s --help`.", c.UseLine(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch given := beyondFiles(c); {
			case o.Rules && o.Output.String() == "sarif":
				return usage.New("there is no output \"sarif\" for rules: choose text or json")
			case o.Rules:
			case !slices.Contains(validate.Severities(), model.Severity(o.FailOn)):
				return usage.Errorf("there is no severity %q: choose error, warning or note", o.FailOn)
			case o.FilesOnly && given != "":
				return usage.Errorf("--files-only looks at no environment: leave out --%s", given)
			}
			if len(args) > 0 {
				o.Model.ControlPlane = args[0]
			}
			return run(c.Context(), o)
		},
	}
	o.Model.Register(a, c, "all")
	o.Output.AddTo(c, "text", "json", "sarif")
	c.Flags().StringVar(&o.FailOn, "fail-on", string(validate.Error), "exit with 1 when there is an error, a warning or a note: the least `SEVERITY`")
	c.Flags().BoolVar(&o.Tests, "tests", false, "run the policy tests too")
	c.Flags().BoolVar(&o.FilesOnly, "files-only", false, "check the objects in themselves, and nothing that they name")
	c.Flags().BoolVar(&o.Rules, "rules", false, "list all rules and do nothing else")
	return c
}

// beyondFiles is a flag that was given and is about more than files.
func beyondFiles(c *cobra.Command) string {
	for _, name := range []string{"environment", "base", "workload", "gitops", "tests"} {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// Run validates, and is an error where there are findings.
func Run(ctx context.Context, o *Options) error {
	if o.Rules {
		return o.Output.Print(o.App, validate.Rules(), o.printRules)
	}
	r, err := o.validate(ctx)
	if err != nil {
		return err
	}
	content, err := o.format(r)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(o.Out, redact.Text(string(content))); err != nil {
		return err
	}
	o.Messagef("%s", report.Summary(r))
	if r.Reaches(model.Severity(o.FailOn)) {
		return cmdutil.Silent(errors.New("there are findings"))
	}
	return nil
}

func (o *Options) format(r validate.Report) ([]byte, error) {
	switch o.Output.String() {
	case "json":
		return report.JSON(r)
	case "sarif":
		program := report.Program{URL: "https://github.com/kalypso-dev/kalypso"}
		if number := strings.TrimPrefix(o.Version, "v"); number != "" && number[0] >= '0' && number[0] <= '9' {
			program.Version = number
		}
		return report.SARIF(r, program)
	}
	return report.Text(r, o.style()), nil
}

func (o *Options) printRules() error {
	for _, r := range validate.Rules() {
		if _, err := fmt.Fprintf(o.Out, "%-24s %-8s %s\n", r.ID, r.Severity, r.Summary); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) validate(ctx context.Context) (validate.Report, error) {
	w, err := o.Model.Open(ctx, o.App)
	if err != nil {
		return validate.Report{}, err
	}
	if o.FilesOnly {
		return o.runFiles(ctx, w)
	}
	names, err := o.Model.Several(ctx, w)
	if err != nil {
		return validate.Report{}, err
	}
	all, err := w.Environments(ctx)
	if err != nil {
		return validate.Report{}, err
	}
	in := validate.Input{RunTests: o.Tests, Known: all.Names(), Diagnostics: all.Diagnostics}
	for _, name := range names {
		var s validate.Subject
		if s.Model, err = w.Load(ctx, name); err != nil {
			return validate.Report{}, err
		}
		if s.Trees, err = validate.Trees(ctx, w, s.Model); err != nil {
			return validate.Report{}, err
		}
		gitOps, err := w.GitOps(ctx, s.Model)
		if err != nil {
			// The rest needs no GitOps repository, which CI may have no access to.
			o.Messagef("note: whether the GitOps branch is there is not checked: %v", err)
		}
		s.NoGitOps = err == nil && gitOps == nil && s.Model.GitOps.Repo != ""
		o.subjects = append(o.subjects, s)
	}
	in.Subjects = o.subjects
	return validate.Validate(ctx, in)
}

func (o *Options) runFiles(ctx context.Context, w *source.Platform) (validate.Report, error) {
	tree, err := w.Files(ctx)
	if err != nil {
		return validate.Report{}, err
	}
	s := validate.Source{Reference: model.Reference{Repo: tree.Repo, Branch: tree.Branch}, Tree: tree}
	o.subjects = []validate.Subject{{Trees: []validate.Source{s}}}
	return validate.Files(ctx, s)
}
