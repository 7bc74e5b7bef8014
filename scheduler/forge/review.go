package forge

import (
	"slices"
	"strings"
	"time"
)

// Verdict is what a review says.
type Verdict string

const (
	Approves        Verdict = "approves"
	RequestsChanges Verdict = "requests changes"
	Dismissed       Verdict = "dismissed" // it counts no more
)

// Review is a user's verdict about a pull request. Comments are none.
type Review struct {
	By      string
	Verdict Verdict
	Commit  string // that it is about
	At      time.Time
}

// Approval is the review with which users agreed with a pull request, zero where they do not.
type Approval struct {
	By string
	At time.Time
}

// ApprovalOf is the newest of the approvals that stand: each user's last verdict counts, and none
// requests changes. Which and how many a repository requires, only its merge shows.
func ApprovalOf(reviews []Review) Approval {
	var newest Approval
	for _, r := range LastOf(reviews) {
		switch {
		case r.Verdict == RequestsChanges:
			return Approval{}
		case r.Verdict == Approves && (newest.At.IsZero() || r.At.After(newest.At)):
			newest = Approval{r.By, r.At.UTC()}
		}
	}
	return newest
}

// LastOf is each user's last verdict, the oldest first.
func LastOf(reviews []Review) []Review {
	sorted := slices.SortedStableFunc(slices.Values(reviews), func(a, b Review) int { return a.At.Compare(b.At) })
	var last []Review
	for _, r := range sorted {
		last = append(slices.DeleteFunc(last, func(former Review) bool { return former.By == r.By }), r)
	}
	return last
}

// CommitHead is a commit of a pull request without its files.
type CommitHead struct {
	ID, Author, Subject string
}

// Subject is the first line of a commit's message.
func Subject(message string) string {
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSpace(subject)
}
