package armfake

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
)

// writeRequests is how many requests about a configuration it takes until a write
// is done.
const writeRequests = 4

// fleet implements armemulator.Backend in memory.
type fleet struct {
	mu             sync.Mutex
	clusters       []armapi.Cluster
	configurations map[string]*configuration // by ID in lower case
	broken         map[string]*armemulator.Error
	described      map[string]armapi.ConnectedCluster // by ID in lower case, what Connect has said
}

type configuration struct {
	armapi.Configuration
	secrets  map[string]string
	busy     int  // requests until the last write is done
	deleting bool // and then it is gone
	failure  *armemulator.Error
}

func keyOf(c armapi.Cluster, name string) string { return strings.ToLower(c.ConfigurationID(name)) }

// Cluster connects a cluster in one of the subscriptions.
func (f *fleet) Cluster(subscription, group, name string) armapi.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := armapi.Cluster{Subscription: subscription, ResourceGroup: group, Type: armapi.ConnectedClusters, Name: name}
	f.clusters = append(f.clusters, c)
	return c
}

// Connect is what a cluster's agents report of their connection, and its tags.
func (f *fleet) Connect(c armapi.Cluster, status string, last time.Time, tags map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.described == nil {
		f.described = map[string]armapi.ConnectedCluster{}
	}
	one := describe(c)
	one.Tags, one.Properties.ConnectivityStatus, one.Properties.LastConnectivity = tags, status, &last
	f.described[strings.ToLower(c.ID())] = one
}

// Change changes what is shown of a configuration.
func (f *fleet) Change(c armapi.Cluster, name string, change func(*armapi.Properties)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.configurations[keyOf(c, name)].Properties)
}

// Follow makes a cluster follow a branch.
func (f *fleet) Follow(c armapi.Cluster, name, url, branch string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(c, name, armapi.Properties{
		Scope: "cluster", Namespace: "flux-system", SourceKind: "GitRepository",
		GitRepository: &armapi.GitRepository{URL: url, RepositoryRef: armapi.RepositoryRef{Branch: &branch}},
	}).Properties.ProvisioningState = "Succeeded"
}

func (f *fleet) put(c armapi.Cluster, name string, p armapi.Properties) *configuration {
	one := &configuration{
		Configuration: armapi.Configuration{ID: c.ConfigurationID(name), Name: name, Type: armapi.ConfigurationType, Properties: p},
		secrets:       p.ProtectedSettings,
	}
	one.Properties.ProtectedSettings, one.Properties.ComplianceState, one.Properties.Statuses = nil, "Pending", []armapi.ObjectStatus{}
	f.configurations[keyOf(c, name)] = one
	return one
}

// Report is what the cluster reports of a configuration.
func (f *fleet) Report(c armapi.Cluster, name, commit, state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, revision := &f.configurations[keyOf(c, name)].Properties, "dev@sha1:"+commit
	p.SourceSyncedCommitID, p.ComplianceState = &revision, state
}

// Break makes the next write of a configuration fail on the cluster.
func (f *fleet) Break(c armapi.Cluster, name, code, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = map[string]*armemulator.Error{keyOf(c, name): armemulator.Errorf(http.StatusOK, code, "%s", message)}
}

// Busy makes a configuration have a write in progress for some requests.
func (f *fleet) Busy(c armapi.Cluster, name string, requests int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.configurations[keyOf(c, name)]
	one.busy, one.Properties.ProvisioningState = requests, "Updating"
}

// Dump is all that is configured, with the secrets, as JSON by ID.
func (f *fleet) Dump() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]string{}
	for _, one := range f.configurations {
		p := one.Properties
		p.ProtectedSettings = one.secrets
		b, err := json.Marshal(p)
		if err != nil {
			panic("armfake: " + err.Error())
		}
		all[one.ID] = string(b)
	}
	return all
}

// advance brings the write in progress forward by a request. It returns nil when
// the configuration is gone after it.
func (f *fleet) advance(key string) *configuration {
	one := f.configurations[key]
	switch {
	case one == nil:
		return nil
	case one.busy > 0:
		one.busy--
	case one.deleting:
		delete(f.configurations, key)
		return nil
	case one.failure != nil:
		one.Properties.ProvisioningState = "Failed"
	default:
		one.Properties.ProvisioningState = "Succeeded"
	}
	return one
}

func (f *fleet) Clusters() []armapi.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.clusters)
}

func (f *fleet) Tags(armapi.Cluster) map[string]string { return map[string]string{} }

func (f *fleet) Describe(_ context.Context, c armapi.Cluster) armapi.ConnectedCluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := f.described[strings.ToLower(c.ID())]; ok {
		return one
	}
	return describe(c)
}

func describe(c armapi.Cluster) armapi.ConnectedCluster {
	return armapi.ConnectedCluster{
		ID: c.ID(), Name: c.Name, Type: c.Type.ResourceType(), Location: "eastus",
		Properties: armapi.ConnectedClusterProperties{ProvisioningState: "Succeeded", ConnectivityStatus: "Connected"},
	}
}

func (f *fleet) Configurations(_ context.Context, c armapi.Cluster) ([]armapi.Configuration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	prefix := strings.ToLower(c.ConfigurationsID()) + "/"
	var all []armapi.Configuration
	for key := range f.configurations {
		if strings.HasPrefix(key, prefix) {
			if one := f.advance(key); one != nil {
				all = append(all, one.Configuration)
			}
		}
	}
	slices.SortFunc(all, func(a, b armapi.Configuration) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// occupied is the error of a write while another one is in progress.
func occupied(one *configuration) error {
	if one == nil || one.busy == 0 {
		return nil
	}
	return armemulator.Errorf(http.StatusConflict, "Conflict", "Another operation on '%s' is in progress.", one.Name)
}

func (f *fleet) Write(_ context.Context, c armapi.Cluster, name string, p armapi.Properties, keep bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(c, name)
	before := f.configurations[key]
	if err := occupied(before); err != nil {
		return err
	}
	if before != nil && keep && len(p.ProtectedSettings) == 0 {
		p.ProtectedSettings = before.secrets
	}
	one := f.put(c, name, p)
	one.busy, one.failure, one.Properties.ProvisioningState = writeRequests, f.broken[key], "Updating"
	delete(f.broken, key)
	return nil
}

func (f *fleet) Delete(_ context.Context, c armapi.Cluster, name string, _ bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.configurations[keyOf(c, name)]
	if err := occupied(one); one == nil || err != nil {
		return false, err
	}
	one.busy, one.deleting, one.Properties.ProvisioningState = writeRequests, true, "Deleting"
	return true, nil
}

func (f *fleet) Progress(_ context.Context, c armapi.Cluster, name string, deletion bool) (bool, *armemulator.Error, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.advance(keyOf(c, name))
	switch {
	case one == nil:
		return deletion, nil, nil
	case one.Properties.ProvisioningState == "Failed":
		return true, one.failure, nil
	}
	return !deletion && one.Properties.ProvisioningState == "Succeeded", nil, nil
}
