package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/client-go/util/cert"
)

// identifyDeadline is how long a daemon may take to say what it is.
const identifyDeadline = 500 * time.Millisecond

// PreflightError is what of this machine must change before the sandbox can
// start. There is at least one finding.
type PreflightError struct{ Findings []doctor.Finding }

func (e *PreflightError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.Found + ": " + f.Lost + "; " + f.Fix
	}
	return strings.Join(lines, "\n  ")
}

// preflight makes the checks without which nothing would work, in a moment.
// It gets what is missing and can be had, and completes the choice with it.
func preflight(ctx context.Context, o *Options) error {
	s, err := o.Home.Load()
	if err != nil { // where there is one that cannot be read, a check says why
		if s, err = o.Choice.Draft(); err != nil {
			return err
		}
	}
	subject := subjectOf(o.Home, s)
	if subject.Provider == ProviderKind && s.Engine == nil {
		o.getImage(ctx)
		subject.NodeImage = cmp.Or(o.Image, kind.PublishedImage)
	}
	r := doctor.Examine(ctx, doctor.Machine(), subject, doctor.Gate())
	checkAttached(ctx, o.Home, s, r)
	return refusal(r)
}

// getImage gets the image of kind's nodes. Where it cannot, the check of the
// image says so, or that of the engine.
func (o *Options) getImage(ctx context.Context) {
	e, err := kind.FindEngine()
	if err != nil {
		return
	}
	image, err := e.EnsureImage(ctx, o.Image, func(step string) {
		if o.Say != nil {
			o.Say(step)
		}
	})
	if err == nil {
		o.Image = image
	}
}

func refusal(r *doctor.Report) error {
	if fatal := r.Of(doctor.Fatal); len(fatal) > 0 {
		return &PreflightError{fatal}
	}
	return nil
}

// Diagnose makes all checks of this machine, for the sandbox that there is or that
// Up would make by the choice. A home that cannot be found out is a finding, too.
// With a fatal finding the error is a *PreflightError, beside the report. A choice
// that Up would not take is an error without a report.
func Diagnose(ctx context.Context, version string, c Choice) (*doctor.Report, error) {
	scratch, err := makeScratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if err := c.Open(ctx, scratch); err != nil {
		return nil, err
	}
	h, err := state.FindHome()
	if err == nil {
		var broken *state.BrokenError
		if mistake := c.Check(h); mistake != nil && !errors.As(mistake, &broken) {
			return nil, mistake
		}
	}
	draft, draftErr := c.Draft()
	if draftErr != nil {
		return nil, draftErr
	}
	subject := &doctor.Subject{HomeError: err, Clusters: len(draft.Clusters()), Payload: packed("")}
	var s *state.State
	if err == nil {
		if s, err = h.Load(); err == nil {
			subject = subjectOf(h, s)
		} else { // of other errors the check of the home finds the cause
			subject, s = subjectOf(h, draft), draft
			if c.Image != "" {
				subject.NodeImage = c.Image
			}
		}
		subject.Daemon = identifyDaemon(ctx, h)
		var others *usage.Error
		if errors.As(h.CheckOthers(), &others) {
			subject.Others = others
		}
	}
	subject.Version = version
	r := doctor.Examine(ctx, doctor.Machine(), subject, doctor.All())
	if s != nil {
		checkAttached(ctx, h, s, r)
	}
	return r, refusal(r)
}

// subjectOf is what is known without asking a daemon, of a sandbox that is there
// or will be.
func subjectOf(h Home, s *state.State) *doctor.Subject {
	subject := &doctor.Subject{
		Home: string(h), Socket: h.Socket(), SocketLimit: state.MaxSocketPath,
		Lock: h.Path("daemon.lock"), PIDFile: h.Path("daemon.pid"),
		Payload: packed(h.Components()), Clusters: len(s.Made()), LongestCluster: longest(s.Made()),
		Ports: maps.Clone(s.Ports), Provider: s.Provider,
	}
	subject.ValidFrom, subject.ValidUntil = validity(h)
	_ = s.UseEngine() // the checks ask the one that has the clusters
	subject.Children, _ = supervisor.Living(h.Children())
	if subject.Clusters == 0 {
		subject.Provider = "existing"
	}
	for _, c := range s.Hosts() {
		subject.Host = c.Name
	}
	for _, c := range s.Clusters() {
		switch _, attached := s.Existing[c.Name]; {
		case attached:
			delete(subject.Ports, c.Name) // its API server is elsewhere
		case s.Provider == ProviderKind:
			// the engine may hold them for clusters that still run
			delete(subject.Ports, c.Name)
			delete(subject.Ports, state.Listener(c))
		}
	}
	return subject
}

