package kind

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/relay"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// engineWait is how long the restart of an engine may take.
	engineWait = 2 * time.Minute
	healthWait = 3 * time.Minute
	endPoll    = 100 * time.Millisecond
	probePause = 300 * time.Millisecond
)

// node is the container that is a cluster.
type node struct {
	Provider
	name, kind, container string
}

// state of the container.
type state struct {
	ID      string
	Running bool
	Cluster string // by kind's label
}

// noteFile holds the ID of the container once its creation is complete. One
// without it was interrupted.
const noteFile = "kind.json"

type note struct {
	Container string `json:"container"`
}

// run implements supervisor.Background: it ends with the container.
func (n *node) run(ctx context.Context, report func(string), ready func()) error {
	log, err := openLogger(n.Log(n.name), report)
	if err != nil {
		return err
	}
	defer log.Close()
	report("waiting for " + n.Engine.Program)
	if err := retry.Until(ctx, "the container engine", engineWait, n.Engine.Answers, retry.Every(probePause)); err != nil {
		return err
	}
	if err := n.ensureRunning(ctx, log); err != nil {
		return err
	}
	report("waiting for the API server and the node")
	client, err := cluster.NewClient(n.Kubeconfig(n.name), "")
	if err != nil {
		return err
	}
	err = retry.Until(ctx, "cluster "+n.name, healthWait, func(ctx context.Context) error { return usable(ctx, client) })
	if err != nil {
		return err
	}
	ready()
	return n.untilEnd(ctx)
}

// ensureRunning creates or starts the container; one whose creation was
// interrupted is created again.
func (n *node) ensureRunning(ctx context.Context, log *logger) error {
	have, err := n.inspect(ctx)
	if err != nil {
		return err
	}
	made, err := n.readNote()
	if err != nil {
		return err
	}
	switch {
	case have == nil:
	case have.Cluster != n.kind:
		return &supervisor.PermanentError{Err: fmt.Errorf("there is a container %s that kind has not made: rename or remove it", n.container)}
	case have.ID != made.Container:
		log.step("removing a cluster whose creation was interrupted")
		if err := n.Delete(ctx, n.name); err != nil {
			return err
		}
	case have.Running:
		return nil
	default:
		log.step("starting the node")
		_, err := n.Engine.run(ctx, "start", n.container)
		return err
	}
	return n.create(ctx, log)
}

// inspect returns nil where there is no such container.
func (n *node) inspect(ctx context.Context) (*state, error) {
	out, err := n.Engine.quick(ctx, "container", "inspect", n.container)
	if err != nil {
		// the message for a missing container differs from engine to engine
		if names, listErr := n.Engine.quick(ctx, "ps", "--all", "--filter", "name="+n.container, "--format", "{{.Names}}"); listErr != nil || slices.Contains(strings.Fields(names), n.container) {
			return nil, errors.Join(err, listErr)
		}
		return nil, nil
	}
	var all []struct {
		ID     string `json:"Id"`
		State  struct{ Running bool }
		Config struct{ Labels map[string]string }
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 {
		return nil, fmt.Errorf("%s container inspect %s: not understood: %w", n.Engine.Program, n.container, err)
	}
	return &state{all[0].ID, all[0].State.Running, all[0].Config.Labels["io.x-k8s.kind.cluster"]}, nil
}

func (n *node) create(ctx context.Context, log *logger) error {
	free := n.PortFree(n.name)
	for listener := range n.Publish[n.name] {
		free = errors.Join(free, n.PortFree(listener))
	}
	if free != nil {
		return free
	}
	image := n.Image()
	if has, err := n.Engine.HasImage(ctx, image); err != nil {
		return err
	} else if !has {
		return &supervisor.PermanentError{Err: fmt.Errorf("the engine has no image %s any more: `%s pull %s`, or `make kind-node-image`", image, n.Engine.Program, image)}
	}
	if err := os.MkdirAll(filepath.Join(n.Dir, n.name), 0o700); err != nil {
		return err
	}
	config, err := n.config(ctx)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		done <- n.kindProvider(log).Create(n.kind,
			kindcluster.CreateWithRawConfig(config), kindcluster.CreateWithNodeImage(image),
			kindcluster.CreateWithKubeconfigPath(n.kindKubeconfig(n.name)),
			kindcluster.CreateWithDisplayUsage(false), kindcluster.CreateWithDisplaySalutation(false))
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), n.abandon(done))
	}
	if err != nil {
		return fmt.Errorf("kind: %w", withOutput(err))
	}
	if err := n.writeKubeconfig(); err != nil {
		return err
	}
	have, err := n.inspect(ctx)
	if err != nil {
		return err
	}
	if have == nil {
		return errors.New("the container is gone that kind has just made")
	}
	return n.writeNote(note{have.ID})
}

