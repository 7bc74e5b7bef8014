package initialize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/fixtures/githuborg"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

// schedulerConfig is the configuration of a scheduler that follows the
// workshop, as the account that makes it.
func (f *Options) schedulerConfig(o githuborg.Options) ([]byte, error) {
	c := githuborg.Config{
		Forge:            controller.ForgeConfig{Type: controller.GitHub, URL: f.url, API: f.api, TokenEnv: f.tokenEnv, TokenFile: f.tokenFile},
		ControlPlane:     o.Forge.OrganisationURL(f.org) + "/" + o.Workshop.ControlPlane.Repository,
		Branch:           o.Workshop.DefaultBranch(o.Workshop.ControlPlane.Repository),
		Secret:           f.webhookFile,
		SecretEnv:        f.webhookEnv,
		FirstEnvironment: o.Workshop.ControlPlane.Environments[0],
	}
	names := []*string{&c.Forge.TokenFile, &c.Secret}
	if f.app.ID != 0 {
		app := f.app
		c.Forge.App = &app
		names = append(names, &app.KeyFile)
	}
	// the scheduler takes paths relative to its configuration
	for _, name := range names {
		if *name == "" {
			continue
		}
		path, err := filepath.Abs(*name)
		if err != nil {
			return nil, err
		}
		*name = path
	}
	return c.YAML()
}

var errOtherFile = errors.New("it exists already with other content: move it away, or name another file")

// keepsOther is an error when the file is there and holds something else.
func keepsOther(file string, data []byte) error {
	if file == "" {
		return nil
	}
	old, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = os.Stat(filepath.Dir(file))
	case err == nil && !bytes.Equal(old, data):
		err = errOtherFile
	}
	if err != nil {
		return fmt.Errorf("--config %s: %w", file, err)
	}
	return nil
}

// sayNext prints what to do next, and writes the configuration or prints it.
func (f *Options) sayNext(config []byte) error {
	file := f.config
	if file == "" {
		file = "scheduler.yaml"
		f.Messagef("\nThe configuration of a scheduler, for a file such as %s:\n", file)
		if _, err := f.Out.Write(config); err != nil {
			return err
		}
	} else {
		if err := writeNew(file, config); err != nil {
			return fmt.Errorf("--config %s: %w", file, err)
		}
		f.Messagef("  Scheduler   its configuration is in %s", file)
	}
	f.Messagef("")
	f.Messagef("  Next        kalypso scheduler once --config %s", file)
	if f.webhookFile == "" {
		f.Messagef("              %s", f.secretAdvice(filepath.Join(filepath.Dir(file), githuborg.SecretFile)))
	}
	f.Messagef("  For good    kalypso scheduler run --config %s", file)
	f.Messagef("  Workflows   need kalypso on their runners: docs/platform-engineers.md says how")
	f.Messagef("  Clean up    kalypso init --org %s --cleanup", f.org)
	return nil
}

func (f *Options) secretAdvice(file string) string {
	if f.webhookEnv != "" {
		return fmt.Sprintf("for `run`: write what %s holds to %s", f.webhookEnv, file)
	}
	return "for `run`: openssl rand -hex 32 >" + file
}

// writeNew writes a file that is not there, or is there as it should be.
func writeNew(file string, data []byte) error {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		old, err := os.ReadFile(file)
		if err == nil && !bytes.Equal(old, data) {
			err = errOtherFile
		}
		return err
	}
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Close())
}

// showSteps prints what would be done.
func (f *Options) showSteps(steps []githuborg.Step) {
	repository := ""
	for _, s := range steps {
		if s.Repository != repository {
			repository = s.Repository
			fmt.Fprintln(f.Out, repository)
		}
		fmt.Fprintf(f.Out, "  %s\n", s.What)
	}
}

// missingSecrets says which secrets were not given, and how to give them.
func (f *Options) missingSecrets(missing []githuborg.Secret) {
	at := map[string][]string{}
	var names []string
	for _, m := range missing {
		if at[m.Name] == nil {
			names = append(names, m.Name)
		}
		at[m.Name] = append(at[m.Name], m.Repository)
	}
	for _, name := range names {
		f.Messagef("  Not given   the secret %s of %s: --secret-env %[1]s=VARIABLE or --secret-file %[1]s=FILE sets it", name, strings.Join(at[name], ", "))
	}
}
