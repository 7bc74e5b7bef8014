// Package doctor looks at a machine and says what a sandbox will meet there.
//
// A Check asks one question and answers with one Finding: what was found, and
// where that is not good what is lost and how to mend it. Checks see the
// machine only through a System, and what kalypso itself knows only through a
// Subject, so each is a function of the two and is tested without a machine.
// None leaves anything behind.
//
//	report := doctor.Examine(ctx, doctor.Machine(), subject, doctor.All())
//
// All checks run at once, each with a deadline of its own: one that hangs, on a
// dead network drive or a stuck container engine, costs its own finding only.
package doctor

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Severity says how bad a finding is.
type Severity string

const (
	OK      Severity = "ok"
	Note    Severity = "note"    // worth knowing; what is lost by it, a warning has
	Warning Severity = "warning" // something does not work, or soon will not
	Fatal   Severity = "fatal"   // `kalypso up` cannot succeed
)

// severities from good to bad.
var severities = []Severity{OK, Note, Warning, Fatal}

// Finding is the answer of one check.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Found    string   `json:"found"`          // the evidence
	Lost     string   `json:"lost,omitempty"` // what does not work as it is
	Fix      string   `json:"fix,omitempty"`  // a command or a step
}

// Check is one question about a machine.
type Check struct {
	Name string
	// Gate is set for the checks that can be fatal. All of them together take a
	// moment, so they can be made before every start.
	Gate  bool
	limit time.Duration
	run   func(context.Context, *System, *Subject) Finding
}

const usualLimit = 2 * time.Second

// All returns every check, those that matter most first.
func All() []Check {
	return []Check{
		{"payload", true, usualLimit, checkPayload},
		{"git", true, usualLimit, checkGit},
		{"home", true, usualLimit, checkHome},
		{"disk", true, usualLimit, ofHome(checkDisk)},
		{"memory", true, usualLimit, checkMemory},
		{"open files", true, usualLimit, checkOpenFiles},
		{"loopback", true, usualLimit, checkLoopback},
		{"ports", true, usualLimit, checkPorts},
		{"clock", true, usualLimit, checkClock},
		{"inotify", true, usualLimit, checkInotify},
		{"git identity", false, usualLimit, checkGitIdentity},
		{"daemon", false, usualLimit, ofHome(checkDaemon)},
		{"proxy", false, usualLimit, checkProxy},
		{"node", false, usualLimit, ofHome(checkNode)},
		{"features", false, usualLimit, checkFeatures},
		{"hosts", false, usualLimit, ofHome(checkHosts)},
		{"system", false, usualLimit, checkPlatform},
		{"user", false, usualLimit, checkUser},
		{"cgroup", false, usualLimit, checkCgroup},
		{"kernel", false, usualLimit, checkKernel},
		{"rootless", false, usualLimit, checkRootless},
		{"browser", false, usualLimit, checkBrowser},
		{engineCheck, true, engineLimit + time.Second, checkEngine},
		{"engine size", true, engineLimit + time.Second, ofKind("any", checkEngineSize)},
		{"engine disk", true, engineLimit + time.Second, ofKind("any", checkEngineDisk)},
		{"node image", true, 2*engineLimit + time.Second, checkNodeImage},
	}
}

// Gate returns the checks that can be fatal.
func Gate() []Check {
	var gate []Check
	for _, c := range All() {
		if c.Name == engineCheck {
			c.run = checkKindEngine // one that is not needed is not waited for
		}
		if c.Gate {
			gate = append(gate, c)
		}
	}
	return gate
}

// Report is what all checks have found, in their order.
type Report struct {
	Home     string        `json:"home,omitempty"`
	Running  bool          `json:"running"` // the sandbox there is
	Severity Severity      `json:"severity"`
	Findings []Finding     `json:"findings"`
	Took     time.Duration `json:"tookNanoseconds"`
}

// Of returns the findings of a severity.
func (r *Report) Of(s Severity) []Finding {
	var some []Finding
	for _, f := range r.Findings {
		if f.Severity == s {
			some = append(some, f)
		}
	}
	return some
}

