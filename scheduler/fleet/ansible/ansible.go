// Package ansible says what runs on hosts that Ansible makes follow git, as the other
// packages of fleets do of clusters.
//
// The model: a host follows a folder of a GitOps repository, its subscription. Each folder
// in that one is an assignment with playbooks, [Playbooks], which `ansible-pull` runs on
// the host, at a commit. A playbook that is run once more, with --check, says what has been
// changed by hand since.
//
// What a run did is written by a callback of Ansible's, [Callback], since Ansible itself
// prints only for users, and its exit code says no more than that a task has failed:
//
//	run, err := ansible.ReadRun(file)      // of one assignment
//	one.Ran(run, commit, now)              // keeps it
//	cluster := report.Cluster(now)         // the host as a fleet has it
//
// The trap is an exit code of zero: of a playbook for other hosts, and of one whose tasks
// were all skipped. A run counts only when the callback has seen its end.
package ansible

import (
	"bufio"
	_ "embed" // the callback
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"go.yaml.in/yaml/v3"
)

// Callback is the plugin, for a folder that ANSIBLE_CALLBACK_PLUGINS names. It writes to the
// file that the variable [ReportVariable] names.
//
//go:embed kalypso_report.py
var Callback []byte

const (
	// CallbackFile is the plugin's file name, by which Ansible knows it.
	CallbackFile   = "kalypso_report.py"
	ReportVariable = "KALYPSO_REPORT"
	// StateVariable is "present" as a playbook's variable, and "absent" when what it has
	// brought is to be removed.
	StateVariable = "kalypso_state"
)

// Playbooks are the files of an assignment that are run, in this order, if they are there.
// Those that remove are run in the reverse one.
var Playbooks = []string{"namespace.yaml", "reconciler.yaml"}

// IsPlaybook is whether a document is one of Ansible's: a list of plays, each for hosts.
func IsPlaybook(document *yaml.Node) bool {
	plays := yamlpos.Resolve(document)
	if plays.Kind == yaml.DocumentNode && len(plays.Content) > 0 {
		plays = yamlpos.Resolve(plays.Content[0])
	}
	return plays.Kind == yaml.SequenceNode && len(plays.Content) > 0 && yamlpos.Value(plays.Content[0], "hosts") != nil
}

// Run is what one run of Ansible did.
type Run struct {
	OK      int    `json:"ok"` // tasks that found all as it should be
	Changed []Task `json:"changed,omitempty"`
	Failed  []Task `json:"failed,omitempty"`
	// Skipped are the tasks whose conditions did not hold.
	Skipped int `json:"skipped"`
	// Checkout is what a task of module git has brought last, nil for nothing.
	Checkout *Checkout `json:"checkout,omitempty"`
}

// Task is a task of a playbook with what became of it.
type Task struct {
	Name string `json:"name"`
	// Position is where it is written, FILE:LINE.
	Position string `json:"position,omitempty"`
	Message  string `json:"message,omitempty"`
}

func (t Task) String() string {
	text := "task " + strconv.Quote(t.Name)
	if t.Position != "" {
		text = t.Position + ": " + text
	}
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// Checkout is a commit of a branch of a repository that a host has fetched.
type Checkout struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// line is one of the callback's.
type line struct {
	Status   string    `json:"status"`
	Name     string    `json:"name"`
	Position string    `json:"position"`
	Message  string    `json:"message"`
	Checkout *Checkout `json:"checkout"`
}

// maxLine is longer than the callback's longest.
const maxLine = 64 << 10

// ErrCutOff is about a run whose end the callback has not seen.
var ErrCutOff = errors.New("the run was cut off")

// ReadRun reads what the callback has written of a run. Positions below root are given
// relative to it. The error is ErrCutOff for a run that did not come to its end, with what
// it did until then.
func ReadRun(r io.Reader, root string) (Run, error) {
	var run Run
	ended := false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return run, fmt.Errorf("the report of a run of Ansible: %w", err)
		}
		t := Task{l.Name, below(root, l.Position), strings.Join(strings.Fields(l.Message), " ")}
		switch l.Status {
		case "ok":
			run.OK++
		case "changed":
			run.Changed = append(run.Changed, t)
		case "failed":
			run.Failed = append(run.Failed, t)
		case "skipped", "ignored":
			run.Skipped++
		case "end":
			ended = true
		}
		if l.Checkout != nil {
			run.Checkout = l.Checkout
		}
	}
	if err := lines.Err(); err != nil {
		return run, fmt.Errorf("the report of a run of Ansible: %w", err)
	}
	if !ended {
		return run, ErrCutOff
	}
	return run, nil
}

func below(root, position string) string {
	return strings.TrimPrefix(position, strings.TrimSuffix(root, "/")+"/")
}

var (
	appears = regexp.MustCompile(`The error appears to be in '([^']+)': line (\d+), column (\d+)`)
	heading = "ERROR! "
)

// Explain makes one line of what Ansible prints when it cannot run a playbook: FILE:LINE, as
// far as it says, and what is wrong. Positions below root are given relative to it.
func Explain(printed, root string) string {
	_, text, found := strings.Cut(printed, heading)
	if !found {
		text = printed
	}
	var what string
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		// the second of these two headings is followed by what is wrong
		if l == "" || strings.HasPrefix(l, "We were unable to read either as JSON nor YAML") || strings.HasPrefix(l, "JSON: ") || strings.HasPrefix(l, "Syntax Error while loading YAML") {
			continue
		}
		what = l
		break
	}
	if position := appears.FindStringSubmatch(text); position != nil {
		return fmt.Sprintf("%s:%s:%s: %s", below(root, position[1]), position[2], position[3], what)
	}
	return what
}
