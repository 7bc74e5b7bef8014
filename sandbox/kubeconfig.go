package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// merged is what Merge has put into the user's kubeconfig, so that it can be
// taken out again, and nothing else.
type merged struct {
	File    string            `json:"file"`
	Created bool              `json:"created"`          // the file was not there before
	Before  string            `json:"before,omitempty"` // the current context that Merge changed
	Servers map[string]string `json:"servers"`          // by name of context, cluster and user
	Switch  string            `json:"switch,omitempty"` // the current context since
}

func mergedFile(h Home) string { return h.Path("kubeconfig.merged") }

// Reachable returns ErrDown where the sandbox's clusters are down with it, and an
// error for a context, "" for the current one, whose cluster has been stopped.
// Attached clusters run without the sandbox.
func Reachable(ctx context.Context, h Home, kubeContext string) error {
	if kubeContext == "" {
		kubeContext = CurrentContext(h)
	}
	if stopped, err := h.StoppedClusters(); err == nil && slices.Contains(stopped, kubeContext) {
		return fmt.Errorf("cluster %s is stopped: `kalypso start %[1]s` brings it back", kubeContext)
	}
	_, err := daemon.NewClient(h).Components(ctx)
	if !errors.Is(err, ErrDown) && !errors.Is(err, ErrNoSandbox) {
		return nil
	}
	s, err := h.Load()
	if err == nil && len(s.Existing) == 0 {
		err = ErrDown
	}
	return err
}

// answerLimit is for a cluster's answer ahead of kubectl.
const answerLimit = 5 * time.Second

// ClusterAnswers returns an error for a cluster of the running sandbox that does
// not answer, as when its etcd has met a full disk: kubectl would wait for it
// without a word. The name "" is the first cluster's. What kubectl itself finds
// wrong at once is left to it.
func ClusterAnswers(ctx context.Context, h Home, name string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: h.Kubeconfig()}, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err != nil {
		return nil // no such context, which kubectl says
	}
	config.Timeout = answerLimit
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
	if err != nil {
		return err
	}
	reason := ""
	response, err := client.Do(r)
	if err == nil {
		defer response.Body.Close()
		var body []byte
		body, err = io.ReadAll(io.LimitReader(response.Body, 64<<10))
		if bytes.Contains(body, []byte("[-]etcd")) {
			reason = "it cannot use its etcd"
		}
	}
	if os.IsTimeout(err) {
		reason = fmt.Sprintf("not within %s", answerLimit)
	}
	if reason == "" {
		return nil
	}
	if room := doctor.CheckRoom(doctor.Machine(), string(h)); room.Severity != doctor.OK {
		reason += ": " + room.Found + "; " + room.Fix
	}
	return fmt.Errorf("the cluster at %s does not answer: %s; `kalypso status` has more", config.Host, reason)
}

// CurrentContext is the one of the sandbox's kubeconfig, "" where it has none.
func CurrentContext(h Home) string {
	config, err := clientcmd.LoadFromFile(h.Kubeconfig())
	if err != nil {
		return ""
	}
	return config.CurrentContext
}

// UserKubeconfig is the file that the user's own kubectl writes to: the
// first that KUBECONFIG names, or the one in the home folder.
func UserKubeconfig() (string, error) {
	if list := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); len(list) > 0 && list[0] != "" {
		return filepath.Abs(list[0])
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName), nil
}

