module github.com/kalypso-dev/kalypso/sandbox/components/node/spec

go 1.26
