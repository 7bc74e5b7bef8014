// Command kwok plays the node of an embedded cluster where there can be no real
// one: a heartbeat keeps the node Ready, pods bound to it are said to run, and
// those of a Job to succeed, without anything being started. How that goes is
// kwok's own work and its own stages; this program is the choice of them.
//
// The node object must be there first: kwok plays what it is shown, and creates
// nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"sigs.k8s.io/kwok/pkg/log"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("kwok", flag.ContinueOnError)
	var n simulated
	fs.StringVar(&n.name, "node", "", "name of the node")
	fs.StringVar(&n.kubeconfig, "kubeconfig", "", "administrator of the cluster")
	fs.StringVar(&n.address, "address", "", "what is said to be the node's address")
	fs.StringVar(&n.pods, "pods", "", "network that pods are given addresses of")
	egress := fs.String("egress", "", "socket where the API server asks for connections to the node and its pods")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if n.name == "" || n.kubeconfig == "" || n.address == "" || n.pods == "" || *egress == "" {
		return errors.New("all flags are needed; see -help")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = log.NewContext(ctx, log.NewLogger(os.Stderr, log.LevelWarn))
	listener, err := listen(*egress)
	if err != nil {
		return err
	}
	defer listener.Close()
	ended := make(chan error, 1)
	go func() { ended <- refuse(listener, n.name) }()
	if err := n.play(ctx); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}
