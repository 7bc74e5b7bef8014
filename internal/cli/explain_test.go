package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/rogpeppe/go-internal/txtar"
)

// explainFlags puts the hello-world tutorial's repositories into folders and
// returns the flags that name them.
func explainFlags(t *testing.T, more ...txtar.File) []string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "..", "scheduler", "plan", "testdata", "inputs", "hello-world.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range append(archive.Files, more...) {
		branch, path, _ := strings.Cut(file.Name, "/")
		if strings.HasPrefix(path, ".environments/") {
			branch = "control@dev" // the one folder of the control plane is all its branches
		}
		path = filepath.Join(dir, strings.ReplaceAll(branch, "@", "-"), filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gitops := filepath.Join(dir, "gitops")
	if err := os.MkdirAll(gitops, 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{
		"--control-plane", filepath.Join(dir, "control-dev"),
		"--base", filepath.Join(dir, "control-main"),
		"--workload", "hello-world-app=" + filepath.Join(dir, "app-src-main"),
		"--gitops", gitops,
	}
}

// Only one of several environments has the target: nobody needs to name it.
func TestExplainFindsTheEnvironment(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	var e explain.Explanation
	code, out, talk := call(t, "explain", "basic-inference-dev", "-o", "json", "--control-plane", cp)
	if code != cmdutil.ExitOK {
		t.Fatalf("exit code %d: %s", code, talk)
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Environment != "dev" {
		t.Errorf("explained for %q: %v", e.Environment, err)
	}
	if code, _, talk := call(t, "explain", "basic-inference-dve", "--control-plane", cp); code != cmdutil.ExitUsage {
		t.Errorf("a target that no environment has: exit code %d: %s", code, talk)
	}
}

func TestExplain(t *testing.T) {
	flags := explainFlags(t)
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"a target", []string{"explain", "hello-world-app-functional-test"}, []string{
			"hello-world-app-functional-test is assigned to 1 of 4 cluster types in dev.\n",
			"  drone  by functional-test-policy\n",
			"wants edge=true, cluster type has no label edge\n",
			"wanted at  scheduling/kaizen/functional-test-policy.yaml:16:9\n",
			"app-src-main@main:workload/workload.yaml:10:7\n",
		}},
		{"a pair", []string{"explain", "functional-test", "drone", "-e", "dev"}, []string{
			"hello-world-app-functional-test is assigned to drone in dev by functional-test-policy.\n",
			"  DATABASE_URL = mysql://restricted-host:3306/mysqlrty123\n      from  restricted-config  configs/restricted-config.yaml:9:3\n",
			"  add     drone/hello-world-app-functional-test/namespace.yaml\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, talk := call(t, append(c.args, flags...)...)
			if code != cmdutil.ExitOK {
				t.Fatalf("exit code %d: %s", code, talk)
			}
			for _, says := range c.says {
				if !strings.Contains(out, says) {
					t.Errorf("does not say %q:\n%s", says, out)
				}
			}
			if strings.Contains(out, "\x1b") {
				t.Errorf("colours outside of a terminal:\n%q", out)
			}
		})
	}
}

func TestExplainAsJSON(t *testing.T) {
	code, out, talk := call(t, append([]string{"explain", "functional-test", "small", "-o", "json"}, explainFlags(t)...)...)
	var e explain.Explanation
	if err := json.Unmarshal([]byte(out), &e); code != cmdutil.ExitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, talk)
	}
	if e.Target.Name != "hello-world-app-functional-test" || e.Nearest == nil || e.Nearest.Policy != "functional-test-policy" || e.Pair == nil {
		t.Errorf("got %s", out)
	}
}

func TestExplainMistakes(t *testing.T) {
	flags := explainFlags(t)
	broken := explainFlags(t, txtar.File{Name: "app-src@main/workload/workload.yaml", Data: []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\n  name: x\n")})
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no target", append([]string{"explain"}, flags...), cmdutil.ExitUsage, []string{"usage: kalypso explain DEPLOYMENT_TARGET [CLUSTER_TYPE]"}},
		{"too much", append([]string{"explain", "a", "b", "c"}, flags...), cmdutil.ExitUsage, []string{"usage: kalypso explain"}},
		{"an output there is not", append([]string{"explain", "a", "-o", "yaml"}, flags...), cmdutil.ExitUsage, []string{"choose text or json"}},
		{"a target there is not", append([]string{"explain", "hello-world-app-functionaltest"}, flags...), cmdutil.ExitUsage,
			[]string{"there is no deployment target hello-world-app-functionaltest in dev", "did you mean hello-world-app-functional-test?", "\n  hello-world-app-performance-test\n"}},
		{"a cluster type there is not", append([]string{"explain", "functional-test", "dron"}, flags...), cmdutil.ExitUsage,
			[]string{"there is no cluster type dron in dev", "did you mean drone?", "\n  command-center\n"}},
		{"another environment's", append([]string{"explain", "hello-world-app-uat-test"}, flags...), cmdutil.ExitUsage,
			[]string{"hello-world-app-uat-test is a deployment target of stage, not of dev"}},
		{"an environment there is not", append([]string{"explain", "functional-test", "-e", "deb"}, flags...), cmdutil.ExitUsage,
			[]string{"there is no environment deb", "did you mean dev?"}},
		{"a workload that cannot be read", append([]string{"explain", "hello-world-app-functional-test"}, broken...), cmdutil.ExitFailure,
			[]string{"there is no deployment target hello-world-app-functional-test in dev", "not valid YAML", "workload.yaml:3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, talk := call(t, c.args...)
			if code != c.code || out != "" {
				t.Errorf("exit code %d, want %d; on stdout %q", code, c.code, out)
			}
			for _, says := range c.says {
				if strings.Count(talk, says) != 1 {
					t.Errorf("says %q, want once %q", talk, says)
				}
			}
		})
	}
}
