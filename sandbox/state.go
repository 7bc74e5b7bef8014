package sandbox

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// State is what must stay the same from one start of the sandbox to the next:
// people have cloned the URLs and logged in with the passwords. It is written
// before anything else of the sandbox exists, and never changed but by what a
// newer kalypso adds.
type State struct {
	ID       string         `json:"id"`       // random; tells this sandbox's objects from others'
	Workshop string         `json:"workshop"` // name of the fixtures
	Provider string         `json:"provider"` // how it gets its clusters: one of Providers
	Created  time.Time      `json:"created"`
	Ports    map[string]int `json:"ports"` // by listener; all on loopback

	// Existing are the clusters that the person has given, by name.
	Existing map[string]attached.Source `json:"existing,omitempty"`

	Engine    *kind.Engine `json:"engine,omitempty"`    // of kind clusters
	NodeImage string       `json:"nodeImage,omitempty"` // of kind's nodes

	Admin     Account `json:"admin"`     // the person at the keyboard
	Scheduler Account `json:"scheduler"` // the scheduler's own account on the forge
	Robot     Account `json:"robot"`     // the account of workflows that go beyond their repository

	ArgoCDPassword string `json:"argoCDPassword"` // of Argo CD's first user

	WebhookSecret string `json:"webhookSecret"`
	GiteaSecret   string `json:"giteaSecret"`   // Gitea's SECRET_KEY
	GiteaInternal string `json:"giteaInternal"` // Gitea's INTERNAL_TOKEN
	GiteaJWT      string `json:"giteaJWT"`      // Gitea's JWT secrets
}

// Account is a user of the forge.
type Account struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// Organisation owns the workshop's repositories on the forge.
const Organisation = "kalypso"

// newState makes the state of a new sandbox with that workshop.
func newState(w workshop, choice Choice, now time.Time) (*State, error) {
	s := &State{
		ID:       randomHex(8),
		Workshop: w.name,
		Provider: cmp.Or(choice.Provider, ProviderEmbedded),
		Existing: choice.sources(),
		Created:  now.UTC().Truncate(time.Second),
	}
	if s.Provider == ProviderKind && len(w.made(s)) > 0 {
		engine, err := kind.FindEngine()
		if err != nil {
			return nil, err
		}
		s.Engine, s.NodeImage = &engine, cmp.Or(choice.Image, kind.PublishedImage)
	}
	_, err := s.complete(w)
	return s, err
}

// complete adds what a state does not have yet, and tells whether that was
// anything: one that an older kalypso has written lacks what came since.
func (s *State) complete(w workshop) (changed bool, err error) {
	var missing []string
	for _, name := range w.listeners() {
		if s.Ports[name] == 0 {
			missing = append(missing, name)
		}
	}
	chosen, err := choosePorts(missing)
	if err != nil {
		return false, err
	}
	if s.Ports == nil {
		s.Ports = map[string]int{}
	}
	maps.Copy(s.Ports, chosen)
	changed = len(chosen) > 0
	// a port that nothing of this version listens on is not the sandbox's to keep
	maps.DeleteFunc(s.Ports, func(name string, _ int) bool {
		old := !slices.Contains(w.listeners(), name)
		changed = changed || old
		return old
	})
	for _, secret := range []struct {
		field *string
		value func() string
	}{
		{&s.Admin.User, func() string { return "platform" }},
		{&s.Admin.Password, func() string { return randomText(15) }},
		{&s.Scheduler.User, func() string { return "kalypso-scheduler" }},
		{&s.Scheduler.Password, func() string { return randomText(24) }},
		{&s.Robot.User, func() string { return "kalypso-workflows" }},
		{&s.Robot.Password, func() string { return randomText(24) }},
		{&s.ArgoCDPassword, func() string { return randomText(15) }},
		{&s.WebhookSecret, func() string { return randomText(24) }},
		{&s.GiteaSecret, func() string { return randomText(32) }},
		{&s.GiteaInternal, func() string { return randomText(32) }},
		{&s.GiteaJWT, func() string { return randomText(32) }},
	} {
		if *secret.field == "" {
			*secret.field = secret.value()
			changed = true
		}
	}
	return changed, nil
}

// completeState brings a state to what this version of kalypso keeps.
func (h Home) completeState(s *State) error {
	w, err := findWorkshop(s.Workshop)
	if err != nil {
		return err
	}
	changed, err := s.complete(w)
	if err != nil || !changed {
		return err
	}
	return h.saveState(s)
}

// useEngine makes this process talk to the engine that has the sandbox's
// clusters, if any.
func (s *State) useEngine() error {
	if s.Engine == nil {
		return nil
	}
	return s.Engine.Use()
}

// ForgeURL is Gitea's address for people and for every URL in a repository.
func (s *State) ForgeURL() string { return s.localURL("gitea") }

// OrgURL is the address below which the workshop's repositories lie.
func (s *State) OrgURL() string { return s.ForgeURL() + "/" + Organisation }

// localURL is a listener's address for people.
func (s *State) localURL(listener string) string {
	return "http://localhost:" + strconv.Itoa(s.Ports[listener])
}

// address is where a listener is reached.
func (s *State) address(listener string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[listener]))
}

// The range lies below those that systems hand out to outgoing connections
// (32768 and up on Linux, 49152 and up elsewhere), so that a port is still
// free when the sandbox starts again.
const (
	firstPort = 20000
	lastPort  = 31999
)

// choosePorts picks a free loopback port for each name. All are held open
// until the last has been chosen, so none is picked twice.
func choosePorts(names []string) (map[string]int, error) {
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

// checkPort returns an error when another program listens where the sandbox
// must.
func checkPort(listener string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("this sandbox keeps a port for %s that another program uses now (%w): stop that program, or make a new sandbox with `kalypso down --delete` and `kalypso up`", listener, err)
	}
	return l.Close()
}

// portFree is checkPort for a port of the sandbox's own, whose loss only a
// person can mend.
func (s *State) portFree(listener string) error {
	if err := checkPort(listener, s.Ports[listener]); err != nil {
		return &supervisor.PermanentError{Err: err}
	}
	return nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// randomText is n random bytes in an alphabet that needs no quoting in a
// shell, a URL or a configuration file.
func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
