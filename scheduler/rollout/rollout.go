// Package rollout decides how a commit of an environment's GitOps branch comes to the
// clusters of a type: wave by wave, as a Rollout of the platform model says.
//
// The clusters of a wave follow a branch of their own instead of the environment's, see
// [Branch]. What is to be on these branches is a [State], a file on one more branch. So
// all that was decided is in git, and [Next] is a pure function: of the rollout, the state,
// the environment's head, what the fleet reports, and the time. It returns the state that
// follows, and why nothing does where nothing does. Package rollout/driver reads and
// writes the branches.
package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"sigs.k8s.io/yaml"
)

// BranchPrefix begins the names of all branches of rollouts. It is not that of the
// branches for pull requests: there is kalypso/dev, and git has no kalypso/dev/large
// beside it.
const BranchPrefix = "kalypso-rollout/"

// stateBranch is no name of a wave, which has no underscore.
const stateBranch = "_state"

// Branch is the branch of the GitOps repository that the clusters of a wave follow.
func Branch(environment, clusterType, wave string) string {
	return BranchPrefix + environment + "/" + clusterType + "/" + wave
}

// StateBranch is the branch with the State of a rollout.
func StateBranch(environment, clusterType string) string {
	return Branch(environment, clusterType, stateBranch)
}

// WaveOf is the wave whose branch one is, of the rollout for a cluster type.
func WaveOf(branch, environment, clusterType string) (wave string, ok bool) {
	wave, ok = strings.CutPrefix(branch, Branch(environment, clusterType, ""))
	return wave, ok && wave != stateBranch
}

// EnvironmentOf is the environment of a branch of rollouts.
func EnvironmentOf(branch string) (environment string, ok bool) {
	rest, ok := strings.CutPrefix(branch, BranchPrefix)
	environment, _, below := strings.Cut(rest, "/")
	return environment, ok && below
}

// The files that say what a commit of these branches is. No reconciler applies them.
const (
	StateFile = ".github/tracking/rollout.yaml"
	WaveFile  = ".github/tracking/wave.yaml"
)

// State is what has been decided about a rollout. Commits are those of the environment's
// branch.
type State struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Rollout     string `json:"rollout"`
	// Text is the digest of the Rollout by which the last decision was made.
	Text string `json:"text"`
	// Target is the commit that the waves get, and Good the one that all of them have had
	// last, with success.
	Target string `json:"target"`
	Good   string `json:"good"`
	// Waves are the commits that the waves' branches have to hold, those of waves that the
	// Rollout does not have any more among them.
	Waves map[string]string `json:"waves"`
	// Soak is since when a wave has been well; nil where it is not yet.
	Soak *Soak `json:"soak,omitempty"`
	// Promoted is the wave that a user lets the rollout go on from without waiting.
	Promoted string `json:"promoted,omitempty"`
	Paused   *Order `json:"paused,omitempty"`
	Aborted  *Order `json:"aborted,omitempty"` // Target is the commit that was given up
	Stopped  *Stop  `json:"stopped,omitempty"`
}

// Soak is the time in which a wave has to stay well.
type Soak struct {
	Wave  string    `json:"wave"`
	Since time.Time `json:"since"`
	// Clock names the machine by whose clock that is.
	Clock string `json:"clock"`
}

// Order is what a user has told the rollout to do.
type Order struct {
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Stop is that more clusters of a wave have failed than may.
type Stop struct {
	Wave    string    `json:"wave"`
	At      time.Time `json:"at"`
	Failed  int       `json:"failed"`
	Of      int       `json:"of"`
	Reasons []string  `json:"reasons"` // of the first of them
}

// ParseState reads a StateFile.
func ParseState(content []byte) (*State, error) {
	s := new(State)
	if err := yaml.UnmarshalStrict(content, s); err != nil {
		return nil, fmt.Errorf("%s: %w", StateFile, err)
	}
	if s.Target == "" || s.Good == "" || len(s.Waves) == 0 {
		return nil, fmt.Errorf("%s: target, good or waves are missing", StateFile)
	}
	return s, nil
}

// Encode writes a StateFile.
func (s *State) Encode() ([]byte, error) { return yaml.Marshal(s) }

func (s *State) clone() *State {
	c := *s
	c.Waves = maps.Clone(s.Waves)
	return &c
}

// Wave is what a commit of a wave's branch holds.
type Wave struct {
	Environment string `json:"environment"`
	Branch      string `json:"branch"` // the environment's
	ClusterType string `json:"clusterType"`
	Rollout     string `json:"rollout"`
	Wave        string `json:"wave"`
	Commit      string `json:"commit"` // of Branch
}

// ParseWave reads a WaveFile.
func ParseWave(content []byte) (Wave, error) {
	var w Wave
	if err := yaml.UnmarshalStrict(content, &w); err != nil {
		return Wave{}, fmt.Errorf("%s: %w", WaveFile, err)
	}
	return w, nil
}

// Encode writes a WaveFile.
func (w Wave) Encode() ([]byte, error) { return yaml.Marshal(w) }

// text is the digest of what a Rollout says.
func text(spec v1alpha1.RolloutSpec) string {
	data, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it holds texts and numbers
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Same says whether two commits of an environment's branch are the same to the clusters of
// a type: all files are, but those of other cluster types and what no reconciler applies.
func Same(a, b *model.Tree, root, clusterType string, types []string) bool {
	folder := func(name string) string { return strings.TrimPrefix(model.CleanFolder(root)+"/"+name+"/", "/") }
	others := []string{".github/"}
	for _, t := range types {
		if t != clusterType {
			others = append(others, folder(t))
		}
	}
	concerns := func(file string) bool {
		return !slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(file, other) })
	}
	within := func(tree *model.Tree) map[string][]byte {
		files := maps.Clone(tree.Files)
		maps.DeleteFunc(files, func(file string, _ []byte) bool { return !concerns(file) })
		return files
	}
	return slices.Equal(a.Skipped, b.Skipped) && maps.EqualFunc(within(a), within(b), func(x, y []byte) bool {
		return x != nil && y != nil && string(x) == string(y) // what was not read may differ
	})
}
