// Package actions runs the workflows of the sandbox's forge: it is a runner for
// Gitea's Actions that needs no container engine and no network. The steps of
// a job run on this machine, each job in a folder of its own with little in its
// environment.
//
//	r := &actions.Runner{Config: config, Log: log}
//	err := r.Run(ctx) // until ctx ends
//
// The forge hands out tasks, a task is one job of a run. From there the way is:
//
//	task ──► Parse ──► job ──► steps, one after the other ──► result
//	                            │ run: a script of the shell
//	                            │ uses: actions/checkout
//	                            ▼
//	                   lines ──► mask ──► report ──► forge
//
// What decides is pure and has its own files: the plan of a job (Parse), the
// expressions (package expression), masking of secrets, splitting of output
// into lines, the files by which a step speaks (GITHUB_OUTPUT and the others),
// the git commands of a checkout.
//
// # What is served
//
// A subset of GitHub's workflow language: `if`, `env`, `defaults`, `needs` with
// outputs, `run` in bash, sh or python, `continue-on-error`, `timeout-minutes`,
// `matrix` of written values (which Gitea expands), inputs of
// workflow_dispatch, and of actions actions/checkout, and kalypso's own, for
// which there is nothing to do. What is not served is an error that says so,
// before the first step runs. What Gitea leaves out of what it sends is read
// from the workflow's file in the repository.
//
// # Environments
//
// Gitea has no environments. A variable or secret whose name begins with
// ENV__<ENVIRONMENT>__ is that environment's (see Scoped): jobs that name the
// environment see it without the prefix, all others do not see it at all.
//
// # What holds a job
//
// Each job has a keeper: a small process of this same program that starts the
// steps' processes and ends all of them, also those that have cut themselves
// off, when the job ends, or is cancelled, or when the runner is gone, however
// the runner went. Steps run as the same user as the runner: a job is kept from
// disturbing others by accident, it is not kept from malice.
//
// # Traps
//
// A runner that is killed reports its jobs as failed when it starts again: it
// keeps a small file per task. It can do so only under its old identity, which
// is in the same folder; a runner whose folder is lost leaves its jobs running
// for ever in the forge's eyes.
package actions
