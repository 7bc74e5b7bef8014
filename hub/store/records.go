package store

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// Environment is an environment of a control plane, and the commits that it was read at.
type Environment struct {
	Name               string
	ControlPlane       string // URL
	ControlPlaneBranch string
	Commit             string // head of that branch
	GitOpsRepo         string // URL
	GitOpsBranch       string
	GitOpsRoot         string
	GitOpsCommit       string
	Position           int    // in the chain of promotions
	Plan               string // "synced", "planning", "error", "" unknown
	Error              string // why it cannot be loaded or planned

	// Counts and AsOf are filled by reads: the placements in scope by state, and when they
	// were compared last.
	Counts map[placement.State]int
	AsOf   time.Time
}

// Cluster is a cluster of the fleet.
type Cluster struct {
	Name       string
	Labels     map[string]string
	Source     string // "kubernetes", "arc", ...
	Reconciler string // "flux", "argocd", "flux, argocd", ""
	LastSeen   time.Time
	// Unknown is why the cluster cannot be asked, "" for one that has answered. What a round
	// does not say of one that cannot be asked stays as it was seen last.
	Unknown     string
	Approximate bool
	// Subscriptions are all that it follows. Reads with a scope leave them out, since they
	// have what others have put on the cluster.
	Subscriptions []fleet.Subscription

	// Filled by reads, of what is in scope. Types are the cluster types by environment;
	// those of one environment are joined by ", ".
	FirstSeen time.Time
	Types     map[string]string
	Counts    map[placement.State]int
}

// Placement is a placement with what its environment's model says about it.
type Placement struct {
	placement.Placement
	Workload, Workspace string
	Policies            []string // that assign it
}

// Event is a transition of a placement. FromState is "" for the first that was seen of it,
// ToState when it is gone.
type Event struct {
	ID                           int64
	At                           time.Time // by the cluster's clock where that is known, else SeenAt
	SeenAt                       time.Time // by the hub's
	Environment, Cluster, Target string
	FromState, ToState           placement.State
	FromVersion, ToVersion       string
	FromCommit, ToCommit         string
	Reason                       string
}

// Problem is something wrong in an environment, or with Environment "" in the control plane.
type Problem struct {
	Environment string
	Severity    string
	Position    string // file:line
	Message     string
	Hint        string
	FirstSeen   time.Time // filled by reads
}

// PullRequest is a pull request of an environment. With Environment "" it is one of the control
// plane's own branch, which all of its environments are made from.
type PullRequest struct {
	Environment, Repo         string
	Number                    int
	Kind                      string // platform, promotion, application or control-plane
	Title, State, Author, URL string
	Held                      bool
	Opened, Merged            time.Time
	MergedBy                  string
	Checks                    string // of the open: success, failure or pending; "" for none
	Clusters                  int    // that it changes something on
	Size                      *Size  // nil where that is not known, or it changes no assignments
	Reason                    string // what an open one waits for
}

// Source is a collector, and how it is.
type Source struct {
	Name            string
	State           string // ok or failing
	Reason          string
	LastOK, LastTry time.Time
	Took            time.Duration
}

// Scope is what may be seen; an empty list is all. It is a predicate of every query.
type Scope struct {
	Workspaces   []string
	Environments []string
}

func (s Scope) limited() bool { return len(s.Workspaces)+len(s.Environments) > 0 }

// Page is a part of a list.
type Page struct {
	Limit int    // 0 is 50
	After string // List.Next of the page before
	Sort  string // one of the list's sorts, "" the first of them
}

const defaultLimit = 50

func (p Page) limit() int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return p.Limit
}

// List is a page of a list.
type List[T any] struct {
	Items []T
	Next  string    // Page.After of the next page, "" on the last
	Total int       // of all pages, -1 where counting would cost more than the page
	AsOf  time.Time // of the oldest part of it, zero where there is none
}

// stateNumber is a state as the database has it; -1 is none.
func stateNumber(s placement.State) int64 { return int64(slices.Index(placement.States(), s)) }

func stateOf(number int64) placement.State {
	all := placement.States()
	if number < 0 || int(number) >= len(all) {
		return ""
	}
	return all[number]
}

// millis is a time as the database has it.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// textLimit is how much is kept of a text that a cluster has written.
const textLimit = 4 << 10

// clean is a text as both engines take it: valid UTF-8 without zero bytes, and not endless.
func clean(s string) string {
	if len(s) > textLimit {
		s = s[:textLimit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// encode is a value as JSON, of types that can always be written so.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
