package controller

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitpack"
)

// maxResident is what a scheduler may have in memory, in MiB: 512, its cache of
// 128, and the binary and the runtime.
const maxResident = 768

// serveVariable names the configuration that a process of this test serves.
const serveVariable = "KALYPSO_TEST_SERVE"

// TestMemoryOfTheProcess serves platforms that take as much as anybody can make
// them take, in a process of its own, and asks the kernel for the most that this
// process has ever had in memory. Every environment is planned twice, the second
// time while what is known from the first is still there.
func TestMemoryOfTheProcess(t *testing.T) {
	if config := os.Getenv(serveVariable); config != "" {
		serveUntilSignal(t, config)
		return
	}
	if testing.Short() {
		t.Skip("it reads a gigabyte")
	}
	marks := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: x}\nspec: {reconciler: a, namespaceService: b}\nx:\n" + strings.Repeat("- a\n", 120_000)
	text := append([]byte("# scheduler.kalypso.io "), bytes.Repeat([]byte("x"), 7<<20)...)
	for name, size := range map[string]struct {
		repositories map[string]func(*gitpack.Packer) plumbing.Hash // of workloads, each several times
		times        int
		own          string // a file that is in each environment's own branch, as often
	}{
		"repositories that stand for much": {times: 2, repositories: map[string]func(*gitpack.Packer) plumbing.Hash{
			"zeros": func(p *gitpack.Packer) plumbing.Hash {
				return p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, make([]byte, 512<<20)), "zeros.bin", "zeros.yaml"))
			},
			"names": func(p *gitpack.Packer) plumbing.Hash {
				files := p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), gitpack.Names(500, 2000)...)
				return p.Commit(p.Tree(gitpack.Folder, files, gitpack.Names(500, 2000)...))
			},
			"folders": func(p *gitpack.Packer) plumbing.Hash {
				of := p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), "x.yaml")
				for range 20_000 {
					of = p.Tree(gitpack.Folder, of, "d")
				}
				return p.Commit(of)
			},
		}},
		"repositories within the limits": {times: 5, repositories: map[string]func(*gitpack.Packer) plumbing.Hash{
			"fields": func(p *gitpack.Packer) plumbing.Hash {
				return p.Commit(p.Files(p.Object(plumbing.BlobObject, []byte(marks))))
			},
			"texts": func(p *gitpack.Packer) plumbing.Hash {
				var blobs []plumbing.Hash
				for i := range 6 {
					text[len(text)-1] = byte('a' + i)
					blobs = append(blobs, p.Object(plumbing.BlobObject, text))
				}
				return p.Commit(p.Files(blobs...))
			},
		}},
		"branches of environments": {own: marks, times: 12},
	} {
		t.Run(name, func(t *testing.T) {
			environments := []string{"dev", "test", "stage", "prod"}
			s := githubfake.Start(t)
			files := newPlatform(environments...)
			hostile := map[string]http.Handler{}
			for name, make := range size.repositories {
				p := new(gitpack.Packer)
				head := make(p)
				pack := p.Pack(p.Count())
				for i := range size.times {
					name := fmt.Sprintf("%s%d", name, i)
					hostile["/"+name+".git"] = gitpack.Handler(head, 0, pack)
				}
			}
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				repo, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
				hostile["/"+repo].ServeHTTP(w, r)
			}))
			defer elsewhere.Close()
			registrations := ""
			for path := range hostile {
				registrations += object("WorkloadRegistration", strings.Trim(strings.TrimSuffix(path, ".git"), "/"), "", fmt.Sprintf("{workload: {repo: %q, branch: main, path: .}, workspace: team}", elsewhere.URL+path))
			}
			files.Push(platform, "main", map[string]string{"registrations/hostile.yaml": registrations})
			for _, e := range environments {
				own := map[string]string{}
				for i := range size.times {
					if size.own != "" {
						own[fmt.Sprintf("own/%d.yaml", i)] = fmt.Sprintf("%s- %d\n", size.own, i)
					}
				}
				files.Push(platform, e, own)
			}
			for repo, branches := range map[string][]string{platform: append([]string{"main"}, environments...), app: {"main"}, gitOps: environments} {
				for _, branch := range branches {
					moved := map[string]string{}
					for name, content := range files.Files(repo, branch) {
						moved[name] = strings.ReplaceAll(content, strings.TrimSuffix(forgefake.URL("acme/"), ".git"), s.URL+"/acme/")
					}
					s.Push(repo, branch, moved)
				}
			}
			p := startProcess(t, s)
			p.await(`address=(\S+)`, 1)
			for _, e := range environments {
				p.await("environment run.*environment="+e, 1)
			}
			for _, e := range environments {
				s.Push(platform, e, map[string]string{"config.yaml": config("west")})
				p.pushed(s, e)
				p.await("environment run.*environment="+e, 2)
			}
			resident := p.resident()
			t.Logf("%d MiB at most", resident)
			if resident > maxResident {
				t.Errorf("%d MiB in memory, %d are the limit", resident, maxResident)
			}
		})
	}
}

