module github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel

go 1.26

require github.com/hashicorp/yamux v0.1.2
