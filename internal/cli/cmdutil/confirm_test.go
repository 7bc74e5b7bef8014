package cmdutil

import "testing"

func TestOnlyYesMeansYes(t *testing.T) {
	for line, want := range map[string]bool{"y\n": true, "Yes \n": true, "YES": true, "": false, "\n": false, "n\n": false, "yesterday\n": false, "yy": false} {
		if saysYes(line) != want {
			t.Errorf("%q", line)
		}
	}
}