// abandon ends a creation by removing the container: kind itself has no
// cancellation.
func (n *node) abandon(done <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	return retry.Until(ctx, "the end of kind", stopGrace, func(ctx context.Context) error {
		select {
		case <-done:
			return nil
		default:
		}
		_, err := n.Engine.run(ctx, "rm", "--force", "--volumes", n.container)
		return errors.Join(errors.New("kind goes on"), err)
	}, retry.Every(endPoll))
}

// usable returns nil when the API server answers and the node takes pods.
func usable(ctx context.Context, client *cluster.Client) error {
	if err := client.Healthy(ctx); err != nil {
		return err
	}
	nodes, err := client.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return errors.New("there is no node yet")
	}
	for i := range nodes {
		if err := cluster.Condition(&nodes[i], "Ready"); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) healthy(ctx context.Context) error {
	client, err := cluster.NewClient(n.Kubeconfig(n.name), "")
	if err != nil {
		return err
	}
	return client.Healthy(ctx)
}

// untilEnd returns when the container does not run any more, or the engine has
// gone.
func (n *node) untilEnd(ctx context.Context) error {
	cmd := n.Engine.command(ctx, "wait", n.container)
	if err := supervisor.StartCommand(cmd); err != nil {
		return err
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(fmt.Errorf("the container %s has ended", n.container), err)
}

// runs returns nil when the container does.
func (n *node) runs(ctx context.Context) error {
	have, err := n.inspect(ctx)
	switch {
	case err != nil:
		return err
	case have == nil:
		return fmt.Errorf("there is no container %s", n.container)
	case !have.Running:
		return fmt.Errorf("the container %s does not run", n.container)
	}
	return nil
}

// stop stops the container, and leaves alone one that is not this sandbox's.
func (n *node) stop(ctx context.Context) error {
	have, err := n.inspect(ctx)
	if err != nil || have == nil || !have.Running || have.Cluster != n.kind {
		return err
	}
	_, err = n.Engine.run(ctx, "stop", "-t", strconv.Itoa(int(stopGrace.Seconds())), n.container)
	return err
}

func (n *node) noteFile() string { return filepath.Join(n.Dir, n.name, noteFile) }

func (n *node) readNote() (note, error) {
	var made note
	b, err := os.ReadFile(n.noteFile())
	if errors.Is(err, fs.ErrNotExist) {
		return made, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &made)
	}
	if err != nil {
		return made, fmt.Errorf("%s: %w", n.noteFile(), err)
	}
	return made, nil
}

// writeNote is the last step of a creation.
func (n *node) writeNote(made note) error {
	b, err := json.Marshal(made)
	if err != nil {
		return err
	}
	return atomicfile.Write(n.noteFile(), b, 0o600)
}

const (
	relayDeadline = engineWait + time.Minute
	relayPath     = "/usr/local/bin/kalypso-relay"
	dialLimit     = 5 * time.Second
	// podNetwork is what kind gives to pods by default.
	podNetwork = "10.244.0.0/16"
)

// relay keeps the forge's address valid within the node: a program in it
// listens there, and what connects comes out on this machine. It goes through
// the engine's exec, so it needs no open port, and works the same wherever the
// engine runs.
func (n *node) relay(ctx context.Context, report func(string), ready func()) error {
	// the engine may be restarting, and the node starts after it
	if err := retry.Until(ctx, "the node", engineWait, n.runs, retry.Every(probePause)); err != nil {
		return err
	}
	report("copying the relay onto the node")
	if _, err := n.Engine.run(ctx, "cp", filepath.Join(n.Staged("relay"), "relay"), n.container+":"+relayPath); err != nil {
		return err
	}
	report("connecting")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	port := strconv.Itoa(n.Port("gitea"))
	cmd := n.Engine.command(ctx, "exec", "--interactive", n.container, relayPath, "serve",
		"--listen="+net.JoinHostPort("127.0.0.1", port),
		// for pods, which have a loopback of their own
		"--listen=node:"+port, "--allow="+podNetwork)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := supervisor.StartCommand(cmd); err != nil {
		return err
	}
	var d net.Dialer
	r := relay.New(relay.Pipe(out, in), func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		return d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	})
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	_, err = r.Listening(ctx)
	if err == nil {
		ready()
		err = <-ended
	}
	cancel()
	_ = cmd.Wait() // the relay's error and standard error have the reason
	if text := strings.TrimSpace(wrong.String()); text != "" {
		err = errors.Join(err, errors.New(text))
	}
	if err == nil {
		return context.Canceled
	}
	return fmt.Errorf("relay to the forge: %w", err)
}
