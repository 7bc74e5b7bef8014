//go:build e2e

package e2e

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listener is a socket that takes connections or packets.
type listener struct {
	pid     int
	process string // the component's name, or a program's within a node
	space   string // whose network it is: machine, node or pod
	network string // tcp, udp or unix
	address string // HOST:PORT, a path, or @NAME in the abstract name space
}

func (l listener) String() string {
	return fmt.Sprintf("%s listens on %s %s of the %s (process %d)", l.process, l.network, l.address, l.space, l.pid)
}

// knownListener is a row of the table in docs/security.md. Process and address
// are regular expressions for the whole; in the address, {NAME} stands for a
// port that the sandbox keeps, and {home} for its folder.
type knownListener struct {
	process, space, network, address string
	// optional is for what listens only after somebody has used it
	optional bool
}

// serviceListeners are those of what is not a cluster.
var serviceListeners = []knownListener{
	{process: "daemon", space: "machine", network: "unix", address: `{home}/daemon\.sock`},
	{process: "daemon", space: "machine", network: "tcp", address: `127\.0\.0\.1:({arm}|{notifier})`},
	{process: "gitea", space: "machine", network: "tcp", address: `127\.0\.0\.1:{gitea}`},
	{process: "scheduler", space: "machine", network: "tcp", address: `127\.0\.0\.1:{scheduler}`},
	{process: "runner", space: "machine", network: "tcp", address: `127\.0\.0\.1:{runner}`},
	{process: "hub", space: "machine", network: "tcp", address: `127\.0\.0\.1:{hub}`},
	{process: "flux-drone", space: "machine", network: "tcp", address: `127\.0\.0\.1:{flux-drone}`},
	{process: "argocd-large", space: "machine", network: "tcp", address: `127\.0\.0\.1:{argocd-large}`},
	// the second is what it is called where the first is too long for a socket
	{process: "argocd-large", space: "machine", network: "unix", address: `({home}/argocd/large/tmp|/proc/\d+/cwd)/askpass\.sock`},
}

func (k knownListener) matches(l listener, address *regexp.Regexp) bool {
	return k.space == l.space && k.network == l.network && address.MatchString(l.address) &&
		regexp.MustCompile("^(?:"+k.process+")$").MatchString(l.process)
}

// pattern is the row's address in one sandbox.
func (k knownListener) pattern(t *testing.T, m *machine) *regexp.Regexp {
	t.Helper()
	replace := []string{"{home}", regexp.QuoteMeta(m.home)}
	for name, port := range m.ports() {
		replace = append(replace, "{"+name+"}", strconv.Itoa(port))
	}
	p, err := regexp.Compile("^(?:" + strings.NewReplacer(replace...).Replace(k.address) + ")$")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ports are those that the sandbox keeps, by listener.
func (m *machine) ports() map[string]int {
	m.t.Helper()
	var state struct{ Ports map[string]int }
	b, err := os.ReadFile(filepath.Join(m.home, "sandbox.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.decode(string(b), &state)
	return state.Ports
}

// checkListeners fails on a listener that the table does not have, and on a row
// that is of no listener.
func checkListeners(t *testing.T, m *machine, known []knownListener) {
	all := listeners(t, m)
	patterns := make([]*regexp.Regexp, len(known))
	for i, k := range known {
		patterns[i] = k.pattern(t, m)
	}
	found := make([]bool, len(known))
	for _, l := range all {
		if l.space == "pod" {
			continue // what a workload listens on is its own
		}
		listed := false
		for i, k := range known {
			if k.matches(l, patterns[i]) {
				listed, found[i] = true, true
			}
		}
		if !listed {
			t.Errorf("not in the table of listeners: %s", l)
		}
	}
	for i, k := range known {
		if !found[i] && !k.optional {
			t.Errorf("nothing listens any more as the table says: %+v", k)
		}
	}
}

// listeners are those of the daemon and of all processes below it, in whatever
// namespaces these are.
func listeners(t *testing.T, m *machine) []listener {
	t.Helper()
	names := map[int]string{}
	for name, pid := range m.pids() {
		names[pid] = name
	}
	spaces := map[string]string{} // by the namespace's link
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	spaces[own] = "machine"
	tree := descendants(t, m.status().PID)
	for _, p := range tree {
		if p.program == "kubelet" {
			spaces[p.space] = "node"
		}
	}
	owners := map[string]descendant{} // of sockets, by inode
	tables := map[string]int{}        // a process in each namespace
	for _, p := range tree {
		tables[p.space] = p.pid
		for _, inode := range p.sockets() {
			if _, ok := owners[inode]; !ok {
				owners[inode] = p
			}
		}
	}
	var all []listener
	for space, pid := range tables {
		where := spaces[space]
		if where == "" {
			where = "pod"
		}
		for _, s := range sockets(t, pid) {
			p, ok := owners[s.inode]
			if !ok {
				continue // another program's on the machine
			}
			name := names[p.pid]
			if name == "" || where != "machine" {
				name = p.program
			}
			all = append(all, listener{p.pid, name, where, s.network, s.address})
		}
	}
	if len(all) == 0 {
		t.Fatal("no listener can be seen")
	}
	return all
}

// descendant is a process below the daemon.
type descendant struct {
	pid     int
	program string // argv[0] without its folder
	space   string // its network namespace
}

func descendants(t *testing.T, root int) []descendant {
	t.Helper()
	parents := map[int]int{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		stat, err := os.ReadFile(filepath.Join(d, "stat"))
		if err != nil {
			continue // it has just ended
		}
		// the name before it, in parentheses, may hold anything
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(d))
		parents[pid], _ = strconv.Atoi(fields[1])
	}
	var all []descendant
	for pid := range parents {
		for up := pid; up > 0; up = parents[up] {
			if up != root {
				continue
			}
			space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
			command, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && err2 == nil {
				program, _, _ := strings.Cut(string(command), "\x00")
				all = append(all, descendant{pid, filepath.Base(program), space})
			}
			break
		}
	}
	slices.SortFunc(all, func(a, b descendant) int { return a.pid - b.pid })
	return all
}

// sockets are the inodes of what the process has open.
func (p descendant) sockets() []string {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
	var all []string
	for _, f := range files {
		link, _ := os.Readlink(f)
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			all = append(all, strings.TrimSuffix(inode, "]"))
		}
	}
	return all
}

type socket struct{ network, address, inode string }

// States and flags of the kernel's tables (proc_pid_net(5), include/net/tcp_states.h,
// include/uapi/linux/net.h).
const (
	stateListen      = "0A" // of TCP
	stateUnconnected = "07" // of UDP: it takes packets from everybody
	flagAccepts      = 1 << 16
)

// sockets are those that listen in the network namespace of a process.
func sockets(t *testing.T, pid int) []socket {
	t.Helper()
	var all []socket
	for _, table := range []struct{ file, network, state string }{
		{"tcp", "tcp", stateListen}, {"tcp6", "tcp", stateListen},
		{"udp", "udp", stateUnconnected}, {"udp6", "udp", stateUnconnected},
	} {
		for _, f := range rows(t, pid, table.file) {
			if f[3] == table.state {
				all = append(all, socket{table.network, hexAddress(t, f[1]), f[9]})
			}
		}
	}
	for _, f := range rows(t, pid, "unix") {
		flags, err := strconv.ParseUint(f[3], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		// one of packets listens as soon as it has a name
		if packets := f[4] == "0002"; len(f) > 7 && (flags&flagAccepts != 0 || packets) {
			all = append(all, socket{"unix", strings.Join(f[7:], " "), f[6]})
		}
	}
	return all
}

// rows are those of a table, without its head. A table that is not there is of
// a kind of network that the machine does not have.
func rows(t *testing.T, pid int, table string) [][]string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if i > 0 {
			all = append(all, strings.Fields(line))
		}
	}
	return all
}

