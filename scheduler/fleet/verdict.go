package fleet

import (
	"fmt"
	"strings"
)

// Decision is what the gate does next.
type Decision string

const (
	Arrived Decision = "arrived"
	Waiting Decision = "waiting"
	Failed  Decision = "failed"
)

// Verdict is a decision with the reasons for it.
type Verdict struct {
	Decision Decision
	// Reasons has a line for each configuration that the commit has not
	// reached; none when it has arrived.
	Reasons []string
	// Reached is how many of All configurations have the commit and are
	// compliant with it.
	Reached, All int
}

// Judge decides whether the commit has reached every configuration. A branch
// that nothing follows has nothing to wait for: the commit has arrived.
//
// A failure counts only on the commit itself. What fails on another one may be
// fixed by this one, so it is waited for; the deadline is the caller's. The
// same goes for configurations that are suspended or cannot be asked, and for
// those that have gone on to a later commit: when the branch has been merged
// to once more, judge that commit instead.
func Judge(all []Configuration, commit string) Verdict {
	v := Verdict{Decision: Arrived, All: len(all)}
	for _, c := range all {
		there := c.Commit != "" && strings.EqualFold(c.Commit, commit)
		if there && c.State == Compliant {
			v.Reached++
			continue
		}
		v.Reasons = append(v.Reasons, explain(c, there))
		switch {
		case there && c.State == NonCompliant:
			v.Decision = Failed
		case v.Decision == Arrived:
			v.Decision = Waiting
		}
	}
	return v
}

func explain(c Configuration, there bool) string {
	at := "has fetched nothing yet"
	switch {
	case there:
		at = "has the commit"
	case c.Commit != "":
		at = "is on " + short(c.Commit)
	}
	text := fmt.Sprintf("%s is %s and %s", c.ID(), c.State, at)
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

func short(commit string) string { return commit[:min(len(commit), 8)] }

// CommitOf takes the commit out of a revision as Flux writes it: BRANCH/COMMIT
// before version 0.36, BRANCH@sha1:COMMIT since then, and sha1:COMMIT for a
// source that names a commit (fluxcd.io/flux/components/source/gitrepositories,
// "Artifact"). It is "" when there is none.
func CommitOf(revision string) string {
	if i := strings.LastIndexAny(revision, ":/@"); i >= 0 {
		return revision[i+1:]
	}
	return revision
}
