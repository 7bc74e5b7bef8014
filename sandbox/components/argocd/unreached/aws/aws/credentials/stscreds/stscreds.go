// Package stscreds assumes roles.
package stscreds

import "github.com/aws/aws-sdk-go/aws/session"

// NewCredentials returns none.
func NewCredentials(*session.Session, string) any { return nil }
