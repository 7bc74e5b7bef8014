package state

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Organisation owns the workshop's repositories on the forge.
const Organisation = "kalypso"

// State is what must stay the same from one start of the sandbox to the next:
// users have cloned the URLs and logged in with the passwords. `up` writes it
// before it starts the daemon, and only what a newer kalypso adds is written
// later.
type State struct {
	ID       string `json:"id"`       // random; distinguishes this sandbox's objects from others'
	Workshop string `json:"workshop"` // its name
	// Origin is where the workshop came from, without credentials; "" for one that
	// comes with kalypso. What it was then is in WorkshopFolder.
	Origin   string         `json:"origin,omitempty"`
	Provider string         `json:"provider"` // how it gets its clusters: one of Providers
	Created  time.Time      `json:"created"`
	Ports    map[string]int `json:"ports"` // by listener; all on loopback

	// Existing are the attached clusters, by name.
	Existing map[string]attached.Source `json:"existing,omitempty"`

	Engine    *kind.Engine `json:"engine,omitempty"`    // of kind clusters
	NodeImage string       `json:"nodeImage,omitempty"` // of kind's nodes

	Admin     Account `json:"admin"`     // the user's
	Scheduler Account `json:"scheduler"` // the scheduler's own account on the forge
	Robot     Account `json:"robot"`     // the account of workflows that go beyond their repository
	HubUser   Account `json:"hub"`       // the account that the hub opens pull requests with

	ArgoCDPassword string `json:"argoCDPassword"` // of Argo CD's first user

	WebhookSecret string `json:"webhookSecret"`
	GiteaSecret   string `json:"giteaSecret"`   // Gitea's SECRET_KEY
	GiteaInternal string `json:"giteaInternal"` // Gitea's INTERNAL_TOKEN
	GiteaJWT      string `json:"giteaJWT"`      // Gitea's JWT secrets

	// mu guards what changes in a sandbox that runs: Ports and changes, since clusters
	// come and go, and after a reset or a snapshot the workshop with its name.
	mu       sync.RWMutex
	workshop *workshop.Workshop // named by Workshop
	changes  ClusterChanges
}

// Account is a user of the forge.
type Account struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// ErrNoSandbox is returned where a sandbox is needed and none has been made.
var ErrNoSandbox = errors.New("there is no sandbox yet: run `kalypso up`")

// BrokenError is about a sandbox whose state cannot be understood.
type BrokenError struct {
	File string
	Err  error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s: %v; `kalypso down --delete --forget` removes the sandbox", e.File, e.Err)
}
func (e *BrokenError) Unwrap() error { return e.Err }

// Load reads what is known about the sandbox. The error is ErrNoSandbox when
// none has been made, and a *BrokenError when the file has been damaged.
func (h Home) Load() (*State, error) {
	b, err := os.ReadFile(h.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSandbox
	}
	if err != nil {
		return nil, err
	}
	var s State
	err = json.Unmarshal(b, &s)
	if err == nil {
		s.workshop, err = h.readWorkshop(&s)
	}
	if err != nil {
		return nil, &BrokenError{h.stateFile(), err}
	}
	s.Workshop = s.workshop.Name // another one, perhaps, since a reset
	if s.changes, err = h.ClusterChanges(); err != nil {
		return nil, err
	}
	s.Provider = cmp.Or(s.Provider, ProviderEmbedded)
	return &s, nil
}

// Save writes the state.
func (h Home) Save(s *State) error {
	s.mu.RLock()
	b, err := json.MarshalIndent(s, "", "  ")
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	return WriteFile(h.stateFile(), append(b, '\n'))
}

// Ensure writes the state of the sandbox, unless it is there: of the choice where
// there is none, in a folder that holds nothing else, and with what an older
// kalypso did not keep yet. The error is ErrLocked while a daemon runs.
func (h Home) Ensure(ctx context.Context, c Choice) (*State, error) {
	fresh, err := c.Draft()
	if err != nil {
		return nil, err
	}
	if err := h.Create(); err != nil {
		return nil, err
	}
	held, err := h.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	s, err := h.Load()
	isNew := errors.Is(err, ErrNoSandbox)
	if isNew {
		s, err = fresh, errors.Join(fresh.findEngine(c), h.keepWorkshop(ctx, c, fresh))
	} else if err == nil {
		err = c.checkSame(h, s) // another `up` may have been faster
	}
	if err != nil {
		return nil, err
	}
	if changed, err := s.complete(); err != nil || !changed && !isNew {
		return s, err
	}
	return s, h.Save(s)
}

// findEngine chooses what makes kind clusters, where there are to be any.
func (s *State) findEngine(c Choice) error {
	if s.Provider != ProviderKind || len(s.Made()) == 0 {
		return nil
	}
	engine, err := kind.FindEngine()
	s.Engine, s.NodeImage = &engine, cmp.Or(c.Image, kind.PublishedImage)
	return err
}

