package doctor

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checkPorts asks whether the ports that a sandbox keeps are its own or free.
// It does not listen on them to find out: a sandbox that starts at the same
// moment would find them taken.
func checkPorts(ctx context.Context, sys *System, s *Subject) Finding {
	if len(s.Ports) == 0 {
		return ok("none kept yet: the first `kalypso up` chooses free ones")
	}
	const fix = "stop what uses it, or make a new sandbox with `kalypso down --delete` and `kalypso up`"
	ports := slices.Sorted(maps.Values(s.Ports))
	busy := sys.busy(ctx, ports)
	if slices.Contains(slices.Collect(maps.Values(busy)), 0) {
		busy = sys.busy(ctx, ports) // one that has just ended has no owner any more
	}
	ours := 0
	for _, name := range slices.Sorted(maps.Keys(s.Ports)) {
		owner, taken := busy[s.Ports[name]]
		switch {
		case !taken:
			continue
		case owner == 0 && s.Daemon == nil && sys.OS == "linux":
			// those of an earlier run are this user's, and would be seen
			return fatal(fmt.Sprintf("port %d, kept for %s, is used by a process of another user", s.Ports[name], name), name+" cannot start", fix)
		case owner == 0 && s.Daemon == nil:
			return warning(fmt.Sprintf("port %d, kept for %s, is in use, by whom cannot be seen", s.Ports[name], name), name+" may not be able to start", fix)
		case owner != 0 && !sys.isOurs(owner, s):
			return fatal(fmt.Sprintf("port %d, kept for %s, is used by %s", s.Ports[name], name, sys.command(owner)), name+" cannot start", fix)
		}
		ours++
	}
	switch {
	case ours == 0:
		return ok("all %d are free", len(s.Ports))
	case s.Daemon == nil:
		return ok("%d of %d in use by an earlier run, which the next `kalypso up` ends", ours, len(s.Ports))
	}
	return ok("%d of %d in use, all by this sandbox", ours, len(s.Ports))
}

// isOurs reports whether a process is part of the sandbox, or of one in the same
// folder that has been killed and is not quite gone.
func (s *System) isOurs(pid int, subject *Subject) bool {
	if d := subject.Daemon; d != nil && (pid == d.PID || slices.Contains(d.Processes, pid)) {
		return true
	}
	if slices.Contains(slices.Collect(maps.Values(subject.Children)), pid) {
		return true
	}
	noted := strings.TrimSpace(s.read(subject.PIDFile)) == strconv.Itoa(pid)
	return noted && s.isDaemon(pid) || s.runsFrom(pid, subject.Home)
}

// isDaemon reports whether a process looks like a daemon of kalypso: the ID in a
// file may be another process's by now.
func (s *System) isDaemon(pid int) bool {
	_, arguments, _ := strings.Cut(s.read(procPath(pid, "cmdline")), "\x00")
	return strings.HasPrefix(arguments, "daemon\x00")
}

// runsFrom reports whether a process's program is below a folder.
func (s *System) runsFrom(pid int, folder string) bool {
	program := s.link(procPath(pid, "exe"))
	return folder != "" && strings.HasPrefix(program, filepath.Clean(folder)+"/")
}

// busy returns those of the ports on which something listens at 127.0.0.1, with
// the process, 0 where that cannot be seen.
func (s *System) busy(ctx context.Context, ports []int) map[int]int {
	found := map[int]int{}
	if s.OS != "linux" {
		for _, port := range ports {
			if s.Dial(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) == nil {
				found[port] = 0
			}
		}
		return found
	}
	sockets := map[string]int{} // by what a process's link to it reads
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for line := range strings.Lines(s.read(table)) {
			if port, inode, ok := listener(line); ok && slices.Contains(ports, port) {
				found[port] = 0
				sockets["socket:["+inode+"]"] = port
			}
		}
	}
	if len(sockets) == 0 {
		return found
	}
	for pid, to := range s.descriptors() {
		if port, ok := sockets[to]; ok {
			found[port] = pid
		}
	}
	return found
}

// listener reads a line of /proc/net/tcp or tcp6 (proc(5)), and answers for
// sockets that listen where one at 127.0.0.1 could not.
func listener(line string) (port int, inode string, ok bool) {
	const listens = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listens {
		return 0, "", false
	}
	address, hex, _ := strings.Cut(fields[1], ":")
	switch address {
	case "0100007F", "00000000", strings.Repeat("0", 32), strings.Repeat("0", 16) + "FFFF00000100007F":
	default:
		return 0, "", false
	}
	n, err := strconv.ParseUint(hex, 16, 16)
	return int(n), fields[9], err == nil
}

// checkLoopback asks for the one network that a sandbox uses.
func checkLoopback(ctx context.Context, sys *System, _ *Subject) Finding {
	const (
		address = "127.0.0.1"
		lost    = "nothing of the sandbox can be reached"
		hosts   = "put the line `127.0.0.1 localhost` into /etc/hosts"
	)
	if err := sys.Listen(address + ":0"); err != nil {
		return fatal(fmt.Sprintf("%s takes no listener (%v)", address, err), lost, "bring the loopback interface up: "+sys.asRoot("ip link set lo up", true))
	}
	all, err := sys.Lookup(ctx, "localhost")
	switch {
	case err != nil:
		return fatal(fmt.Sprintf("localhost is not known (%v)", err), lost, hosts)
	case !slices.Contains(all, address):
		return fatal("localhost is "+strings.Join(all, " and ")+" and not "+address, lost, hosts)
	}
	slices.Sort(all)
	return ok("localhost is %s", strings.Join(slices.Compact(all), " and "))
}

// proxyVariables in the order in which curl and git ask for them.
var proxyVariables = []string{"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY"}

// checkProxy asks whether calls of the user's own programs to the sandbox
// would go to a proxy, which cannot reach it. Kalypso's parts use none.
func checkProxy(_ context.Context, sys *System, _ *Subject) Finding {
	var set []string
	plain := false // one is for http, which the forge speaks
	for _, name := range proxyVariables {
		if value := sys.Env(name); value != "" {
			set = append(set, name+" is "+proxyHost(value))
			plain = plain || !strings.EqualFold(name, "https_proxy")
		}
	}
	if len(set) == 0 {
		return ok("no proxy is set")
	}
	name := "no_proxy"
	except := sys.Env(name)
	if except == "" {
		if value := sys.Env("NO_PROXY"); value != "" {
			name, except = "NO_PROXY", value
		}
	}
	var missing []string
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if !excepted(except, host) {
			missing = append(missing, host)
		}
	}
	found := strings.Join(set, ", ")
	switch {
	case !plain:
		return ok("%s, which is not for what is on this machine", found)
	case len(missing) == 0:
		return ok("%s; %s keeps localhost out of it", found, name)
	}
	value := strings.Join(missing, ",")
	if except != "" {
		value += ",$" + name
	}
	return warning(fmt.Sprintf("%s, also for %s", found, strings.Join(missing, " and ")),
		"your own git, curl and browser ask the proxy for what is on this machine",
		fmt.Sprintf("`export %s=%s`", name, value))
}

// proxyHost leaves out what may be a password.
func proxyHost(value string) string {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return "set"
	}
	return u.Host
}

// excepted reports whether a list of exceptions has a host, as curl reads it.
func excepted(list, host string) bool {
	address, err := netip.ParseAddr(host)
	isAddress := err == nil
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if entry == "*" || strings.EqualFold(entry, host) {
			return true
		}
		if network, err := netip.ParsePrefix(entry); err == nil && isAddress && network.Contains(address) {
			return true
		}
	}
	return false
}
