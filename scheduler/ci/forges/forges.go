// Package forges is the former place of [ci.OpenForge], until its callers name that.
package forges

import "github.com/kalypso-dev/kalypso/scheduler/ci"

// Open is ci.OpenForge.
var Open = ci.OpenForge
