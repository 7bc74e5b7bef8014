package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/watch"
	"github.com/spf13/pflag"
)

func TestSchedulerRunFlags(t *testing.T) {
	const plane = "--control-plane https://github.com/x/y --token-env T "
	base := watch.Config{
		Forge:        watch.ForgeConfig{Type: "github", URL: "https://github.com", TokenEnv: "T"},
		ControlPlane: watch.ControlPlaneConfig{Repo: "https://github.com/x/y", Branch: "main"},
		Listen:       watch.DefaultListen, WebhookSecretFile: "s", Poll: watch.DefaultPoll,
	}
	with := func(change func(*watch.Config)) watch.Config {
		c := base
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		args string
		want watch.Config
		says string
	}{
		"as it is":   {plane + "--webhook-secret-file s", base, ""},
		"all of it":  {plane + "--webhook-secret-file s --listen 127.0.0.1:1 --poll 5s", with(func(c *watch.Config) { c.Listen, c.Poll = "127.0.0.1:1", 5*time.Second }), ""},
		"one of two": {plane + "--webhook-secret-file s --leader-election", with(func(c *watch.Config) { c.LeaderElection = &watch.LeaderElectionConfig{} }), ""},
		"and known": {plane + "--webhook-secret-file s --leader-election --advertise-env U",
			with(func(c *watch.Config) { c.LeaderElection = &watch.LeaderElectionConfig{AdvertiseEnv: "U"} }), ""},
		"no secret":        {plane, watch.Config{}, "--webhook-secret-file FILE is needed"},
		"no election":      {plane + "--webhook-secret-file s --advertise-env U", watch.Config{}, "--advertise-env is for --leader-election"},
		"too often":        {plane + "--webhook-secret-file s --poll 1ms", watch.Config{}, "--poll 1ms is too short"},
		"a file and flags": {"--config x --poll 5s", watch.Config{}, "--config says all of it: leave --poll out"},
		"nothing":          {"", watch.Config{}, "which control plane?"},
	} {
		t.Run(name, func(t *testing.T) {
			f := runFlags{schedulerFlags: schedulerFlags{command: "run"}}
			set := pflag.NewFlagSet("run", pflag.ContinueOnError)
			f.register(set)
			if err := set.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			got, err := f.config(set, func(string) string { return "" })
			var usage *sandbox.UsageError
			if test.says != "" {
				if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.says) {
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
