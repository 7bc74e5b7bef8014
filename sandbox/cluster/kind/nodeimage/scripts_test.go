package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runScript runs one of the node's scripts with programs of its own in front.
func runScript(t *testing.T, name, programs string, args ...string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{filepath.Join("files", "kind", "bin", name)}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func TestRestrictOOMScore(t *testing.T) {
	const config = "[x]\n  restrict_oom_score_adj = false\n"
	for capabilities, want := range map[string]string{
		"000001ffffffffff": config,
		"000001fffeffffff": strings.Replace(config, "false", "true", 1),
	} {
		dir := t.TempDir()
		status, file := filepath.Join(dir, "status"), filepath.Join(dir, "config.toml")
		must(t, os.WriteFile(status, []byte("CapPrm:\t0000000000000000\nCapEff:\t"+capabilities+"\n"), 0o600))
		must(t, os.WriteFile(file, []byte(config), 0o600))
		runScript(t, "restrict-oom-score.sh", dir, status, file)
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("with capabilities %s: %q, %v", capabilities, got, err)
		}
	}
}

func TestRefuseUnknownServices(t *testing.T) {
	const tool = "#!/bin/sh\nline=\"$(basename $0) $*\"\ncase $line in *' -C '*) [ -n \"$HAS\" ]; exit ;; esac\necho \"$line\" >>\"$(dirname $0)/log\"\n"
	for name, tt := range map[string]struct {
		subnets, has string
		want         []string
	}{
		"one": {"  serviceSubnet: 10.96.0.0/16", "", []string{
			"iptables --wait -A FORWARD -d 10.96.0.0/16 -p tcp -j REJECT --reject-with tcp-reset",
			"iptables --wait -A FORWARD -d 10.96.0.0/16 -j REJECT"}},
		"two, in quotes": {"  serviceSubnet: \"10.1.0.0/16,fd00::/112\"", "", []string{
			"iptables --wait -A FORWARD -d 10.1.0.0/16 -p tcp -j REJECT --reject-with tcp-reset",
			"iptables --wait -A FORWARD -d 10.1.0.0/16 -j REJECT",
			"ip6tables --wait -A FORWARD -d fd00::/112 -p tcp -j REJECT --reject-with tcp-reset",
			"ip6tables --wait -A FORWARD -d fd00::/112 -j REJECT"}},
		"there already": {"  serviceSubnet: 10.96.0.0/16", "1", nil},
		"none":          {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, program := range []string{"iptables", "ip6tables"} {
				must(t, os.WriteFile(filepath.Join(dir, program), []byte(tool), 0o755))
			}
			config := filepath.Join(dir, "kubeadm.conf")
			must(t, os.WriteFile(config, []byte("networking:\n  podSubnet: 10.244.0.0/16\n"+tt.subnets+"\n"), 0o600))
			t.Setenv("HAS", tt.has)
			runScript(t, "refuse-unknown-services.sh", dir, config)
			got, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if want := strings.Join(tt.want, "\n"); strings.TrimSpace(string(got)) != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}
