package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/spf13/pflag"
)

func TestSchedulerRunFlags(t *testing.T) {
	const plane = "--control-plane https://github.com/x/y --token-env T "
	base := controller.Config{
		Forge:        controller.ForgeConfig{Type: "github", URL: "https://github.com", TokenEnv: "T"},
		ControlPlane: controller.ControlPlaneConfig{Repo: "https://github.com/x/y", Branch: "main"},
		Listen:       controller.DefaultListen, WebhookSecretFile: "s", Poll: controller.DefaultPoll,
	}
	with := func(change func(*controller.Config)) controller.Config {
		c := base
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		args string
		want controller.Config
		says string
	}{
		"as it is":   {plane + "--webhook-secret-file s", base, ""},
		"all of it":  {plane + "--webhook-secret-file s --listen 127.0.0.1:1 --poll 5s", with(func(c *controller.Config) { c.Listen, c.Poll = "127.0.0.1:1", 5*time.Second }), ""},
		"one of two": {plane + "--webhook-secret-file s --leader-election", with(func(c *controller.Config) { c.LeaderElection = &controller.LeaderElectionConfig{} }), ""},
		"and known": {plane + "--webhook-secret-file s --leader-election --advertise-env U",
			with(func(c *controller.Config) { c.LeaderElection = &controller.LeaderElectionConfig{AdvertiseEnv: "U"} }), ""},
		"no secret":        {plane, controller.Config{}, "--webhook-secret-file FILE is needed"},
		"no election":      {plane + "--webhook-secret-file s --advertise-env U", controller.Config{}, "--advertise-env is for --leader-election"},
		"too often":        {plane + "--webhook-secret-file s --poll 1ms", controller.Config{}, "--poll 1ms is too short"},
		"a file and flags": {"--config x --poll 5s", controller.Config{}, "--config says all of it: leave --poll out"},
		"nothing":          {"", controller.Config{}, "which control plane?"},
	} {
		t.Run(name, func(t *testing.T) {
			f := runFlags{flags: flags{command: "run"}}
			set := pflag.NewFlagSet("run", pflag.ContinueOnError)
			f.register(set)
			if err := set.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			got, err := f.config(set, func(string) string { return "" })
			var mistake *usage.Error
			if test.says != "" {
				if !errors.As(err, &mistake) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error %v, want %s", err, test.says)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
