package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	appcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	askpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	apiserver "github.com/argoproj/argo-cd/v3/cmd/argocd-server/commands"
	"github.com/argoproj/argo-cd/v3/util/log"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// commandOf returns what the program is under a name, nil when that is all of
// Argo CD in one process.
func commandOf(name string) *cobra.Command {
	var command *cobra.Command
	switch name {
	case "argocd-git-ask-pass":
		return askpass.NewCommand()
	case "argocd-redis":
		return redisCommand()
	case "argocd-server":
		usePages()
		command = apiserver.NewCommand()
	case "argocd-repo-server":
		command = reposerver.NewCommand()
	case "argocd-application-controller":
		command = appcontroller.NewCommand()
	default:
		return nil
	}
	// as upstream: what the Kubernetes libraries say has the format of the rest
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	return command
}

// passwordVariable is where the parts that run in pods have the cache's
// password, in upstream's manifests.
const passwordVariable = "REDIS_PASSWORD"

func redisCommand() *cobra.Command {
	var listen string
	command := &cobra.Command{
		Use:   "argocd-redis",
		Short: "The cache that the parts of Argo CD share, in Redis's protocol; its password is in " + passwordVariable,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			c.SilenceUsage = true
			password := os.Getenv(passwordVariable)
			if password == "" {
				return errors.New(passwordVariable + " is not set: the cache must not be open to everybody")
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			redis, err := startRedis(ctx, listen, password)
			if err != nil {
				return err
			}
			<-ctx.Done()
			redis.Close()
			return nil
		},
	}
	command.Flags().StringVar(&listen, "listen", ":6379", "`host:port` that is listened on")
	return command
}
