// Package awserr has the errors of requests.
package awserr

// Error is what a request failed with.
type Error interface {
	error
	Code() string
}