// validity is when all certificates of the embedded clusters are valid; zero times
// where there are none yet.
func validity(h Home) (from, until time.Time) {
	files, _ := filepath.Glob(h.Path("clusters", "*", "pki", "*.crt")) // the pattern is right
	for _, file := range files {
		certificates, err := cert.CertsFromFile(file)
		if err != nil {
			continue // what is there and broken, its cluster says
		}
		for _, c := range certificates {
			if c.NotBefore.After(from) {
				from = c.NotBefore
			}
			if until.IsZero() || c.NotAfter.Before(until) {
				until = c.NotAfter
			}
		}
	}
	return from, until
}

func longest(names []string) string {
	return slices.MaxFunc(append(names, ""), func(a, b string) int { return len(a) - len(b) })
}

// packed is what this binary has inside, and how much of it is not yet below
// dir.
func packed(dir string) doctor.Payload {
	m, err := components.Packed()
	if err != nil {
		return doctor.Payload{Err: err}
	}
	p := doctor.Payload{Platform: m.Platform, Names: m.Names()}
	for _, c := range m.Components {
		p.Packed += c.Size
		if _, err := os.Stat(components.Path(dir, c.Name)); err != nil {
			p.Missing += c.UnpackedSize()
			p.Files += len(c.Files)
		}
	}
	return p
}

// identifyDaemon returns what a running daemon says of itself, nil when none
// answers soon. Its status waits for the scheduler's, so a late one is left out.
func identifyDaemon(ctx context.Context, h Home) *doctor.Daemon {
	ctx, cancel := context.WithTimeout(ctx, identifyDeadline)
	defer cancel()
	client := daemon.NewClient(h)
	all, err := client.Components(ctx)
	if err != nil {
		return nil
	}
	d := &doctor.Daemon{}
	for _, s := range all {
		if s.PID != 0 {
			d.Processes = append(d.Processes, s.PID)
		}
	}
	d.PID, _ = h.PID()                  // 0 for none
	d.Resident = daemon.Resident(d.PID) // and all that it runs
	if s, err := client.Status(ctx); err == nil {
		d.Version = s.Version
	}
	return d
}

// checkAttached adds to a report what is found of the attached clusters, but for
// those that are stopped.
func checkAttached(ctx context.Context, h Home, s *state.State, r *doctor.Report) {
	stopped, _ := h.StoppedClusters()
	p := stack.AttachedClusters(h, s)
	same := map[string]string{}
	for _, name := range s.ClusterNames() {
		if !p.Has(name) || slices.Contains(stopped, name) {
			continue
		}
		check := "cluster " + name
		f, err := p.Preflight(ctx, name)
		if other := same[string(f.UID)]; err == nil && other != "" {
			err = &attached.Problem{
				Found: fmt.Sprintf("%s and %s are one and the same cluster", other, name),
				Lost:  "each must have its own", Fix: "give another context for one of them, or let kalypso make it",
			}
		}
		same[string(f.UID)] = name
		if err != nil {
			r.Findings, r.Severity = append(r.Findings, findingsOf(check, err)...), doctor.Fatal
			continue
		}
		found := fmt.Sprintf("%s: Kubernetes %s, %d of its nodes are ready", s.Existing[name], f.Version, f.Nodes)
		r.Findings = append(r.Findings, doctor.Finding{Check: check, Severity: doctor.OK, Found: found})
	}
}

// findingsOf makes a finding of each problem.
func findingsOf(check string, err error) []doctor.Finding {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []doctor.Finding
		for _, e := range joined.Unwrap() {
			all = append(all, findingsOf(check, e)...)
		}
		return all
	}
	var p *attached.Problem
	if !errors.As(err, &p) {
		p = &attached.Problem{Found: err.Error(), Lost: "the cluster cannot be used", Fix: "mend that, then `kalypso up` again"}
	}
	return []doctor.Finding{{Check: check, Severity: doctor.Fatal, Found: p.Found, Lost: p.Lost, Fix: p.Fix}}
}