// Examine makes the checks, all at once.
func Examine(ctx context.Context, sys *System, s *Subject, checks []Check) *Report {
	began := time.Now()
	r := &Report{Home: s.Home, Running: s.Daemon != nil, Severity: OK, Findings: make([]Finding, len(checks))}
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { r.Findings[i] = c.examine(ctx, sys, s) })
	}
	all.Wait()
	for _, severity := range severities {
		if len(r.Of(severity)) > 0 {
			r.Severity = severity
		}
	}
	r.Took = time.Since(began)
	return r
}

// examine makes one check. A check that misses its deadline is left to itself:
// there is no way to end a read that the system does not answer.
func (c Check) examine(ctx context.Context, sys *System, s *Subject) Finding {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	done := make(chan Finding, 1)
	go func() { done <- c.run(ctx, sys, s) }()
	var f Finding
	select {
	case f = <-done:
	case <-ctx.Done():
		f = warning(fmt.Sprintf("no answer within %s", c.limit), "its state is not known", "try again; what hangs may be a network drive or the machine itself")
	}
	if f.Lost == realPods && !s.embedded() {
		f = ok("%s", f.Found) // no clusters get nodes of this kind
	}
	f.Check = c.Name
	return f
}

// ofHome is a check of what is in the sandbox's folder.
func ofHome(check func(*System, *Subject) Finding) func(context.Context, *System, *Subject) Finding {
	return func(_ context.Context, sys *System, s *Subject) Finding {
		if s.Home == "" {
			return note("there is no folder to look at", "see home", "")
		}
		return check(sys, s)
	}
}

func ok(found string, args ...any) Finding {
	return Finding{Severity: OK, Found: fmt.Sprintf(found, args...)}
}

func note(found, lost, fix string) Finding    { return Finding{"", Note, found, lost, fix} }
func warning(found, lost, fix string) Finding { return Finding{"", Warning, found, lost, fix} }
func fatal(found, lost, fix string) Finding   { return Finding{"", Fatal, found, lost, fix} }

// Subject is what kalypso knows by itself about the sandbox that is meant.
type Subject struct {
	Home      string // the folder; "" with HomeError
	HomeError error  // why there is no folder to look at
	// Others is the error about things in the folder that are not a sandbox's;
	// nil also where it was not checked.
	Others      error
	Socket      string // the control socket
	SocketLimit int    // how long its path may be
	Lock        string // the file that a daemon holds
	PIDFile     string // the file where a daemon notes its ID

	// Ports are those that an existing sandbox keeps, by listener.
	Ports map[string]int
	// ValidFrom and ValidUntil are when all certificates of the sandbox are valid;
	// zero where it has none yet.
	ValidFrom, ValidUntil time.Time
	// Children are the IDs of the processes that a daemon has registered and
	// that run.
	Children map[string]int
	// Daemon is the one that answers, nil without.
	Daemon *Daemon

	Provider  string // of the clusters: "kind", "existing", or "embedded", which "" stands for
	NodeImage string // of kind's nodes that are still to be made; "" for none

	Clusters int // that the sandbox has or will have
	// Host is the name of one of the workshop's hosts, "" where it has none.
	Host string
	// LongestCluster is the longest of their names: the path of a node's socket is
	// limited.
	LongestCluster string
	Version        string // of this kalypso
	Payload        Payload
}

// Daemon is a running sandbox.
type Daemon struct {
	PID       int
	Version   string // "" when it has not answered in time
	Processes []int  // its components'
	Resident  int64  // bytes of memory, of it and of its components
}

// embedded reports whether clusters are processes of this machine.
func (s *Subject) embedded() bool { return s.Provider == "" || s.Provider == "embedded" }

// Payload is what this binary has packed.
type Payload struct {
	Err      error
	Platform string // GOOS/GOARCH of the programs
	Names    []string
	Packed   int64 // bytes in the binary
	Missing  int64 // bytes that are not on disk yet, unpacked
	Files    int   // that are not on disk yet
}

const (
	mebi = 1 << 20
	gibi = 1 << 30
)
