package sandbox

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// greetingLimit is how long a daemon may take to be recognised.
const greetingLimit = 500 * time.Millisecond

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
// It gets what is missing and can be had, and puts what it has settled on into
// the choice.
func preflight(ctx context.Context, o *Options) error {
	s := subject(o.Home)
	state, err := o.Home.LoadState()
	if errors.Is(err, ErrNoSandbox) {
		state, err = &State{Workshop: cmp.Or(o.Workshop, DefaultWorkshop), Provider: cmp.Or(o.Provider, ProviderEmbedded), Existing: o.sources()}, nil
		describe(s, state)
		if s.Provider == ProviderKind {
			o.getImage(ctx)
			s.NodeImage = cmp.Or(o.Image, kind.PublishedImage)
		}
	}
	r := doctor.Examine(ctx, doctor.Machine(), s, doctor.Gate())
	if err == nil {
		o.Home.lookAtExisting(ctx, state, r)
	}
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

// Diagnose looks at everything that the sandbox meets on this machine. A home
// that cannot be found out is a finding, too. With a fatal finding the error
// is a *PreflightError, beside the report.
func Diagnose(ctx context.Context, version string) (*doctor.Report, error) {
	h, err := FindHome()
	s := &doctor.Subject{HomeError: err, Clusters: len(workshops[0].clusters), Payload: packed("")}
	if err == nil {
		s = subject(h)
		s.Daemon = h.greet(ctx)
		var others *UsageError // of other errors the check of the home finds the cause
		if !h.Exists() && errors.As(h.checkOurs(), &others) {
			s.Others = others
		}
	}
	s.Version = version
	r := doctor.Examine(ctx, doctor.Machine(), s, doctor.All())
	if state, err := h.LoadState(); err == nil {
		h.lookAtExisting(ctx, state, r)
	}
	return r, refusal(r)
}

// subject is what can be known without asking a daemon.
func subject(h Home) *doctor.Subject {
	s := &doctor.Subject{
		Home: string(h), Socket: h.Socket(), SocketLimit: maxSocketPath,
		Lock: h.Path("daemon.lock"), PIDFile: h.Path("daemon.pid"),
		Payload: packed(h.Components()), Clusters: len(workshops[0].clusters),
	}
	// what cannot be read is missing here, and whoever needs it says so
	if state, err := h.LoadState(); err == nil {
		s.Ports = maps.Clone(state.Ports)
		describe(s, state)
		_ = state.useEngine() // the checks ask the one that has the clusters
	}
	s.Children, _ = supervisor.Living(h.Path("children"))
	return s
}

// describe tells of the clusters that a sandbox has or will have.
func describe(s *doctor.Subject, state *State) {
	s.Provider = state.Provider
	w, err := findWorkshop(state.Workshop)
	if err != nil {
		return
	}
	made := w.made(state)
	if s.Clusters = len(made); s.Clusters == 0 {
		s.Provider = "existing"
	}
	for _, c := range w.clusters {
		switch _, given := state.Existing[c.name]; {
		case given:
			delete(s.Ports, c.name) // its API server is elsewhere
		case state.Provider == ProviderKind:
			// the engine may hold them for clusters that still run
			delete(s.Ports, c.name)
			delete(s.Ports, c.listener())
		}
	}
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

// greet asks a daemon who it is, nil when none answers soon. Its status waits
// for the scheduler's, so what it says at once has to do where that is late.
func (h Home) greet(ctx context.Context) *doctor.Daemon {
	ctx, cancel := context.WithTimeout(ctx, greetingLimit)
	defer cancel()
	d := &doctor.Daemon{}
	door := openDoor(h)
	all, err := door.components(ctx)
	if err != nil {
		return nil
	}
	for _, s := range all {
		if s.PID != 0 {
			d.Processes = append(d.Processes, s.PID)
		}
	}
	if b, err := os.ReadFile(h.Path("daemon.pid")); err == nil {
		d.PID, _ = strconv.Atoi(string(b)) // no number is 0
	}
	d.Resident = resident(d.PID) // and all that it runs
	if s, err := door.status(ctx); err == nil {
		d.Version = s.Version
	}
	return d
}
