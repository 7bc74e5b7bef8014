package az

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

func TestSplitArgs(t *testing.T) {
	for line, want := range map[string]string{
		"-k name=a path=b -n x":          "--kustomization=name=a+path=b -n x",
		"-k name=a -k name=b c=d":        "--kustomization=name=a --kustomization=name=b+c=d",
		"--kustomization name=a":         "--kustomization=name=a",
		"--kustomization=name=a -k":      "--kustomization=name=a -k",
		"--suspend TRUE --force --yes x": "--suspend=true --force --yes x",
		"-y false":                       "-y=false",
		"--name true":                    "--name true",
	} {
		got := strings.ReplaceAll(strings.Join(splitArgs(strings.Fields(line)), " "), separator, "+")
		if got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

func TestKustomization(t *testing.T) {
	ten, sixty := int64(10), int64(60)
	name, got, err := kustomization(strings.Fields("name=a path=./p prune=True force=false timeout=1m interval=10s retryInterval=10s dependsOn=[\"b\",c] disable_health_check=false"))
	if err != nil || name != "a" {
		t.Fatal(name, err)
	}
	if diff := cmp.Diff(map[string]any{
		"path": "./p", "prune": true, "force": false, "timeoutInSeconds": &sixty, "syncIntervalInSeconds": &ten, "retryIntervalInSeconds": &ten,
		"dependsOn": []string{"b", "c"}, "wait": true,
	}, got); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"path=p", "name=a x=y", "name=a path", "name=a prune=maybe", "name=a interval=soon"} {
		if _, k, err := kustomization(strings.Fields(wrong)); err == nil || cmdutil.ExitCode(err) != cmdutil.ExitUsage {
			t.Errorf("%s: %+v %v", wrong, k, err)
		}
	}
}
