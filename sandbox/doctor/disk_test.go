package doctor

import (
	"errors"
	"testing"
)

// What status warns of while a sandbox runs is what doctor and up find of it.
func TestRoomOfASandboxThatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		space Space
		want  Severity
	}{
		"roomy":           {Space{Free: 2 * gibi, FreeFiles: 1 << 20, CountsFiles: true}, OK},
		"no count":        {Space{Free: 2 * gibi}, OK},
		"filling up":      {Space{Free: gibi - 1}, Warning},
		"full":            {Space{Free: 127 * mebi}, Warning},
		"files run out":   {Space{Free: 2 * gibi, FreeFiles: 1999, CountsFiles: true}, Warning},
		"hardly any file": {Space{Free: 2 * gibi, FreeFiles: 100, CountsFiles: true}, Warning},
	} {
		sys := box()
		sys.Space = func(string) (Space, error) { return c.space, nil }
		if got := CheckRoom(sys, "/home/tom/.kalypso"); got.Severity != c.want || c.want != OK && (got.Lost == "" || got.Fix == "") {
			t.Errorf("%s: %+v", name, got)
		}
		s := subjectOf()
		s.Ports, s.Payload.Missing, s.Payload.Files = map[string]int{"gitea": 1}, 0, 0
		if got := checkDisk(sys, s); got.Severity != c.want {
			t.Errorf("%s, by doctor: %+v", name, got)
		}
	}
	sys := box()
	sys.Space = func(string) (Space, error) { return Space{}, errors.New("stale handle") }
	if got := CheckRoom(sys, "/home/tom/.kalypso"); got.Severity != Warning {
		t.Errorf("%+v", got)
	}
}
