package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
)

// lookAtExisting adds to a report what is found of the clusters that the person
// has given, but for those that are stopped.
func (h Home) lookAtExisting(ctx context.Context, s *State, r *doctor.Report) {
	w, err := findWorkshop(s.Workshop)
	if err != nil {
		return // whoever needs it says so
	}
	away, _ := h.away()
	p := h.existingClusters(s, w)
	same := map[string]string{}
	for _, name := range w.clusterNames() {
		if !p.Has(name) || slices.Contains(away, name) {
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
