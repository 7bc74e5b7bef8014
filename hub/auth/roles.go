// Package auth is who may use the hub, and as what: sign-in by an OpenID provider or by the forge,
// the roles that groups are given, and the limit of sign-ins that fail.
//
// A [SignIn] has the ways there are. Each sends a browser to its provider and gets it back with a
// code, by OAuth 2.0's code flow with PKCE; what the provider says of the user is a [User].
// Groups become a role and a scope by [Rules], at each request, so that a change of the hub's
// configuration holds for sessions that were there before.
package auth

import (
	"slices"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// Role is what a user may do. Each may do what those before it may.
type Role string

// The roles, the one that may least first. Agent is apart from them.
const (
	Viewer   Role = "viewer"   // reads what is in its scope
	Proposer Role = "proposer" // opens pull requests there
	Operator Role = "operator" // reads all; tokens and the audit
	Owner    Role = "owner"    // of a sandbox: its components and clusters
	// Agent is what reports of its own cluster, and may do nothing else.
	Agent Role = "agent"
)

// Roles are all of users and scripts, the one that may least first.
func Roles() []Role { return []Role{Viewer, Proposer, Operator, Owner} }

// Includes is whether a user of the role may do what another role may. A role that is not known
// may do nothing.
func (r Role) Includes(other Role) bool {
	if other == Agent {
		return r == Agent
	}
	have, need := slices.Index(Roles(), r), slices.Index(Roles(), other)
	return have >= 0 && need >= 0 && have >= need
}

// Rule gives a role to a group of a provider, or to one user.
type Rule struct {
	// Group is a group of the OpenID provider; of a forge an organisation, or organisation/team.
	Group string `yaml:"group"`
	// User is a user's name at the provider, instead of a group.
	User string `yaml:"user"`
	Role Role   `yaml:"role"`
	// Workspaces and Environments limit what is seen and proposed; empty for all.
	Workspaces   []string `yaml:"workspaces"`
	Environments []string `yaml:"environments"`
}

// Rules are in the order in which they count.
type Rules []Rule

// Grant is the role and the scope of a user, false where no rule is for them. The first rule that
// is for a user counts. Later ones with the same role add to its scope if they differ from it in
// the workspaces alone, or in the environments alone: anything else would let somebody see what no
// single rule does.
func (all Rules) Grant(login string, groups []string) (Role, store.Scope, bool) {
	var role Role
	var scope store.Scope
	for _, r := range all {
		if !(r.Group != "" && slices.Contains(groups, r.Group) || r.User != "" && r.User == login) {
			continue
		}
		switch {
		case role == "":
			role, scope = r.Role, store.Scope{Workspaces: r.Workspaces, Environments: r.Environments}
		case role != r.Role:
		case same(scope.Environments, r.Environments):
			scope.Workspaces = union(scope.Workspaces, r.Workspaces)
		case same(scope.Workspaces, r.Workspaces):
			scope.Environments = union(scope.Environments, r.Environments)
		}
	}
	return role, scope, role != ""
}

// same is whether two lists have the same names.
func same(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }

// union is all names of two lists; an empty one has every name there is.
func union(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	return sorted(a, b)
}

func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
