package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
)

// TestDeployedCommands proves that what deploy/ runs can be called.
func TestDeployedCommands(t *testing.T) {
	unit, err := os.ReadFile("../../deploy/systemd/kalypso-scheduler.service")
	if err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile("../../deploy/container/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := ci.ParseDockerfile("Dockerfile", dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)
	for name, words := range map[string][]string{
		"systemd": strings.Fields(string(start[1])), "container": append(recipe.Entrypoint, recipe.Command...),
	} {
		root := newRoot(&cmdutil.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		found, args, err := root.Find(words[1:])
		if err == nil {
			err = found.ParseFlags(args)
		}
		if err == nil {
			err = found.ValidateArgs(found.Flags().Args())
		}
		if file, _ := found.Flags().GetString("config"); err != nil || found.CommandPath() != "kalypso scheduler run" || !filepath.IsAbs(file) || filepath.Base(words[0]) != "kalypso" {
			t.Errorf("%s runs %v: %v", name, words, err)
		}
	}
}
