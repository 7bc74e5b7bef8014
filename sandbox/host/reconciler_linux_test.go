package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	reconcileLimit = 3 * time.Minute
	token          = "a token with \"quotes\""
)

// forge is a git server with one repository, owner/gitops, that only the token opens.
type forge struct {
	t    *testing.T
	work string // a clone
	url  string
	port int
}

func newForge(t *testing.T) *forge {
	t.Helper()
	root := t.TempDir()
	backend := &cgi.Handler{
		Path: "/usr/lib/git-core/git-http-backend",
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	}
	if out, err := exec.Command("git", "--exec-path").Output(); err == nil {
		backend.Path = filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	}
	f := &forge{t: t, work: t.TempDir()}
	f.port = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "flux" || password != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	f.url = fmt.Sprintf("http://localhost:%d", f.port)
	f.git(root, "init", "--quiet", "--bare", "--initial-branch=dev", "owner/gitops")
	f.git(f.work, "init", "--quiet", "--initial-branch=dev")
	f.git(f.work, "remote", "add", "origin", filepath.Join(root, "owner", "gitops"))
	return f
}

func (f *forge) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push makes a commit of files, of which an empty one is removed.
func (f *forge) push(files map[string]string) (commit string) {
	f.t.Helper()
	for name, content := range files {
		file := filepath.Join(f.work, filepath.FromSlash(name))
		if content == "" {
			if err := os.Remove(file); err != nil {
				f.t.Fatal(err)
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			f.t.Fatal(err)
		}
	}
	f.git(f.work, "add", "--all")
	f.git(f.work, "commit", "--quiet", "--message=x")
	f.git(f.work, "push", "--quiet", "origin", "dev")
	return f.git(f.work, "rev-parse", "HEAD")
}

// The role has what is no scheduler's to write: Ansible's own templates.
const role = `- name: the folder
  ansible.builtin.file:
    path: /etc/{{ service }}
    state: "{{ 'directory' if kalypso_state == 'present' else 'absent' }}"
    mode: "0755"
- name: the configuration
  ansible.builtin.copy:
    src: "{{ playbook_dir }}/platform-config.sh"
    dest: /etc/{{ service }}/config
    mode: "0600"
  when: kalypso_state == 'present'
`

func playbook(service string) string {
	return fmt.Sprintf("- name: %s\n  hosts: all\n  gather_facts: false\n  vars: {service: %[1]s}\n  roles: [service]\n", service)
}

func reconciler(t *testing.T, h Host, f *forge, interval time.Duration) *Reconciler {
	t.Helper()
	return NewReconciler(&Reconciler{
		Host: h, Forge: f.url, Interval: interval, Log: slog.New(slog.DiscardHandler),
		Follows:     []Follows{{Name: "platform-dev", URL: f.url + "/owner/gitops", Branch: "dev", Path: "edge-vm"}},
		Credentials: func() (string, string, error) { return "flux", token, nil },
	})
}

// reconcile has a reconciler run until the test ends, or stop is called.
func reconcile(t *testing.T, r *Reconciler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.run(ctx, func(string) {}, func() {}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// reaches waits for a state of what follows the branch, at a commit.
func (f *forge) reaches(r *Reconciler, commit string, state fleet.State) fleet.Configuration {
	f.t.Helper()
	var last []fleet.Configuration
	err := retry.Until(f.t.Context(), fmt.Sprintf("%s at %.8s", state, commit), reconcileLimit, func(ctx context.Context) (err error) {
		last, err = Fleet{r}.Observe(ctx, fleet.Source{Repo: f.url + "/owner/gitops.git", Branch: "dev"})
		if err == nil && (len(last) == 0 || last[0].Commit != commit || last[0].State != state) {
			err = fmt.Errorf("%+v", last)
		}
		return err
	}, retry.Every(50*time.Millisecond))
	if err != nil {
		log, _ := os.ReadFile(r.Host.Log("ansible-edge-1"))
		f.t.Fatalf("%v\n%s", err, log)
	}
	return last[0]
}

// foreignPackage is a Debian package for machines of another architecture.
func foreignPackage(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	control := "Package: shop\nVersion: 1.0\nArchitecture: other\nMaintainer: x <x@example.com>\nDescription: x\n"
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "DEBIAN"), 0o755), os.WriteFile(filepath.Join(dir, "DEBIAN", "control"), []byte(control), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg-deb", "--build", dir, dir+".deb").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(dir + ".deb")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestReconciler goes through a host's life: it applies, notices what was changed by hand,
// fails with file and line and without keeping others back, is away for two commits, and
// removes what has left git.
func TestReconciler(t *testing.T) {
	f := newForge(t)
	h := newHost(t, f.port)
	stopHost := start(t, h)
	// every character that a shell, YAML or Jinja may take for its own
	const config = "export GREETING='it'\\''s $HOME `id` \"{{ x }}\" \\\\n\nsecond line\n'\n"
	first := f.push(map[string]string{
		"roles/service/tasks/main.yml":      role,
		"edge-vm/README.md":                 "x",
		"edge-vm/shop/reconciler.yaml":      playbook("shop"),
		"edge-vm/shop/platform-config.sh":   config,
		"edge-vm/till/reconciler.yaml":      playbook("till"),
		"edge-vm/till/platform-config.sh":   "export A='a'\n",
		"other-type/shop2/reconciler.yaml":  playbook("never"),
		"edge-vm/deeper/in/reconciler.yaml": playbook("never"),
	})
	r := reconciler(t, h, f, time.Hour)
	if got := r.Report().Cluster(); got.Unknown == "" {
		t.Errorf("before it runs: %+v", got)
	}
	stop := reconcile(t, r)
	f.reaches(r, first, fleet.Compliant)
	if got := sh(t, h, "ls -d /etc/shop /etc/till /etc/never 2>/dev/null || true"); got != "/etc/shop\n/etc/till" {
		t.Errorf("applied: %q", got)
	}
	got, err := h.Output(t.Context(), nil, "sh", "-c", `. /etc/shop/config; printf %s "$GREETING"`)
	if want := "it's $HOME `id` \"{{ x }}\" \\\\n\nsecond line\n"; string(got) != want || err != nil {
		t.Errorf("the value arrives as %q, %v; it is %q", got, err, want)
	}
	if ok, changed, failed := r.Report().Subscriptions[0].Tasks(); changed != 4 || failed != 0 {
		t.Errorf("tasks: %d ok, %d changed, %d failed", ok, changed, failed)
	}

	// a push is applied without the interval having passed, which is an hour
	bad := f.push(map[string]string{"edge-vm/shop/reconciler.yaml": "- hosts: all\n  tasks:\n  - name: x\n   copy: {}\n", "edge-vm/till/platform-config.sh": "export A='b'\n"})
	r.Notify("owner/elsewhere", "dev")
	r.Notify("owner/gitops", "dev")
	c := f.reaches(r, bad, fleet.NonCompliant)
	if !strings.Contains(c.Reason, "edge-vm/shop/reconciler.yaml:4:") {
		t.Errorf("a playbook that cannot be read: %q", c.Reason)
	}
	err = retry.Until(t.Context(), "the other assignment", reconcileLimit, func(context.Context) error {
		if got := sh(t, h, "cat /etc/till/config"); got != "export A='b'" {
			return fmt.Errorf("it has %q", got)
		}
		return nil
	}, retry.Every(50*time.Millisecond))
	if err != nil {
		t.Error(err)
	}
	f.push(map[string]string{"edge-vm/shop/reconciler.yaml": playbook("shop"), "roles/service/tasks/main.yml": role + "- name: breaks\n  ansible.builtin.command: 'false'\n  when: service == 'shop'\n"})
	r.Notify("owner/gitops", "dev")
	c = f.reaches(r, f.git(f.work, "rev-parse", "HEAD"), fleet.NonCompliant)
	if !strings.Contains(c.Reason, "roles/service/tasks/main.yml:12: task \"service : breaks\"") {
		t.Errorf("a task that fails: %q", c.Reason)
	}

	// a package of another machine's kind; dpkg says what is wrong, and where the task is
	f.push(map[string]string{"edge-vm/shop/shop.deb": foreignPackage(t), "roles/service/tasks/main.yml": role + "- name: the package\n  ansible.builtin.command: dpkg --install {{ playbook_dir }}/shop.deb\n  when: service == 'shop'\n"})
	r.Notify("owner/gitops", "dev")
	c = f.reaches(r, f.git(f.work, "rev-parse", "HEAD"), fleet.NonCompliant)
	if !strings.Contains(c.Reason, "roles/service/tasks/main.yml:12: task \"service : the package\"") || !strings.Contains(c.Reason, "architecture (other)") {
		t.Errorf("a package of another architecture: %q", c.Reason)
	}

	// away for two commits, of which the first removes what the second does not bring back
	stop()
	stopHost()
	if got := r.Report().Cluster(); got.Unknown == "" || got.LastSeen.IsZero() || got.Subscriptions[0].State != fleet.Unknown {
		t.Errorf("a host that is stopped: %+v", got)
	}
	f.push(map[string]string{"edge-vm/till/reconciler.yaml": "", "edge-vm/till/platform-config.sh": "", "roles/service/tasks/main.yml": role})
	last := f.push(map[string]string{"edge-vm/shop/platform-config.sh": "export A='c'\n"})
	start(t, h)
	r = reconciler(t, h, f, 2*time.Second)
	reconcile(t, r)
	f.reaches(r, last, fleet.Compliant)
	if got := sh(t, h, "cat /etc/shop/config; test -e /etc/till || echo gone"); got != "export A='c'\ngone" {
		t.Errorf("after two commits: %q", got)
	}

	sh(t, h, "echo changed >/etc/shop/config")
	err = retry.Until(t.Context(), "the change by hand", reconcileLimit, func(context.Context) error {
		for _, s := range r.Report().Cluster().Subscriptions {
			if strings.Contains(s.Edited, "task \"service : the configuration\"") && !s.EditedAt.IsZero() {
				return nil
			}
		}
		return fmt.Errorf("%+v", r.Report().Cluster().Subscriptions)
	}, retry.Every(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, h, "cat /etc/shop/config"); got != "export A='c'" {
		t.Errorf("a file that was changed by hand: %q", got)
	}
}
