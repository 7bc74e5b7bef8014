package scheduler

import (
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/spf13/pflag"
)

// runFlags are those of a scheduler that is served.
type runFlags struct {
	flags
	listen, secretFile string
	poll               time.Duration
	elect              bool
	advertiseEnv       string
}

// servedFlags are those that only a scheduler has that is served.
var servedFlags = []string{"listen", "webhook-secret-file", "poll", "leader-election", "advertise-env"}

func (f *runFlags) register(set *pflag.FlagSet) {
	f.flags.register(set)
	set.StringVar(&f.listen, "listen", controller.DefaultListen, "where to listen")
	set.StringVar(&f.secretFile, "webhook-secret-file", "", "the file with the secret of the webhooks, which also opens /status")
	set.DurationVar(&f.poll, "poll", controller.DefaultPoll, "how often to look for what a lost webhook would have told")
	set.BoolVar(&f.elect, "leader-election", false, "in Kubernetes: stand by while another replica works for the control plane")
	set.StringVar(&f.advertiseEnv, "advertise-env", "", "deprecated, without effect: a Service sends webhooks to the replica that works")
}

// config makes the configuration that file, flags and variables describe.
func (f *runFlags) config(set *pflag.FlagSet, get func(string) string) (controller.Config, error) {
	if f.file != "" {
		if err := alone(set, slices.Concat(describedFlags, servedFlags)); err != nil {
			return controller.Config{}, err
		}
		return controller.LoadConfig(f.file)
	}
	c, err := f.described(get)
	if err != nil {
		return controller.Config{}, err
	}
	switch {
	case f.secretFile == "":
		return controller.Config{}, f.usage("--webhook-secret-file FILE is needed: with it webhooks are checked, and /status is open to those who have it")
	case f.advertiseEnv != "" && !f.elect:
		return controller.Config{}, f.usage("--advertise-env is for --leader-election")
	case f.poll < time.Second:
		return controller.Config{}, f.usage("--poll %s is too short: a second is the least", f.poll)
	}
	c.Listen, c.WebhookSecretFile, c.Poll = f.listen, f.secretFile, f.poll
	if f.elect {
		c.LeaderElection = &controller.LeaderElectionConfig{AdvertiseEnv: f.advertiseEnv}
	}
	return c, nil
}
