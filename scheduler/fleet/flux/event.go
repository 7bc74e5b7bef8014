package flux

import (
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// Event is what Flux's controllers, or its notification-controller, post about an object, as far
// as it is read (fluxcd.io/flux/components/notification/events).
type Event struct {
	InvolvedObject struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	} `json:"involvedObject"`
	Severity  string            `json:"severity"`
	Timestamp time.Time         `json:"timestamp"`
	Message   string            `json:"message"`
	Reason    string            `json:"reason"`
	Metadata  map[string]string `json:"metadata"`
}

// Correction is what a Kustomization has applied of a commit: of one that it had applied before,
// somebody has changed it since.
type Correction struct {
	Kustomization Ref
	Commit        string
	At            time.Time // by the cluster's clock
	// Objects are what was made or changed, as Flux writes it: KIND/NAMESPACE/NAME, or
	// KIND/NAME.
	Objects []string
}

// Correction is what a Kustomization has applied; false for an event about anything else.
func (e Event) Correction() (Correction, bool) {
	made := Correction{Kustomization: Ref{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}, At: e.Timestamp.UTC()}
	if e.InvolvedObject.Kind != kindKustomization || e.Severity != "info" {
		return made, false
	}
	revision := e.Metadata[Kustomizations.Group+"/revision"]
	if revision == "" {
		revision = e.Metadata["revision"] // notification-controller takes the group away
	}
	made.Commit = fleet.CommitOf(revision)
	for line := range strings.Lines(e.Message) {
		object, action, _ := strings.Cut(strings.TrimSpace(line), " ")
		if (action == "configured" || action == "created") && strings.Contains(object, "/") {
			made.Objects = append(made.Objects, object)
		}
	}
	return made, made.Commit != "" && len(made.Objects) > 0
}

// String says what was put back.
func (c Correction) String() string {
	kind, name, _ := strings.Cut(c.Objects[0], "/")
	more := ""
	if n := len(c.Objects) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("%s %s%s differed from commit %.8s, and Kustomization %s has put it back", kind, name, more, c.Commit, c.Kustomization.Name)
}
