package open

import (
	"os/exec"
	"testing"
)

func TestBrowser(t *testing.T) {
	for _, c := range []struct {
		name, system string
		env          []string
		installed    string
		want         string
	}{
		{"no display", "linux", nil, "xdg-open", ""},
		{"X", "linux", []string{"DISPLAY"}, "xdg-open", "/bin/xdg-open"},
		{"Wayland", "linux", []string{"WAYLAND_DISPLAY"}, "xdg-open", "/bin/xdg-open"},
		{"a display and no program", "linux", []string{"DISPLAY"}, "open", ""},
		{"a Mac", "darwin", nil, "open", "/bin/open"},
		{"Windows' Linux", "linux", []string{"WSL_DISTRO_NAME"}, "wslview", "/bin/wslview"},
	} {
		env := func(name string) string {
			for _, set := range c.env {
				if set == name {
					return "x"
				}
			}
			return ""
		}
		look := func(name string) (string, error) {
			if name == c.installed {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		}
		if got := browser(c.system, env, look); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
