package state

import (
	"crypto/rand"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// The range lies below those that systems give to outgoing connections (32768
// and up on Linux, 49152 and up elsewhere), so that a port is still free when
// the sandbox starts again.
const (
	firstPort = 20000
	lastPort  = 31999
)

// Port is that of a listener, 0 for one that there is not.
func (s *State) Port(listener string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.Ports[listener]
}

// keepPorts chooses a port for each listener that has none, and reports whether
// there was one.
func (s *State) keepPorts(listeners []string) (chosen bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	for _, name := range listeners {
		if s.Ports[name] == 0 {
			missing = append(missing, name)
		}
	}
	// a new map, since the old one may be read
	all := map[string]int{}
	maps.Copy(all, s.Ports)
	fresh, err := choosePorts(missing, slices.Collect(maps.Values(all)))
	maps.Copy(all, fresh)
	s.Ports = all
	return len(fresh) > 0, err
}

// choosePorts picks a free loopback port for each name, which none of a stopped
// listener is. All are held open until the last has been chosen, so none is picked
// twice.
func choosePorts(names []string, taken []int) (map[string]int, error) {
	ports := make(map[string]int, len(names))
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for _, name := range names {
		var last error
		for range 100 {
			n, err := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort+1))
			if err != nil {
				return nil, err
			}
			port := firstPort + int(n.Int64())
			if slices.Contains(taken, port) {
				continue
			}
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				last = err
				continue
			}
			held = append(held, l)
			ports[name] = port
			break
		}
		if ports[name] == 0 {
			return nil, fmt.Errorf("no free port on 127.0.0.1 between %d and %d: %w", firstPort, lastPort, last)
		}
	}
	return ports, nil
}

// PortFree returns an error when another program listens where the sandbox
// must. It is permanent: only the user can end that program.
func (s *State) PortFree(listener string) error {
	l, err := net.Listen("tcp", s.Address(listener))
	if err != nil {
		err = fmt.Errorf("this sandbox keeps a port for %s that another program uses now (%w): stop that program, or make a new sandbox with `kalypso down --delete` and `kalypso up`", listener, err)
		return &supervisor.PermanentError{Err: err}
	}
	return l.Close()
}