// MergeKubeconfig puts the contexts of the sandbox's clusters into the user's
// kubeconfig, and makes switchTo the current one, unless it is "".
// Down takes them out again. It refuses to replace a context, cluster or user
// of the same name that is not the sandbox's. It returns the contexts' names.
func MergeKubeconfig(h Home, file, switchTo string) ([]string, error) {
	ours, err := clientcmd.LoadFromFile(h.Kubeconfig())
	if err != nil {
		return nil, err
	}
	if h.Contains(file) {
		return nil, usage.Errorf("%s is the sandbox's own: unset KUBECONFIG, or let it name yours", file)
	}
	old, err := loadMerged(h)
	if err != nil {
		return nil, err
	}
	if old != nil && old.File != file {
		return nil, usage.Errorf("the contexts have been merged into %s already: take them out with `kalypso kubeconfig --unmerge` first", old.File)
	}
	names := slices.Sorted(maps.Keys(ours.Contexts))
	return names, editKubeconfig(file, func(theirs *clientcmdapi.Config, missing bool) error {
		note := merged{File: file, Created: missing, Servers: map[string]string{}}
		if old != nil {
			old.takeFrom(theirs)
			note.Created = missing || old.Created
		}
		for _, name := range names {
			if taken(theirs, name) {
				return usage.Errorf("%s has a context, cluster or user %s that is not the sandbox's: rename it there, or use `export KUBECONFIG=$(kalypso kubeconfig --path)`", file, name)
			}
			note.Servers[name] = ours.Clusters[name].Server
			theirs.Contexts[name], theirs.Clusters[name], theirs.AuthInfos[name] = ours.Contexts[name], ours.Clusters[name], ours.AuthInfos[name]
		}
		if switchTo != "" {
			note.Before, note.Switch = theirs.CurrentContext, switchTo
			theirs.CurrentContext = switchTo
		}
		b, err := json.Marshal(note)
		if err != nil {
			return err
		}
		// the note first: what it says too much is just not there to be taken out
		return state.WriteFile(mergedFile(h), b)
	})
}

// mergeAgain puts the contexts of now into a kubeconfig that has those of before.
func mergeAgain(h Home) error {
	note, err := loadMerged(h)
	if note == nil || err != nil {
		return err
	}
	theirs, err := clientcmd.LoadFromFile(note.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours, err := clientcmd.LoadFromFile(h.Kubeconfig())
	if err != nil {
		return err
	}
	switchTo := ""
	if ours.Contexts[note.Switch] != nil && theirs.CurrentContext == note.Switch {
		switchTo = note.Switch
	}
	_, err = MergeKubeconfig(h, note.File, switchTo)
	return err
}

// UnmergeKubeconfig takes out of the user's kubeconfig what Merge has put in
// and that is unchanged since. It returns the file's name, "" when there was
// nothing to take out.
func UnmergeKubeconfig(h Home) (string, error) {
	note, err := loadMerged(h)
	if note == nil || err != nil {
		return "", err
	}
	if _, err := os.Stat(note.File); err == nil {
		err = editKubeconfig(note.File, func(theirs *clientcmdapi.Config, _ bool) error {
			note.takeFrom(theirs)
			if note.Created && len(theirs.Contexts)+len(theirs.Clusters)+len(theirs.AuthInfos) == 0 {
				return errEmpty
			}
			return nil
		})
		if errors.Is(err, errEmpty) {
			err = os.Remove(note.File)
		}
		if err != nil {
			return "", err
		}
	}
	return note.File, os.Remove(mergedFile(h))
}

var errEmpty = errors.New("nothing is left in the kubeconfig")

func loadMerged(h Home) (*merged, error) {
	b, err := os.ReadFile(mergedFile(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m merged
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", mergedFile(h), err)
	}
	return &m, nil
}

// takeFrom removes the sandbox's entries. One that points to another server by
// now is not the sandbox's.
func (m *merged) takeFrom(c *clientcmdapi.Config) {
	for name, server := range m.Servers {
		if cluster := c.Clusters[name]; cluster == nil || cluster.Server != server {
			continue
		}
		delete(c.Clusters, name)
		delete(c.Contexts, name)
		delete(c.AuthInfos, name)
	}
	if m.Switch != "" && c.CurrentContext == m.Switch {
		c.CurrentContext = m.Before
	}
}

func taken(c *clientcmdapi.Config, name string) bool {
	return c.Contexts[name] != nil || c.Clusters[name] != nil || c.AuthInfos[name] != nil
}

// editKubeconfig changes a kubeconfig in one step, under the lock that kubectl
// takes. An error of change leaves the file as it is.
func editKubeconfig(file string, change func(c *clientcmdapi.Config, missing bool) error) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link stays one
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return fmt.Errorf("%s is being changed by another program: try again, or remove %s.lock: %w", file, file, err)
	}
	defer os.Remove(file + ".lock")
	defer lock.Close()
	c, err := clientcmd.LoadFromFile(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		c, err = clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := change(c, missing); err != nil {
		return err
	}
	b, err := clientcmd.Write(*c)
	if err != nil {
		return err
	}
	if missing {
		return state.WriteFile(file, b)
	}
	return atomicfile.Rewrite(file, b)
}
