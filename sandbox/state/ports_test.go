package state

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

func builtin(t *testing.T) *workshop.Workshop {
	t.Helper()
	w, err := workshop.OpenBuiltin(DefaultWorkshop)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPortsAreFreeAndDifferent(t *testing.T) {
	names := listeners(builtin(t).Clusters)
	ports, err := choosePorts(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]string{}
	for _, name := range names {
		port := ports[name]
		if port < firstPort || port > lastPort {
			t.Errorf("%s: port %d", name, port)
		}
		if seen[port] != "" {
			t.Errorf("%s and %s share port %d", name, seen[port], port)
		}
		seen[port] = name
		if err := (&State{Ports: ports}).PortFree(name); err != nil {
			t.Error(err)
		}
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	err = (&State{Ports: map[string]int{"gitea": port}}).PortFree("gitea")
	var permanent *supervisor.PermanentError
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), strconv.Itoa(port)) || !strings.Contains(err.Error(), "gitea") {
		t.Error(err)
	}
}
