// Package session opens sessions.
package session

import (
	"errors"

	"github.com/aws/aws-sdk-go/aws"
)

// Session is never opened.
type Session struct{}

// NewSession fails.
func NewSession(...*aws.Config) (*Session, error) {
	return nil, errors.New("this Argo CD is built without Amazon's client")
}

// Copy returns the session.
func (s *Session) Copy(...*aws.Config) *Session { return s }
