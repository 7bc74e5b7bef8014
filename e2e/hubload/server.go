package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/hub/web"
	"github.com/kalypso-dev/kalypso/internal/httpserver"
)

const (
	startLimit = time.Minute
	stopLimit  = time.Minute
	// ticketValid is long enough to copy the URL.
	ticketValid = 10 * time.Minute
	tokenValid  = 24 * time.Hour
)

// greeting is what a hub that serves a store prints first.
type greeting struct {
	Address   string `json:"address"`
	Enter     string `json:"enter"` // for a browser, once
	Token     string `json:"token"`
	TeamToken string `json:"teamToken"`
}

// serve serves the store of a fleet, and writes what the fleet does, until ctx ends.
func serve(ctx context.Context, o store.Options, size fleetSize, events, rate int) error {
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// it is asked for far more often than it changes, as a collector's is
	handler, err := api.New(api.Options{Store: s, Model: newConfigured(size), Hosts: []string{"127.0.0.1"}, Web: web.Handler(), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	hello := greeting{Address: "http://" + listener.Addr().String()}
	name := strconv.FormatInt(time.Now().UnixNano(), 36)
	expires := time.Now().Add(tokenValid)
	hello.Token, err = s.CreateToken(ctx, store.Token{Name: "all-" + name, Role: string(api.Viewer), Expires: expires})
	if err != nil {
		return err
	}
	hello.TeamToken, err = s.CreateToken(ctx, store.Token{
		Name: "team-" + name, Role: string(api.Viewer), Expires: expires, Scope: store.Scope{Workspaces: []string{"team-01"}, Environments: environments[2:]},
	})
	if err != nil {
		return err
	}
	ticket, err := s.CreateTicket(ctx, store.Identity{Subject: "hubload", Role: string(api.Operator)}, ticketValid)
	if err != nil {
		return err
	}
	hello.Enter = hello.Address + "/enter#t=" + ticket
	if err := json.NewEncoder(os.Stdout).Encode(hello); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return httpserver.Run(ctx, &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}, listener, nil)
	})
	if rate > 0 {
		f := newFleet(size)
		for done := 0; done < events; done += slice {
			f.change(min(slice, events-done)) // to where the store is
		}
		group.Go(func() error { return play(ctx, s, f, rate) })
	}
	return group.Wait()
}

// server is a hub that serves a store in another process.
type server struct{ address, token, teamToken string }

// withServer runs this program once more, as a hub, for as long as f takes.
func withServer(ctx context.Context, o store.Options, size fleetSize, events, rate int, f func(server) error) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	hub := exec.CommandContext(ctx, self, "-serve", "-sqlite", o.SQLite, "-postgres", o.Postgres, "-events", strconv.Itoa(events), "-rate", strconv.Itoa(rate),
		"-clusters", strconv.Itoa(size.clusters), "-types", strconv.Itoa(size.types), "-targets", strconv.Itoa(size.targets))
	hub.Cancel = func() error { return hub.Process.Signal(syscall.SIGTERM) }
	hub.WaitDelay = stopLimit
	hub.Stderr = os.Stderr
	out, err := hub.StdoutPipe()
	if err == nil {
		err = hub.Start()
	}
	if err != nil {
		return err
	}
	defer func() {
		fmt.Println("most memory of the hub:", memory(hub.Process.Pid))
		err = errors.Join(err, hub.Process.Signal(syscall.SIGTERM), hub.Wait())
	}()
	timer := time.AfterFunc(startLimit, func() { _ = out.Close() })
	defer timer.Stop()
	var hello greeting
	if err := json.NewDecoder(io.LimitReader(out, 1<<16)).Decode(&hello); err != nil {
		return fmt.Errorf("the hub has not begun to serve within %s: %w", startLimit, err)
	}
	return f(server{hello.Address, hello.Token, hello.TeamToken})
}
