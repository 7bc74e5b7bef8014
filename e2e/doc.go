// Package e2e runs the built kalypso as users run it, and looks at what it
// does from outside: its output, its processes, the forge, the cluster.
//
//	make build
//	go test -tags e2e ./e2e
//
// KALYPSO_BIN names another binary than bin/kalypso. KALYPSO_REQUIRE_BROWSER=1
// makes the lack of Chromium or Node a failure, and KALYPSO_SCREENSHOTS names a
// folder for pictures of the forge's pages.
package e2e