// hexAddress reads an address as the kernel writes it: words of four bytes in
// the machine's order, which is that of all machines that kalypso runs on.
func hexAddress(t *testing.T, s string) string {
	t.Helper()
	host, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil {
		t.Fatalf("address %q: %v, %v", s, err, err2)
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	return net.JoinHostPort(net.IP(b).String(), strconv.FormatUint(n, 10))
}

// asNobody does something as a user who owns nothing and has no rights. What it
// calls must do its system calls by itself, not in another goroutine.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	done := make(chan error)
	go func() {
		// these calls are of one thread, which ends with this goroutine
		runtime.LockOSThread()
		for _, call := range [][4]uintptr{
			{syscall.SYS_SETGROUPS},
			{syscall.SYS_SETRESGID, nobody, nobody, nobody},
			{syscall.SYS_SETRESUID, nobody, nobody, nobody},
		} {
			if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				done <- fmt.Errorf("become another user: %w", errno)
				return
			}
		}
		do()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

const dialLimit = 2 * time.Second

// dialAsNobody connects as another user would.
func dialAsNobody(t *testing.T, network, address string) (c net.Conn, err error) {
	t.Helper()
	asNobody(t, func() { c, err = net.DialTimeout(network, address, dialLimit) })
	return c, err
}

// What cannot be seen would be missed in every sandbox.
func TestListenersAreSeen(t *testing.T) {
	dir, err := os.MkdirTemp("", "kalypso-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	inode := func(c syscall.Conn) string {
		t.Helper()
		raw, err := c.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var info syscall.Stat_t
		if err := errors.Join(raw.Control(func(fd uintptr) { err = syscall.Fstat(int(fd), &info) }), err); err != nil {
			t.Fatal(err)
		}
		return strconv.FormatUint(info.Ino, 10)
	}
	want := []socket{}
	for _, at := range [][2]string{{"tcp", "127.0.0.1:0"}, {"tcp", "[::1]:0"}, {"unix", filepath.Join(dir, "a b")}, {"unix", "@kalypso-e2e"}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			t.Logf("this machine has no %v: %v", at, err)
			continue
		}
		defer l.Close()
		want = append(want, socket{at[0], l.Addr().String(), inode(l.(syscall.Conn))})
	}
	for _, at := range [][2]string{{"udp", "127.0.0.1:0"}, {"unixgram", filepath.Join(dir, "packets")}} {
		c, err := net.ListenPacket(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		want = append(want, socket{strings.TrimSuffix(at[0], "gram"), c.LocalAddr().String(), inode(c.(syscall.Conn))})
	}
	seen := sockets(t, os.Getpid())
	tree := descendants(t, os.Getpid())
	if len(tree) == 0 || tree[0].pid != os.Getpid() {
		t.Fatalf("this process is not among %v", tree)
	}
	owned := tree[0].sockets()
	for _, s := range want {
		if !slices.Contains(seen, s) || !slices.Contains(owned, s.inode) {
			t.Errorf("%+v is not seen", s)
		}
	}
	for path, refused := range map[string]bool{filepath.Join(dir, "a b"): true, "@kalypso-e2e": false} {
		c, err := dialAsNobody(t, "unix", path)
		if err == nil {
			c.Close()
		}
		if errors.Is(err, fs.ErrPermission) != refused || err != nil && !refused {
			t.Errorf("another user dials %s: %v", path, err)
		}
	}
}
