// Package host gives the sandbox hosts: machines that are no clusters, that run
// what a Debian package or a playbook puts there, and that Ansible makes follow git.
//
// A host is a container that runc runs, of the component node. Its files are this
// machine's own: /usr, /etc and dpkg's database are the lower layers of overlays,
// which nobody writes to, and what the host changes lies below the sandbox's folder.
// So nothing is downloaded, Ansible is there when this machine has it, and nothing
// of this machine is changed. Of all other folders the host has its own: it sees no
// homes, and no data of this machine's programs.
//
// A host has namespaces of its own for processes, mounts, network, names and
// inter-process communication, bounds on memory and on the number of processes, and
// none of the capabilities that mounting, devices, modules and the clock need.
//
// Its first process ends when the standard input does, which the daemon holds open:
// then the kernel ends all processes of the host. So a host ends with its daemon,
// however that ends. The same process carries connections to the forge's address,
// which is the machine's loopback, out of the host's network; there is no other way
// out of it. See package relay.
//
// What a host has written stays when it stops, as on a disk; [Host.Remove] removes it.
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/relay"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	readyDeadline = 30 * time.Second
	dialLimit     = 5 * time.Second
	// endLimit is how long the kernel may take to end all processes of a host.
	endLimit = 10 * time.Second
	// container is the host's name in its own folder of runc's state.
	container = "host"

	// Memory and Processes are the bounds of a host: enough for Ansible beside a few
	// services.
	Memory    = 512 << 20
	Processes = 256
)

// Host is one host of a sandbox.
type Host struct {
	supervisor.Host
	// Name is the host's own name.
	Name string
	// Dir is the host's folder; it is made, and holds everything of the host.
	Dir string
}

// Unit is the host as a part of the sandbox. It is ready when the forge can be reached
// in it.
func (h Host) Unit(needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: "host-" + h.Name, Title: "host " + h.Name, Needs: needs, Deadline: readyDeadline, Log: h.log(),
		Component: &supervisor.Background{Run: h.run},
	}
}

func (h Host) log() string { return h.Log("host-" + h.Name) }

func (h Host) file(elem ...string) string {
	return filepath.Join(append([]string{h.Dir}, elem...)...)
}

func (h Host) runc(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(h.Staged("node"), "runc"), append([]string{"--root", h.file("runc")}, args...)...)
	cmd.Env = h.Env
	return cmd
}

// run has the host run until ctx ends, or it ends by itself.
func (h Host) run(ctx context.Context, say func(string), ready func()) (err error) {
	if err := Supported(h.Dir); err != nil {
		return &supervisor.PermanentError{Err: err}
	}
	say("ending what an earlier run has left")
	if err := h.Clean(ctx); err != nil {
		return err
	}
	say("making its files")
	if err := h.write(); err != nil {
		return err
	}
	say("starting it")
	log, err := os.OpenFile(h.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	var said bytes.Buffer
	// not with ctx: the end of its standard input ends it
	cmd := h.runc(context.WithoutCancel(ctx), "run", "--bundle", h.file("bundle"), container)
	cmd.Stderr = &tee{log, &said}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := supervisor.StartCommand(cmd); err != nil {
		return fmt.Errorf("runc: %w", err)
	}
	r := relay.New(relay.Pipe(out, in), h.dialForge)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(serving) }()
	if _, err = r.Listening(serving); err == nil {
		ready()
	}
	stopped := err == nil
	if stopped {
		err = <-ended // nil when ctx has ended
	}
	stop()
	if !stopped {
		<-ended
	}
	if err != nil && said.Len() > 0 {
		err = errors.New(string(bytes.TrimSpace(said.Bytes())))
	}
	return errors.Join(err, h.end(cmd))
}

// end waits for a host whose standard input has ended.
func (h Host) end(cmd *exec.Cmd) error {
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what matters is that it has ended
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(endLimit):
		_ = cmd.Process.Kill()
		<-done
	}
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	return h.Clean(ctx)
}

func (h Host) dialForge(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return (&net.Dialer{}).DialContext(ctx, "tcp", h.Address("gitea"))
}

// Clean ends what is left of a host that runs no more, of which the daemon was killed
// say, and keeps its files. One that runs it kills.
func (h Host) Clean(ctx context.Context) error {
	if err := node.Clean(ctx, h.Dir); err != nil {
		return err
	}
	return os.RemoveAll(h.file("runc"))
}

// Remove ends the host and removes all of it.
func (h Host) Remove(ctx context.Context) error {
	if err := h.Clean(ctx); err != nil {
		return err
	}
	return os.RemoveAll(h.Dir)
}

// Command is a command in the host, as root, for [supervisor.StartCommand]. The host
// has to run.
func (h Host) Command(ctx context.Context, env []string, argv ...string) *exec.Cmd {
	args := []string{"exec", "--cwd", "/root"}
	for _, kv := range env {
		args = append(args, "--env", kv)
	}
	cmd := h.runc(ctx, append(append(args, container), argv...)...)
	cmd.WaitDelay = endLimit
	return cmd
}

// Terminal is a command in the host that has a terminal.
func (h Host) Terminal(ctx context.Context, argv ...string) *exec.Cmd {
	return h.runc(ctx, append([]string{"exec", "--tty", "--cwd", "/root", "--env", "TERM=" + os.Getenv("TERM"), container}, argv...)...)
}

// Output runs a command in the host, and returns what it wrote to its standard output.
// The error has what it wrote to standard error.
func (h Host) Output(ctx context.Context, env []string, argv ...string) ([]byte, error) {
	cmd := h.Command(ctx, env, argv...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := supervisor.RunCommand(cmd)
	if ctx.Err() != nil {
		return out.Bytes(), context.Cause(ctx)
	}
	if err != nil && wrong.Len() > 0 {
		return out.Bytes(), &CommandError{argv[0], string(bytes.TrimSpace(wrong.Bytes())), err}
	}
	return out.Bytes(), err
}

// CommandError is how a command in a host has failed.
type CommandError struct {
	Program string
	Stderr  string
	Err     error
}

func (e *CommandError) Error() string { return e.Program + ": " + e.Stderr }
func (e *CommandError) Unwrap() error { return e.Err }

// Wait waits until the host runs.
func (h Host) Wait(ctx context.Context, limit time.Duration) error {
	return retry.Until(ctx, "host "+h.Name, limit, func(ctx context.Context) error {
		_, err := h.Output(ctx, nil, "true")
		return err
	}, retry.Every(200*time.Millisecond))
}

// tee writes to both.
type tee struct {
	a interface{ Write([]byte) (int, error) }
	b *bytes.Buffer
}

func (t *tee) Write(p []byte) (int, error) {
	if t.b.Len() < 4<<10 {
		t.b.Write(p)
	}
	return t.a.Write(p)
}

func loopbackAt(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
