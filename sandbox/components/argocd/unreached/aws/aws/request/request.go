// Package request has the options of requests.
package request

// Option is one of them.
type Option any
