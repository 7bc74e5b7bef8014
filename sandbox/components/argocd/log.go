package main

import (
	"slices"
	"strings"

	log "github.com/sirupsen/logrus"
)

// routine are the beginnings of what Argo CD says of each comparison, also of
// one that finds nothing: a dozen long lines a minute for each application,
// among which a user looks for the line of a sync.
var routine = []string{
	"received unary call",
	"started call",
	"finished call",
	"git ",
	"manifest cache hit",
	"manifest cache miss",
	"GetRepoObjs stats",
	"Ignore status for all objects",
	"Using diffing customizations",
	"Refreshing app status (comparison expired",
	"Refreshing app status (controller refresh",
	"Comparing app state",
	"Skipping auto-sync: application status is Synced",
	"Skipping auto-sync: another operation is in progress",
	"Already attempted sync",
	"Namespace already exists",
	"Tasks (dry-run)",
	"Updating operation state",
	"No status changes",
	"Update successful",
	"Reconciliation completed",
}

// formatter writes plain lines, and leaves routine out unless the level asks
// for everything.
type formatter struct{ lines log.TextFormatter }

func newFormatter() *formatter {
	return &formatter{lines: log.TextFormatter{DisableColors: true, FullTimestamp: true}}
}

// Format returns the line of an entry, which is empty for what is left out.
func (f *formatter) Format(e *log.Entry) ([]byte, error) {
	if e.Level == log.InfoLevel && !e.Logger.IsLevelEnabled(log.DebugLevel) && isRoutine(e.Message) {
		return nil, nil
	}
	return f.lines.Format(e)
}

func isRoutine(message string) bool {
	return slices.ContainsFunc(routine, func(r string) bool { return strings.HasPrefix(message, r) })
}
