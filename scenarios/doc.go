// Package scenarios holds the tutorials as scripts: text files that a learner
// can read and copy from, and that a program can run and check against a
// sandbox.
//
// A scenario is a txtar archive, WORKSHOP/NAME.txtar: a script, then the files
// that it uses. The script's first comment block is its head:
//
//	# Title
//	#
//	# Persona: platform team
//	# Follows: the tutorial's section; another section
//	#
//	# One or more paragraphs of explanation.
//
// After it come steps: a line "step TITLE", comments that explain it, and one
// word per line with what it acts on. In every file of the archive
// https://github.com/YOUR_ORG stands for the running forge's organisation.
//
// The words of testscript are all there (exec, cp, grep, cmp, stdout, env, "!"
// and so on; see github.com/rogpeppe/go-internal/testscript). Ours are:
//
//	step TITLE
//	    begin a step
//	clone REPO BRANCH [DIR]
//	    clone a repository of the organisation as the person at the keyboard
//	write FILE DEST
//	    copy a file to where it belongs, making folders
//	push DIR MESSAGE
//	    commit everything and push; sets $COMMIT. With nothing to commit,
//	    $COMMIT is the commit that brought what "write" wrote, and the step
//	    says that it was done already
//	pr wait REPO BASE DURATION [FILE...]
//	    wait until the scheduler has a pull request to BASE that changes every
//	    FILE; sets $PR, $PR_URL and $PR_HEAD. If the last push had nothing to
//	    push, a merged one will do
//	pr files FILE...
//	    the pull request changes exactly these files; one that ends in "?" may
//	    be missing
//	pr show PATH
//	    print a file as it is at the head of the pull request
//	pr merge
//	    merge it, unless it is merged already
//	kubectl ARGUMENT...
//	    the sandbox's kubectl
//	same-yaml FILE WANTED
//	    both files hold the same objects, field for field
//	has-fields WANTED... [FLAG...]
//	    the cluster has every object of the files, with every field that the
//	    files give; flags are kubectl's, such as --context
//	eventually DURATION WORD...
//	    try one of the words above that only look, until it succeeds
//	measure NAME since push|merge
//	    note the time that has passed since the last push or merge; without
//	    one in this run there is nothing to measure. What was waited for is
//	    seen up to 0.1 s, and for the cluster one run of kubectl, later than
//	    it is there
//
// FILE "stdout" is what the last command printed.
//
// # Running a scenario again
//
// A scenario acts only where something is left to do, so that it can be run
// again at any time: after it was interrupted it goes on where it stopped, and
// one that has been done makes its checks and changes nothing. Such steps pass
// with a note that they were done already, and no time is measured.
package scenarios