// complete adds what a state does not have yet, and reports whether that was
// anything: one that an older kalypso has written lacks what came since.
func (s *State) complete() (changed bool, err error) {
	listeners := listeners(s.Clusters())
	if changed, err = s.keepPorts(listeners); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// a port that nothing of this version listens on is free for others
	wanted := maps.Clone(s.Ports)
	maps.DeleteFunc(wanted, func(name string, _ int) bool { return !slices.Contains(listeners, name) })
	changed = changed || len(wanted) < len(s.Ports)
	s.Ports = wanted
	for _, field := range []struct {
		value   *string
		initial string
	}{
		{&s.Admin.User, "platform"},
		{&s.Admin.Password, randomText(15)},
		{&s.Scheduler.User, "kalypso-scheduler"},
		{&s.Scheduler.Password, randomText(24)},
		{&s.Robot.User, "kalypso-workflows"},
		{&s.Robot.Password, randomText(24)},
		{&s.HubUser.User, "kalypso-hub"},
		{&s.HubUser.Password, randomText(24)},
		{&s.ArgoCDPassword, randomText(15)},
		{&s.WebhookSecret, randomText(24)},
		{&s.GiteaSecret, randomText(32)},
		{&s.GiteaInternal, randomText(32)},
		{&s.GiteaJWT, randomText(32)},
	} {
		if *field.value == "" {
			*field.value, changed = field.initial, true
		}
	}
	return changed, nil
}

// UseEngine makes this process talk to the engine that has the sandbox's
// clusters, if any.
func (s *State) UseEngine() error {
	if s.Engine == nil {
		return nil
	}
	return s.Engine.Use()
}

// Clusters are the real ones: those of the workshop that were not removed, in its
// order, and then those that were added.
func (s *State) Clusters() []workshop.Cluster {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.workshop == nil { // a state that has not been read
		return nil
	}
	return s.changes.Real(s.workshop.Clusters)
}

// VirtualClusters are those that are virtual, each of one name.
func (s *State) VirtualClusters() ([]workshop.Cluster, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changes.Virtual(s.workshop.Clusters)
}

// Hosts are the workshop's machines that are no clusters.
func (s *State) Hosts() []workshop.Cluster {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.workshop == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.workshop.Clusters), func(c workshop.Cluster) bool { return c.Kind != workshop.Host })
}

// Names are the names of all that can be stopped and started: real clusters, then hosts.
func (s *State) Names() []string {
	names := s.ClusterNames()
	for _, h := range s.Hosts() {
		names = append(names, h.Name)
	}
	return names
}

// IsAdded reports whether a real cluster was added to those of the workshop.
func (s *State) IsAdded(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.changes.Added, func(c workshop.Cluster) bool { return c.Name == name && isReal(c) })
}

// WorkshopName is the name of the workshop, of a state that has not been read, too.
func (s *State) WorkshopName() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.Workshop
}

// Spec is the workshop that the sandbox holds.
func (s *State) Spec() *workshop.Workshop {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.workshop
}

// ClusterNames are the names of all real clusters, in the order of Clusters.
func (s *State) ClusterNames() []string {
	var names []string
	for _, c := range s.Clusters() {
		names = append(names, c.Name)
	}
	return names
}

// Made are the names of the clusters that the sandbox makes; the others are
// attached.
func (s *State) Made() []string {
	return slices.DeleteFunc(s.ClusterNames(), func(name string) bool {
		_, attached := s.Existing[name]
		return attached
	})
}

// CheckCluster returns a *usage.Error for a real cluster, or a host, that there is not.
func (s *State) CheckCluster(name string) error {
	if name == "" {
		return usage.Errorf("which cluster? Choose one of %s", joined(s.Names()))
	}
	return CheckName("cluster", name, s.Names())
}

// ForgeURL is Gitea's address for users and for every URL in a repository.
func (s *State) ForgeURL() string { return s.LocalURL("gitea") }

// OrgURL is the address below which the workshop's repositories lie.
func (s *State) OrgURL() string { return s.ForgeURL() + "/" + Organisation }

// LocalURL is a listener's address for browsers.
func (s *State) LocalURL(listener string) string {
	return "http://localhost:" + strconv.Itoa(s.Port(listener))
}

// Address is where a listener is reached.
func (s *State) Address(listener string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port(listener)))
}

// Derived is a secret for one purpose, made of one that the state keeps.
func (s *State) Derived(purpose string) string {
	mac := hmac.New(sha256.New, []byte(s.WebhookSecret))
	mac.Write([]byte("kalypso/" + purpose))
	return hex.EncodeToString(mac.Sum(nil))
}

// ArmResourceGroup is where the emulated Azure has the sandbox's clusters.
const ArmResourceGroup = "kalypso-rg"

// ArmToken is the bearer token of the emulated Azure.
func (s *State) ArmToken() string { return s.Derived("arm-token") }

// FleetPath is where the server of the emulated Azure has the virtual clusters and the hosts.
const FleetPath = "/fleet"

// FleetURL serves the virtual clusters and the hosts to those who have ArmToken, see package endpoint.
func (s *State) FleetURL() string { return "http://" + s.Address("arm") + FleetPath }

// GUID is an ID as Azure's are, the same for as long as the sandbox is.
func (s *State) GUID(purpose string) string {
	h := s.Derived(purpose)
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
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
