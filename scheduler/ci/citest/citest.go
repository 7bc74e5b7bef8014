// Package citest is the former name of package ciforge, until its users name that.
package citest

import "github.com/kalypso-dev/kalypso/internal/testkit/ciforge"

const Server = ciforge.Server

type (
	Forge = ciforge.Forge
	Start = ciforge.Start
)

var New = ciforge.New
