package sandbox

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigOf makes a kubeconfig of contexts with a server each.
func kubeconfigOf(current string, servers map[string]string) clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	for name, server := range servers {
		c.Clusters[name] = &clientcmdapi.Cluster{Server: server}
		c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "of " + name}
		c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	c.CurrentContext = current
	return *c
}

// kubeconfigHarness is a sandbox with two clusters and a place for the user's kubeconfig.
func kubeconfigHarness(t *testing.T) (Home, string) {
	t.Helper()
	h := Home(filepath.Join(t.TempDir(), "home"))
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		t.Fatal(err)
	}
	ours := kubeconfigOf("drone", map[string]string{"drone": "https://127.0.0.1:20001", "large": "https://127.0.0.1:20002"})
	if err := clientcmd.WriteToFile(ours, h.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	return h, filepath.Join(t.TempDir(), ".kube", "config")
}

func write(t *testing.T, file string, c clientcmdapi.Config) string {
	t.Helper()
	if err := clientcmd.WriteToFile(c, file); err != nil {
		t.Fatal(err)
	}
	return content(t, file)
}

func content(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func merge(t *testing.T, h Home, file string, switchTo bool) {
	t.Helper()
	context := ""
	if switchTo {
		context = CurrentContext(h)
	}
	names, err := MergeKubeconfig(h, file, context)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"drone", "large"}, names); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
}

func unmerge(t *testing.T, h Home) string {
	t.Helper()
	file, err := UnmergeKubeconfig(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mergedFile(h)); err == nil {
		t.Error("the note is still there")
	}
	return file
}

func TestMergeAndUnmerge(t *testing.T) {
	for _, switchTo := range []bool{false, true} {
		h, file := kubeconfigHarness(t)
		before := write(t, file, kubeconfigOf("work", map[string]string{"work": "https://work.example.com"}))
		merge(t, h, file, switchTo)
		c, err := clientcmd.LoadFromFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := "work"
		if switchTo {
			want = "drone"
		}
		if c.CurrentContext != want || len(c.Contexts) != 3 || c.Clusters["large"].Server != "https://127.0.0.1:20002" || c.AuthInfos["drone"].Token != "of drone" {
			t.Errorf("switch %v: current context %s, %d contexts", switchTo, c.CurrentContext, len(c.Contexts))
		}
		merge(t, h, file, switchTo) // once more changes nothing
		if got := unmerge(t, h); got != file {
			t.Errorf("unmerged %q", got)
		}
		if diff := cmp.Diff(before, content(t, file)); diff != "" {
			t.Errorf("switch %v: not as before (-before +after):\n%s", switchTo, diff)
		}
		if got := unmerge(t, h); got != "" {
			t.Errorf("once more: %q", got)
		}
	}
}

func TestMergeMakesAndRemovesTheFile(t *testing.T) {
	h, file := kubeconfigHarness(t)
	merge(t, h, file, true)
	merge(t, h, file, false)
	unmerge(t, h)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file that Merge made is still there: %v", err)
	}
	if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnmergeKeepsWhatUsersChanged(t *testing.T) {
	h, file := kubeconfigHarness(t)
	merge(t, h, file, true)
	c, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.Clusters["large"].Server = "https://large.example.com"
	c.CurrentContext = "large"
	write(t, file, *c)
	unmerge(t, h)
	after, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Contexts) != 1 || after.Clusters["large"].Server != "https://large.example.com" || after.CurrentContext != "large" {
		t.Errorf("%d contexts, current %s", len(after.Contexts), after.CurrentContext)
	}
}

