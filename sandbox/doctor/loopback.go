package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

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
