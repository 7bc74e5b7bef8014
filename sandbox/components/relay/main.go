// Command relay carries connections from where the machine's loopback cannot be
// reached to where it can. It needs nothing but itself: no library, no file, no
// user, no right.
//
//	relay serve --listen=127.0.0.1:PORT [--listen=node:PORT ...] [--allow=CIDR ...]
//
// runs in a container with a network of its own, and speaks over its standard
// input and output with kalypso's package sandbox/relay, which dials for it.
// Nothing of the machine is opened to a network that way. "node" stands for
// every address by which others reach the container. It ends when its input
// ends, or with SIGTERM.
//
//	relay forward --listen=127.0.0.1:PORT --to=HOST:PORT [--allow=CIDR ...]
//
// is the same for a pod, which shares its loopback with no other: it passes
// connections on to a relay that it can reach.
//
//	relay check --to=127.0.0.1:PORT
//
// succeeds when something listens there: a probe for a container that has no
// other program.
//
// Only loopback and the networks of --allow may connect; others are hung up on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: relay serve --listen=HOST:PORT [--listen=...] [--allow=CIDR ...]
       relay forward --listen=HOST:PORT --to=HOST:PORT [--allow=CIDR ...]
       relay check --to=HOST:PORT`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// an output that nobody reads any more is an end like any other
	signal.Ignore(syscall.SIGPIPE)
	err := run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout}, os.Stderr)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "relay:", err)
	var wrong usageError
	if errors.As(err, &wrong) {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is a mistake in the arguments.
type usageError struct{ error }

// stdio makes one connection of standard input and output.
type stdio struct {
	io.ReadCloser
	io.WriteCloser
}

func (s stdio) Close() error { return errors.Join(s.ReadCloser.Close(), s.WriteCloser.Close()) }

func run(ctx context.Context, args []string, peer io.ReadWriteCloser, log io.Writer) error {
	if len(args) == 0 {
		return usageError{errors.New("what to do is missing")}
	}
	s, err := parse(args)
	if err != nil {
		return usageError{err}
	}
	if s.word == "check" {
		return check(ctx, s.to)
	}
	l, err := open(ctx, s.listen, s.allow, log)
	if err != nil {
		return err
	}
	defer l.close()
	if s.word == "forward" {
		return forward(ctx, l, s.to)
	}
	return serve(ctx, l, peer)
}

// settings are the arguments.
type settings struct {
	word   string
	listen []string
	allow  []netip.Prefix
	to     string
}

func parse(args []string) (settings, error) {
	s := settings{word: args[0]}
	flags := flag.NewFlagSet(s.word, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	listens := func() {
		flags.Func("listen", "address to listen on", func(a string) error {
			s.listen = append(s.listen, a)
			return validate(a)
		})
		flags.Func("allow", "network that may connect", func(network string) error {
			p, err := netip.ParsePrefix(network)
			s.allow = append(s.allow, p)
			return err
		})
	}
	dials := func() {
		flags.Func("to", "address to dial", func(a string) error {
			s.to = a
			return validate(a)
		})
	}
	switch s.word {
	case "serve":
		listens()
	case "forward":
		listens()
		dials()
	case "check":
		dials()
	default:
		return s, fmt.Errorf("unknown word %q", s.word)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case flags.Lookup("listen") != nil && len(s.listen) == 0:
		return s, errors.New("--listen is missing")
	case flags.Lookup("to") != nil && s.to == "":
		return s, errors.New("--to is missing")
	}
	return s, nil
}

// validate accepts HOST:PORT. A host is not looked up here.
func validate(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if host == "" {
		return errors.New("a host is missing")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return err
	}
	return nil
}
