package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/node"
)

// TestHostLeavesTheMachineAlone: a host is changed in every way that installing and
// configuring does, and nothing of the machine is.
func TestHostLeavesTheMachineAlone(t *testing.T) {
	needHosts(t)
	before := fingerprint(t)
	port := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the forge") }))
	h := newHost(t, port)
	stop := start(t, h)

	if got := sh(t, h, "hostname; echo $$ | wc -c"); !strings.HasPrefix(got, "edge-1\n") {
		t.Errorf("hostname: %q", got)
	}
	sh(t, h, `set -e
		useradd --system --create-home --home-dir /srv/shop shop
		echo changed >/etc/hostname; rm /etc/passwd-; mkdir /etc/shop; echo a >/etc/shop/a
		rm /usr/bin/env; echo new >/usr/bin/new; rm -r /usr/share/doc
		mkdir -p /tmp/p/DEBIAN /tmp/p/usr/bin
		printf 'Package: shop\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@example.com>\nDescription: x\n' >/tmp/p/DEBIAN/control
		echo 'echo sold' >/tmp/p/usr/bin/shop; chmod +x /tmp/p/usr/bin/shop
		dpkg-deb --build /tmp/p /tmp/p.deb >/dev/null; dpkg --install /tmp/p.deb >/dev/null`)
	if got := sh(t, h, "shop; dpkg-query --show --showformat '${Version}' shop; id -un shop"); got != "sold\n1.0shop" {
		t.Errorf("the package: %q", got)
	}
	if got := sh(t, h, fmt.Sprintf(`python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:%d/").read().decode())'`, port)); got != "the forge" {
		t.Errorf("the forge: %q", got)
	}

	t.Run("what it may not", func(t *testing.T) {
		for name, script := range map[string]string{
			"make a device":             "mknod /var/disk b 254 0",
			"mount":                     "mount -t tmpfs tmpfs /srv",
			"make the layers writable":  "mount -o remount,rw /usr",
			"see the machine's files":   "test -e /home -o -e " + filepath.Dir(h.Dir),
			"see the machine's network": "grep -v -e lo: -e face -e Inter /proc/net/dev",
			"see the machine's devices": "test -e /dev/kmsg -o -e /dev/vda -o -e /dev/sda",
			"see the machine's processes": fmt.Sprintf("test -d /proc/%d && tr '\\0' ' ' </proc/%[1]d/cmdline | grep host.test",
				os.Getpid()),
			"change the kernel's settings": "echo 1 >/proc/sys/vm/drop_caches",
			"change the clock":             "date --set=2001-01-01",
		} {
			if out, err := h.Output(t.Context(), nil, "sh", "-c", script); err == nil {
				t.Errorf("%s: %s", name, out)
			}
		}
	})
	t.Run("bounds", func(t *testing.T) {
		// more than the bound; the kernel ends it, and nothing else
		if out, err := h.Output(t.Context(), nil, "python3", "-c", fmt.Sprintf("x = bytearray(%d); print(len(x))", Memory+64<<20)); err == nil {
			t.Errorf("memory: %s", out)
		}
		const forks = `
import os, signal
made = []
try:
    while len(made) <= %d:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        made.append(pid)
except OSError:
    print("refused")
for pid in made:
    os.kill(pid, signal.SIGKILL)
`
		out, err := h.Output(t.Context(), nil, "python3", "-c", fmt.Sprintf(forks, Processes))
		if string(out) != "refused\n" || err != nil {
			t.Errorf("processes: %v %s", err, out)
		}
	})
	t.Run("ends of processes", func(t *testing.T) {
		// their parent has ended, so the first process takes their ends
		sh(t, h, "sleep 0.1 >/dev/null 2>&1 &")
		if err := retry.Until(t.Context(), "end of the processes", endLimit, func(context.Context) error {
			if out, err := h.Output(t.Context(), nil, "pgrep", "sleep"); err == nil {
				return fmt.Errorf("left: %s", out)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})

	stop()
	if left, err := node.Leftovers(h.Dir); err != nil || len(left) > 0 {
		t.Errorf("left after stop: %q, %v", left, err)
	}
	start(t, h)
	if got := sh(t, h, "shop; cat /etc/hostname /usr/bin/new; test -e /usr/bin/env || echo gone"); got != "sold\nchanged\nnew\ngone" {
		t.Errorf("what was written is not there after a restart: %q", got)
	}
	if err := h.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(h.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
	if after := fingerprint(t); after != before {
		t.Error("/etc, /usr or dpkg's database of the machine has changed")
	}
}

// TestHostEndsWithItsDaemon: nothing of a host runs on when the daemon is killed, and the
// next one goes on with the same files.
func TestHostEndsWithItsDaemon(t *testing.T) {
	h := newHost(t, 1)
	daemon := exec.Command("/proc/self/exe")
	daemon.Env = append(os.Environ(), daemonEnv+"="+filepath.Dir(h.Dir))
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the daemon: %q", line)
	}
	sh(t, h, "echo kept >/etc/kept; sleep 1000 >/dev/null 2>&1 &")
	if left, _ := node.Leftovers(h.Dir); len(left) < 3 {
		t.Fatalf("running: %q", left)
	}
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = daemon.Wait()
	err = retry.Until(t.Context(), "end of the host", endLimit, func(context.Context) error {
		left, err := node.Leftovers(h.Dir)
		for _, l := range left {
			if strings.HasPrefix(l, "process") {
				return fmt.Errorf("%q", left)
			}
		}
		return err
	}, retry.Every(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	start(t, h)
	if got := sh(t, h, "cat /etc/kept; pgrep sleep || echo none"); got != "kept\nnone" {
		t.Errorf("after the restart: %q", got)
	}
}
