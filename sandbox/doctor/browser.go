package doctor

import "context"

// checkBrowser asks whether pages can be shown to this user.
func checkBrowser(_ context.Context, sys *System, _ *Subject) Finding {
	const lost = "`kalypso open` only prints the addresses of pages"
	program := "xdg-open"
	switch {
	case sys.OS == "darwin":
		program = "open"
	case sys.Env("DISPLAY") == "" && sys.Env("WAYLAND_DISPLAY") == "" && sys.Env("WSL_DISTRO_NAME") == "":
		return ok("there is no display here, so %s", lost)
	}
	path, err := sys.LookPath(program)
	if err != nil {
		return note(program+" is not installed", lost, sys.install("xdg-utils"))
	}
	return ok("%s shows pages", path)
}