func TestUnmergeOfAFileThatIsGone(t *testing.T) {
	h, file := kubeconfigHarness(t)
	merge(t, h, file, false)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	unmerge(t, h)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("unmerging makes a file: %v", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, h Home, file string) string // the file to merge into
		want    string
	}{
		{"a name that is taken", func(t *testing.T, _ Home, file string) string {
			write(t, file, kubeconfigOf("", map[string]string{"drone": "https://drone.example.com"}))
			return file
		}, "drone that is not the sandbox's"},
		{"a user's name that is taken", func(t *testing.T, _ Home, file string) string {
			c := clientcmdapi.NewConfig()
			c.AuthInfos["large"] = &clientcmdapi.AuthInfo{Token: "x"}
			write(t, file, *c)
			return file
		}, "large that is not the sandbox's"},
		{"the sandbox's own file", func(_ *testing.T, h Home, _ string) string { return h.Kubeconfig() }, "is the sandbox's own"},
		{"a second file", func(t *testing.T, h Home, file string) string {
			merge(t, h, file, false)
			return file + "2"
		}, "merged into"},
		{"a file that is none", func(t *testing.T, _ Home, file string) string {
			write(t, file, *clientcmdapi.NewConfig())
			if err := os.WriteFile(file, []byte("a: ["), 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}, "config:"},
		{"a file that is locked", func(t *testing.T, _ Home, file string) string {
			write(t, file, *clientcmdapi.NewConfig())
			if err := os.WriteFile(file+".lock", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}, "another program"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, file := kubeconfigHarness(t)
			file = test.prepare(t, h, file)
			before, _ := os.ReadFile(file)
			_, noted := os.Stat(mergedFile(h))
			_, err := MergeKubeconfig(h, file, "")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if after, _ := os.ReadFile(file); string(after) != string(before) {
				t.Errorf("the file has changed to\n%s", after)
			}
			if _, err := os.Stat(mergedFile(h)); (err == nil) != (noted == nil) {
				t.Errorf("the note: %v", err)
			}
		})
	}
}

func TestMergeKeepsALink(t *testing.T) {
	h, file := kubeconfigHarness(t)
	target := filepath.Join(t.TempDir(), "elsewhere")
	write(t, target, kubeconfigOf("work", map[string]string{"work": "https://work.example.com"}))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
	merge(t, h, file, false)
	if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is a file now")
	}
	if !strings.Contains(content(t, target), "drone") {
		t.Error("the linked file has no context drone")
	}
}

func TestUserKubeconfig(t *testing.T) {
	t.Setenv("HOME", "/home/user")
	for value, want := range map[string]string{
		"":             "/home/user/.kube/config",
		"/a/config":    "/a/config",
		"/a/config:/b": "/a/config",
	} {
		t.Setenv("KUBECONFIG", value)
		if got, err := UserKubeconfig(); got != want || err != nil {
			t.Errorf("KUBECONFIG=%q: %s, %v", value, got, err)
		}
	}
}

// The file belongs to the user: its mode and owner are as they were.
func TestMergeKeepsModeAndOwner(t *testing.T) {
	h, file := kubeconfigHarness(t)
	write(t, file, kubeconfigOf("work", map[string]string{"work": "https://work.test"}))
	owner := uint32(os.Getuid())
	if owner == 0 {
		owner = 4242
	}
	if err := errors.Join(os.Chown(file, int(owner), -1), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(){func() { merge(t, h, file, true) }, func() { unmerge(t, h) }} {
		change()
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != owner || info.Mode().Perm() != 0o640 {
			t.Errorf("user %d, mode %v", got, info.Mode())
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// kubectl would wait for a cluster whose etcd cannot write for as long as its user
// does.
func TestClusterAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		ok     bool
	}{
		"ready":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }, true},
		"still starting": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "[-]poststarthook/x failed", 500) }, true},
		"forbidden":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, true},
		"without etcd": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "[+]ping ok\n[-]etcd failed: reason withheld", 500)
		}, false},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.answer)
			t.Cleanup(server.Close)
			h := Home(t.TempDir())
			if err := clientcmd.WriteToFile(kubeconfigOf("drone", map[string]string{"drone": server.URL, "gone": "http://127.0.0.1:1"}), h.Kubeconfig()); err != nil {
				t.Fatal(err)
			}
			for _, context := range []string{"", "drone"} {
				if err := ClusterAnswers(t.Context(), h, context); (err == nil) != c.ok {
					t.Errorf("context %q: %v", context, err)
				}
			}
			for _, context := range []string{"gone", "unknown"} {
				if err := ClusterAnswers(t.Context(), h, context); err != nil {
					t.Errorf("context %q: %v", context, err)
				}
			}
		})
	}
}
