package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/client-go/tools/clientcmd"
	kindlog "sigs.k8s.io/kind/pkg/log"
	"sigs.k8s.io/yaml"
)

func newProvider(t *testing.T, e *fakeEngine) Provider {
	t.Helper()
	dir := t.TempDir()
	return Provider{
		Engine: e.Engine, ID: "cafe", Image: func() string { return "img" }, Dir: filepath.Join(dir, "clusters"),
		Host: supervisor.Host{
			Log:    func(name string) string { return filepath.Join(dir, "logs", name+".log") },
			Staged: func(string) string { return dir },
			Port: func(name string) int {
				return map[string]int{"drone": 20001, "argocd-drone": 20002, "gitea": 20003}[name]
			},
			PortFree: func(string) error { return nil },
		},
		Publish: map[string]map[string]int{"drone": {"argocd-drone": 30080}},
	}
}

func TestListIsOfThisSandbox(t *testing.T) {
	e := newFakeEngine(t)
	e.answer("ps", "printf 'kalypso-cafe-drone\\nkalypso-beef-drone\\nkind\\nkalypso-cafe-large\\n'")
	names, err := newProvider(t, e).List(t.Context())
	if err != nil || strings.Join(names, " ") != "drone large" {
		t.Errorf("%q, %v", names, err)
	}
}

func TestDeleteTouchesOnlyItsOwn(t *testing.T) {
	e := newFakeEngine(t)
	p := newProvider(t, e)
	folder := filepath.Join(p.Dir, "drone")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	e.answer("ps", "printf 'kalypso-beef-drone\\nkalypso-cafe-large\\n'")
	if err := p.Delete(t.Context(), "drone"); err != nil {
		t.Fatal(err)
	}
	if calls := e.calls("rm"); len(calls) != 0 {
		t.Errorf("removed %q", calls)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder is left")
	}
	e.answer("ps -a --filter label=io.x-k8s.kind.cluster=kalypso-cafe-large", "echo kalypso-cafe-large-control-plane")
	e.answer("rm", "exit 0")
	if err := p.Delete(t.Context(), "large"); err != nil {
		t.Fatal(err)
	}
	if calls := e.calls("rm"); len(calls) != 1 || !strings.HasSuffix(calls[0], " kalypso-cafe-large-control-plane") {
		t.Errorf("removed %q", calls)
	}
	e.answer("version", "echo 'Cannot connect' >&2; exit 1")
	if err := p.Delete(t.Context(), "large"); err == nil {
		t.Error("deleted without an engine")
	}
}

// TestBring takes a container from every state it may be found in.
func TestBring(t *testing.T) {
	const mine = "kalypso-cafe-drone"
	for name, c := range map[string]struct {
		inspect, note string
		wantCalls     string // the beginning of the one call that changes something
		wantErr       string
	}{
		"runs":                {container("1", true, mine), `{"container": "1"}`, "", ""},
		"is stopped":          {container("1", false, mine), `{"container": "1"}`, "start " + mine + "-control-plane", ""},
		"a foreign container": {container("1", true, "other"), "", "", "that kind has not made: rename or remove it"},
		"half made":           {container("2", true, mine), `{"container": "1"}`, "rm", "no image img any more"},
		"not there":           {"exit 1", "", "", "no image img any more"},
		"broken note":         {container("1", true, mine), "{", "", "kind.json"},
		"not understood":      {"echo x", "", "", "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeEngine(t)
			p := newProvider(t, e)
			n := p.node("drone")
			if err := os.MkdirAll(filepath.Dir(n.noteFile()), 0o700); err != nil {
				t.Fatal(err)
			}
			if c.note != "" {
				if err := os.WriteFile(n.noteFile(), []byte(c.note), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e.answer("container inspect", c.inspect)
			e.answer("ps", "echo "+mine)
			e.answer("ps --all --filter name=", "exit 0")
			e.answer("ps -a --filter label=io.x-k8s.kind.cluster="+mine, "echo "+mine+"-control-plane")
			e.answer("start", "exit 0")
			e.answer("rm", "exit 0")
			e.answer("image inspect", "exit 1")
			err := n.ensureRunning(t.Context(), quiet())
			if c.wantErr == "" && err != nil || c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)) {
				t.Errorf("error %v, want %q", err, c.wantErr)
			}
			calls := append(e.calls("start"), e.calls("rm")...)
			if c.wantCalls == "" && len(calls) > 0 || c.wantCalls != "" && (len(calls) != 1 || !strings.HasPrefix(calls[0], c.wantCalls)) {
				t.Errorf("calls %q, want %q", calls, c.wantCalls)
			}
		})
	}
}

