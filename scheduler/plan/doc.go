// Package plan decides what an environment's GitOps branch should hold.
//
// [New] takes the model of an environment and the branch's present content and
// returns a [Plan]: which deployment target is assigned to which cluster type
// and why, the platform configuration of each assignment and where every value
// comes from, the rendered files, what has to change on the branch, and all
// that could not be planned. Nothing in this package touches the world.
//
// Two rules keep a mistake from becoming an outage. An assignment with a
// problem keeps its files as they are. And while anything of the environment
// cannot be read, nothing is removed: what looks gone may only be out of sight.
package plan