// serveUntilSignal is the process that is measured. It ends with its standard
// input, so that it does not outlive the test.
func serveUntilSignal(t *testing.T, file string) {
	config, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := ossignal.NotifyContext(t.Context(), syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := Serve(ctx, config, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
		t.Fatal(err)
	}
}

// process is a scheduler in a process of its own.
type process struct {
	*testing.T
	command *exec.Cmd
	mu      sync.Mutex
	log     []string
	news    chan struct{} // closed and made anew with every line
	address string
}

func startProcess(t *testing.T, s *githubfake.Server) *process {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "scheduler.yaml")
	for name, content := range map[string]string{
		"app.pem": string(s.App("kalypso", 7, 8)), "secret": secretly + "\n",
		"scheduler.yaml": fmt.Sprintf(`forge: {type: github, url: %q, app: {id: 7, installation: 8, keyFile: app.pem}}
controlPlanes: [{repo: %q}]
webhookSecretFile: secret
listen: 127.0.0.1:0
poll: 1h
`, s.URL, s.CloneURL(platform)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{T: t, command: exec.Command(os.Args[0], "-test.run=^TestMemoryOfTheProcess$"), news: make(chan struct{})}
	p.command.Env = append(os.Environ(), serveVariable+"="+file)
	stdin, err := p.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.mu.Lock()
			p.log = append(p.log, lines.Text())
			close(p.news)
			p.news = make(chan struct{})
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-read
		if err := p.command.Wait(); err != nil {
			t.Errorf("the scheduler ended with %v", err)
		}
		if t.Failed() {
			for _, line := range p.log {
				t.Logf("%.300s", line)
			}
		}
	})
	return p
}

// await waits until so many lines of the log match.
func (p *process) await(pattern string, times int) {
	p.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(2 * time.Minute)
	for {
		p.mu.Lock()
		n, news := 0, p.news
		for _, line := range p.log {
			if m := re.FindStringSubmatch(line); m != nil {
				if n++; len(m) > 1 {
					p.address = "http://" + m[1]
				}
			}
		}
		p.mu.Unlock()
		if n >= times {
			return
		}
		select {
		case <-news:
		case <-deadline:
			p.Fatalf("waited 2 minutes for %q, %d times", pattern, times)
		}
	}
}

// pushed reports a push to the control plane.
func (p *process) pushed(s *githubfake.Server, branch string) {
	p.Helper()
	body, err := json.Marshal(map[string]any{"ref": "refs/heads/" + branch, "repository": map[string]any{"clone_url": s.CloneURL(platform)}})
	if err != nil {
		p.Fatal(err)
	}
	q, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.address+"/webhook", bytes.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	q.Header.Set("X-GitHub-Event", "push")
	q.Header.Set("X-GitHub-Delivery", branch)
	q.Header.Set("X-Hub-Signature-256", "sha256="+sign(secretly, body))
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		p.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		p.Fatalf("webhook: %d", answer.StatusCode)
	}
}

// resident is the most that the process has had in memory, in MiB.
func (p *process) resident() int {
	p.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		kilobytes := 0
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes >> 10
		}
	}
	p.Fatalf("the kernel reports no VmHWM: %s", status)
	return 0
}
