// Package github has what the login of a GitHub App names of GitHub's API: what else is in
// the answer that has its token, which nothing reads.
package github

type (
	// InstallationTokenOptions restrict a token.
	InstallationTokenOptions struct{}
	// InstallationPermissions are what a token may do.
	InstallationPermissions struct{}
	// Repository is one that a token is for.
	Repository struct{}
)
