module github.com/kalypso-dev/kalypso/sandbox/components/relay

go 1.26

require (
	github.com/hashicorp/yamux v0.1.2
	github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel v0.0.0
)

replace github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel => ./tunnel
