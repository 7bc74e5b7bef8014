package validate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	v := &validation{app: a}
	var output, failOn string
	var rules bool
	c := &cobra.Command{
		Use:   "validate [DIR_OR_URL]",
		Short: "Find what is wrong or doubtful about a control plane",
		Long: `Check the platform model of all environments, or of the one that -e names, before
anybody plans with it: mistakes in its objects, references that lead nowhere,
policies and configuration that match nothing, templates and schemas that do not
parse, and what cannot be generated. DIR_OR_URL is the same as --control-plane.
Nothing is written anywhere.

Findings go to stdout, each with its place (file:line:column), severity, rule and
mostly a hint; a summary goes to stderr. --rules lists all rules. The comment
"# kalypso:ignore RULE", in the line of a warning or note or above it, silences it.

With --tests the policy tests in *.policytest.yaml are run too. They say on which
cluster types a deployment target lands, and with which configuration:

    tests:
      - name: functional tests run at the edge only
        target: hello-world-app-functional-test
        onlyOn: [drone]
        config: {drone: {REGION: East US}}
      - name: load tests stay off the drones
        target: {workspace: kaizen-app-team, labels: {purpose: load-test}}
        notOn: [drone]

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
			if len(args) > 1 || len(args) == 1 && v.world.ControlPlane != "" {
				return usage.Errorf("usage: %s\nDIR_OR_URL is given once.\nSee `%s --help`.", c.UseLine(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if rules {
				return v.printRules(output)
			}
			show, ok := v.outputs()[output]
			if !ok {
				return usage.Errorf("there is no output %q: choose text, json or sarif", output)
			}
			limit := model.Severity(failOn)
			if !slices.Contains(validate.Severities(), limit) {
				return usage.Errorf("there is no severity %q: choose error, warning or note", failOn)
			}
			if len(args) > 0 {
				v.world.ControlPlane = args[0]
			}
			if given := v.beyondFiles(c); v.files && given != "" {
				return usage.Errorf("--files-only looks at no environment: leave out --%s", given)
			}
			r, err := v.run(c.Context())
			if err != nil {
				return err
			}
			content, err := show(r)
			if err != nil {
				return err
			}
			if _, err := a.Out.Write(content); err != nil {
				return err
			}
			a.Messagef("%s", report.Summary(r))
			if r.Reaches(limit) {
				return cmdutil.Silent(errors.New("there are findings"))
			}
			return nil
		},
	}
	v.world.Register(c, "all")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, json or sarif")
	c.Flags().StringVar(&failOn, "fail-on", string(validate.Error), "exit with 1 when there is an error, a warning or a note: the least `SEVERITY`")
	c.Flags().BoolVar(&v.tests, "tests", false, "run the policy tests too")
	c.Flags().BoolVar(&v.files, "files-only", false, "check the objects in themselves, and nothing that they name")
	c.Flags().BoolVar(&rules, "rules", false, "list all rules and do nothing else")
	return c
}

// beyondFiles is a flag that was given and is about more than files.
func (v *validation) beyondFiles(c *cobra.Command) string {
	for _, name := range []string{"environment", "base", "workload", "gitops", "tests"} {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

func (v *validation) outputs() map[string]func(validate.Report) ([]byte, error) {
	return map[string]func(validate.Report) ([]byte, error){
		"text": func(r validate.Report) ([]byte, error) { return report.Text(r, v.look()), nil },
		"json": report.JSON,
		"sarif": func(r validate.Report) ([]byte, error) {
			program := report.Program{URL: "https://github.com/kalypso-dev/kalypso"}
			if number := strings.TrimPrefix(v.app.Version, "v"); number != "" && number[0] >= '0' && number[0] <= '9' {
				program.Version = number
			}
			return report.SARIF(r, program)
		},
	}
}

func (v *validation) printRules(output string) error {
	switch output {
	case "json":
		return v.app.PrintJSON(validate.Rules())
	case "text":
		for _, r := range validate.Rules() {
			if _, err := fmt.Fprintf(v.app.Out, "%-24s %-8s %s\n", r.ID, r.Severity, r.Summary); err != nil {
				return err
			}
		}
		return nil
	}
	return usage.Errorf("there is no output %q for rules: choose text or json", output)
}
