// Package ci is what the steps of a workflow do: each verb of `kalypso ci` is
// one function here. The workflows run on the runners of GitHub and of Gitea
// alike, because the verbs know them by nothing but the variables that both
// set, and because they need no other program on the runner: no Docker, no
// Helm, no git, no forge's or cloud's command line.
//
// # The application's side
//
//	build-image          an OCI image from a folder with a Dockerfile, into a registry
//	render               a chart and the values of each deployment target to manifests
//	descriptor           what is deployed, for whoever observes deployments
//	create-pr            a folder of manifests to a pull request on a GitOps repository
//
// # Both sides
//
//	set-status           how a commit fares in an environment
//	wait-for-deployment  the gate: until all clusters have a commit and are well
//	start-workflow       the next workflow of the chain, in this or another repository
//	deployed-version     which version is on a GitOps branch, and whether a push has brought it
//
// # The platform's side
//
//	promote              pin a commit of the control plane in an environment
//	promoted-commit      which commit a push to a GitOps branch has promoted
//
// # The contract
//
// A verb learns where it runs from the environment, see [Environment], and
// takes secrets from nowhere else: a flag would be in the log. What a later
// step needs goes to the file that GITHUB_OUTPUT names, see [Outputs]; a line
// for people goes to the log. A verb that is run again changes nothing that is
// as it should be.
//
// The token of a job, GITHUB_TOKEN, is good for the job's own repository only,
// and what is done with it starts no other workflow: that is both forges' rule
// against endless loops. Steps that write to another repository, or whose pull
// requests are to start workflows there, get a token of a person or a bot in
// KALYPSO_CI_TOKEN.
package ci
