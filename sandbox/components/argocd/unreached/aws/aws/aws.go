// Package aws, and those below it, have what Argo CD names of Amazon's client to find
// repositories for ApplicationSets, on which nothing here acts.
package aws

import "context"

// Context is that of a request.
type Context = context.Context

// Config says where requests go.
type Config struct {
	Credentials any
	Region      *string
}

// String returns a pointer to s.
func String(s string) *string { return &s }

// StringValue returns the string at s.
func StringValue(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// StringSlice returns pointers to the strings.
func StringSlice(all []string) []*string {
	pointers := make([]*string, len(all))
	for i := range all {
		pointers[i] = &all[i]
	}
	return pointers
}
