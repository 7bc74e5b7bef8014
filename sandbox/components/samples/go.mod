module github.com/kalypso-dev/kalypso/sandbox/components/samples

go 1.26