func TestPermanentErrors(t *testing.T) {
	e := newFakeEngine(t)
	e.answer("container inspect", "exit 1")
	e.answer("ps", "exit 0")
	e.answer("image inspect", "exit 1")
	p := newProvider(t, e)
	var permanent *supervisor.PermanentError
	if err := p.node("drone").ensureRunning(t.Context(), quiet()); !errors.As(err, &permanent) {
		t.Errorf("missing image: %v", err)
	}
	p.PortFree = func(listener string) error {
		if listener != "argocd-drone" {
			return nil
		}
		return &supervisor.PermanentError{Err: errors.New("port taken")}
	}
	if err := p.node("drone").ensureRunning(t.Context(), quiet()); !errors.As(err, &permanent) || err.Error() != "port taken" {
		t.Errorf("taken port: %v", err)
	}
}

func TestStopLeavesOthersAlone(t *testing.T) {
	e := newFakeEngine(t)
	p := newProvider(t, e)
	e.answer("stop", "exit 0")
	for want, inspect := range map[int]string{0: container("1", true, "other"), 1: container("1", true, "kalypso-cafe-drone")} {
		e.answer("container inspect", inspect)
		before := len(e.calls("stop"))
		if err := p.Stop(t.Context(), "drone"); err != nil {
			t.Fatal(err)
		}
		if got := len(e.calls("stop")) - before; got != want {
			t.Errorf("%s: stopped %d times, want %d", inspect, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	e := newFakeEngine(t)
	n := newProvider(t, e).node("drone")
	for version, patches := range map[string]int{"1": 1, "2": 0} {
		e.answer("info", "echo "+version)
		b, err := n.config(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Name       string
			Networking struct {
				APIServerAddress string
				APIServerPort    int
			}
			Nodes []struct {
				Role              string
				Labels            map[string]string
				ExtraPortMappings []struct {
					ContainerPort, HostPort int
					ListenAddress           string
				}
			}
			KubeadmConfigPatches []string
		}
		if err := yaml.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%+v", c)
		c.KubeadmConfigPatches = nil
		if want := "{Name:kalypso-cafe-drone Networking:{APIServerAddress:127.0.0.1 APIServerPort:20001} Nodes:[{Role:control-plane Labels:map[kalypso.dev/sandbox:cafe] ExtraPortMappings:[{ContainerPort:30080 HostPort:20002 ListenAddress:127.0.0.1}]}] KubeadmConfigPatches:[]}"; fmt.Sprintf("%+v", c) != want {
			t.Errorf("%+v", c)
		}
		if strings.Count(got, "failCgroupV1: false") != patches {
			t.Errorf("control groups %s: %s", version, got)
		}
	}
}

func TestKubeconfigHasTheClustersName(t *testing.T) {
	p := newProvider(t, newFakeEngine(t))
	n := p.node("drone")
	if err := os.MkdirAll(filepath.Join(p.Dir, "drone"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.kindKubeconfig("drone"), []byte(`apiVersion: v1
kind: Config
current-context: kind-x
contexts: [{name: kind-x, context: {cluster: kind-x, user: kind-x}}]
clusters: [{name: kind-x, cluster: {server: "https://127.0.0.1:20001"}}]
users: [{name: kind-x, user: {token: t}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.writeKubeconfig(); err != nil {
		t.Fatal(err)
	}
	c, err := clientcmd.LoadFromFile(p.Kubeconfig("drone"))
	if err != nil || c.CurrentContext != "drone" || c.Clusters["drone"].Server != "https://127.0.0.1:20001" || c.AuthInfos["drone"].Token != "t" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := os.Stat(p.kindKubeconfig("drone")); err == nil {
		t.Error("kind's file is left")
	}
}

func TestLoadsWhatIsMissing(t *testing.T) {
	e := newFakeEngine(t)
	p := newProvider(t, e)
	e.answer("ps -a --filter label=io.x-k8s.kind.cluster=kalypso-cafe-drone", "echo kalypso-cafe-drone-control-plane")
	e.answer("inspect", "echo control-plane")
	e.answer("exec kalypso-cafe-drone-control-plane ctr", "exit 0")
	e.answer("exec kalypso-cafe-drone-control-plane ctr --namespace=k8s.io images list --quiet name==here", "echo here")
	e.answer("exec --privileged kalypso-cafe-drone-control-plane containerd config dump", `printf 'version = 3\n[plugins."io.containerd.cri.v1.images"]\nsnapshotter = "overlayfs"\n'`)
	e.answer("exec --privileged -i kalypso-cafe-drone-control-plane ctr --namespace=k8s.io images import", "cat > imported")
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "archive")
		return err
	}
	if err := p.Load(t.Context(), "drone", "here", write); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "imported")); err == nil {
		t.Error("imported what was there")
	}
	if err := p.Load(t.Context(), "drone", "missing", write); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(e.dir, "imported")); err != nil || string(b) != "archive" {
		t.Errorf("%q, %v", b, err)
	}
	broken := errors.New("no program")
	if err := p.Load(t.Context(), "drone", "missing", func(io.Writer) error { return broken }); err == nil || !strings.Contains(err.Error(), "load image missing") || !strings.Contains(err.Error(), "no program") {
		t.Errorf("error %v, want the writer's", err)
	}
}

// TestAbandon ends a creation, which does not listen, by taking its container
// away.
func TestAbandon(t *testing.T) {
	e := newFakeEngine(t)
	e.answer("rm", "touch removed")
	n := newProvider(t, e).node("drone")
	done := make(chan error)
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(e.dir, "removed")); err == nil {
				close(done)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if err := n.abandon(done); err != nil {
		t.Error(err)
	}
}

func TestLoggerReportsTheSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logs", "drone.log")
	var steps []string
	l, err := openLogger(file, func(step string) { steps = append(steps, step) })
	if err != nil {
		t.Fatal(err)
	}
	info := l.V(0)
	info.Infof("Creating cluster %q ...\n", "x")
	info.Infof(" • %s  ...\n", "Preparing nodes 📦 ")
	info.Infof(" ✓ %s\n", "Preparing nodes 📦 ")
	info.Infof(" • %s  ...\n", "Starting control-plane 🕹️")
	l.V(kindlog.Level(1)).Info("detail")
	l.Warnf("be %s", "careful")
	l.Error("line 1\nline 2")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(steps, "; "); got != "Preparing nodes; Starting control-plane" {
		t.Errorf("steps %q", got)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines = append(lines, text)
	}
	if got, want := strings.Join(lines, "\n"), `level=INFO msg="Creating cluster \"x\" ..."
level=INFO msg="Preparing nodes"
level=INFO msg="Starting control-plane"
level=WARN msg="be careful"
level=ERROR msg="line 1"
level=ERROR msg="line 2"`; got != want {
		t.Errorf("log:\n%s\nwant:\n%s", got, want)
	}
}

// TestUntilEnd ends with the container, and with the wish.
func TestUntilEnd(t *testing.T) {
	e := newFakeEngine(t)
	n := newProvider(t, e).node("drone")
	e.answer("wait", "echo 137")
	if err := n.untilEnd(t.Context()); err == nil || !strings.Contains(err.Error(), "kalypso-cafe-drone-control-plane has ended") {
		t.Error(err)
	}
	e.answer("wait", "exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.untilEnd(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
