// Command bench measures the built kalypso as its users meet it, in a sandbox
// of its own, and prints the figures with the facts of the machine. It fails
// only when something does not work, never because it is slow.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

func main() {
	binary := flag.String("kalypso", "bin/kalypso", "the built program")
	idle := flag.Duration("idle", 30*time.Second, "how long to watch the idle sandbox's CPU time")
	flag.Parse()
	if err := run(*binary, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	binary string
	home   string
	table  *tabwriter.Writer
}

func run(binary string, idle time.Duration) (err error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w; `make build` makes it", err)
	}
	home, err := os.MkdirTemp("", "kalypso-bench-")
	if err != nil {
		return err
	}
	b := &bench{path, home, tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)}
	defer func() {
		_, downErr := b.kalypso("down", "--delete")
		err = errors.Join(err, downErr)
	}()
	fmt.Printf("%s, %d CPUs, %s\n\n", runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(), model())
	b.figure("size of the binary", fmt.Sprintf("%d MiB", info.Size()>>20))

	if err := b.timed("first up, programs to unpack", "up"); err != nil {
		return err
	}
	if err := b.timed("up on a running sandbox", "up"); err != nil {
		return err
	}
	out, err := b.kalypso("scenario", "run", "--all", "-o", "json")
	if err != nil {
		return err
	}
	if err := b.measurements(out); err != nil {
		return err
	}
	if err := b.idle(idle); err != nil {
		return err
	}
	if err := b.virtual(idle); err != nil {
		return err
	}
	if err := b.timed("down", "down"); err != nil {
		return err
	}
	if err := b.timed("up again", "up"); err != nil {
		return err
	}
	if err := b.timed("down --delete", "down", "--delete"); err != nil {
		return err
	}
	return b.table.Flush()
}

func (b *bench) figure(what, value string) { fmt.Fprintf(b.table, "%s\t%s\n", what, value) }

func (b *bench) kalypso(args ...string) ([]byte, error) {
	cmd := exec.Command(b.binary, args...)
	cmd.Env = append(os.Environ(), "KALYPSO_HOME="+b.home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kalypso %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

func (b *bench) timed(what string, args ...string) error {
	began := time.Now()
	if _, err := b.kalypso(args...); err != nil {
		return err
	}
	b.figure(what, fmt.Sprintf("%.2f s", time.Since(began).Seconds()))
	return nil
}

// measurements prints what scenarios have measured.
func (b *bench) measurements(out []byte) error {
	var results []scenarios.Result
	if err := json.Unmarshal(out, &results); err != nil {
		return fmt.Errorf("report of the scenario: %w", err)
	}
	for _, r := range results {
		b.figure("scenario "+r.Name, fmt.Sprintf("%.2f s", r.Took.Seconds()))
		for _, m := range r.Measurements {
			b.figure("  "+m.Name, fmt.Sprintf("%.2f s", m.Took.Seconds()))
		}
	}
	return nil
}

// idle prints each process's resident memory and the CPU time it uses while
// nobody does anything.
func (b *bench) idle(watched time.Duration) error {
	status, err := b.status()
	if err != nil {
		return err
	}
	before := map[int]time.Duration{status.PID: cpuTime(status.PID)}
	for _, c := range status.Components {
		before[c.PID] = cpuTime(c.PID)
	}
	time.Sleep(watched)
	memory := status.MemoryBytes
	cpu := cpuTime(status.PID) - before[status.PID]
	alone := cpu // the daemon is above all the others
	show := func(name string, memory int64, used time.Duration) {
		b.figure("  "+name, fmt.Sprintf("%d MiB, idle %.1f %% of a core", memory>>20, 100*used.Seconds()/watched.Seconds()))
	}
	for _, c := range status.Components {
		if c.PID == 0 {
			continue
		}
		used := cpuTime(c.PID) - before[c.PID]
		memory += c.MemoryBytes
		alone -= used
		show(c.Name, c.MemoryBytes, used)
	}
	show("daemon", status.MemoryBytes, alone)
	b.figure("memory of all (resident)", fmt.Sprintf("%d MiB", memory>>20))
	b.figure("idle CPU of all", fmt.Sprintf("%.1f %% of a core", 100*cpu.Seconds()/watched.Seconds()))
	return nil
}
