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
// After it come steps: a line "step TITLE", comments that explain it, marks,
// and sections with one word per line and what it acts on.
//
//	step Push the policies
//	# Why, and what a person has to know.
//	hint A first hint.
//	hint A second one, which says more.
//	solve
//	clone kalypso-control-plane dev
//	write policy.yaml kalypso-control-plane/scheduling/policy.yaml
//	push kalypso-control-plane 'Schedule the application'
//	check
//	repo same-yaml kalypso-control-plane dev scheduling/policy.yaml policy.yaml
//
// In every file of the archive https://github.com/YOUR_ORG stands for the
// running forge's organisation. A whole script is one that testscript accepts,
// so that quotes in titles and hints have to be closed.
//
// # Sections and marks
//
//	setup
//	    what the engine prepares; it makes nothing that the step is about
//	solve
//	    what a person does. It can be the first section to run, so it clones
//	    what it needs
//	check
//	    what must be so afterwards, and must not be before. It only looks, and
//	    finds out by itself what has been done: it may have been a person
//	look [(holds before)]
//	    in a step without solve, what there is to see. It must not be so before
//	    the deed that it comes after, the last step with solve; (holds before)
//	    marks a look at what that deed does not change
//	hint TEXT
//	    help that is given when it is asked for
//	momentary
//	    what the check sees passes by: later steps change it, and rightly so.
//	    Once the next thing that a person does is done, it counts as done
//	needs real-pods CLUSTER...
//	    the check needs pods that really run. Where they only seem to, on a
//	    simulated node, or cannot, on a cluster that cannot pull their images,
//	    the step is done, is not checked, and is called simulated, not passed
//
// One file serves all ways to go through a scenario. [Run] does everything.
// [Learn] explains, and waits until the checks pass by themselves. [Check] looks
// once. [Page] shows a person what to do and to see.
//
// # Words
//
// The words of testscript are all there (exec, cp, grep, cmp, stdout, env, "!"
// and so on; see github.com/rogpeppe/go-internal/testscript). A check can use
// stdout, stderr, grep, cmp, cmpenv, exists, env, and of ours those that only
// look:
//
//	step TITLE
//	    begin a step
//
// Files and git, as the person at the keyboard:
//
//	clone REPO BRANCH [DIR]
//	    clone a repository of the organisation; a folder that is a clone
//	    already is brought to the branch
//	write FILE DEST
//	    copy a file to where it belongs, making folders
//	edit DEST OLD NEW
//	    replace the lines of file OLD by those of file NEW
//	pull DIR
//	    take in what others have pushed
//	push DIR MESSAGE
//	    commit everything and push; sets $COMMIT. What has been pushed before
//	    with that message is not pushed again, though others may have changed
//	    it since
//
// Looking into repositories:
//
//	repo show REPO BRANCH PATH
//	    print a file
//	repo same-yaml REPO BRANCH PATH WANTED
//	    a file has the same objects as WANTED; sets $COMMIT to the commit by
//	    which the branch came to have it: a merge, if it came by a pull request
//	repo has-text REPO BRANCH PATH WANTED
//	    a file has the lines of WANTED; sets $COMMIT in the same way
//	repo promotes REPO BRANCH COMMIT
//	    an environment's branch takes, by its base-repo.yaml, the commit or one
//	    that contains it
//	repo gone REPO
//	    there is no such repository any more
//
// Pull requests. One is waited for, and is what the other words are about:
//
//	pr wait REPO BASE DURATION [KEY=VALUE...] [FILE...]
//	    wait for the pull request to BASE that changes every FILE and is not
//	    older than the last commit that was pushed, found or merged; sets $PR,
//	    $PR_URL and $PR_HEAD. It is one of the scheduler or of a workflow, or
//	    with by=anybody a person's. merged=too takes one that is merged; so
//	    does a wait after a push that had nothing to push. title=REGEXP and
//	    label=NAME ask for more
//	pr files FILE...
//	    it changes exactly these files; one that ends in "?" may be missing
//	pr show PATH
//	    print a file as it is at its head
//	pr says TEXT...
//	    its title or its body has the texts
//	pr label NAME
//	    it has the label
//	pr promotes REPO COMMIT
//	    with it, .github/tracking/Promoted_Commit_Id has the commit of REPO or
//	    one that contains it; it has the label promoted if it changes that
//	    file, and otherwise not
//	pr open
//	    it is open
//	pr merged
//	    it is merged; sets $MERGE_COMMIT
//	pr merge
//	    merge it, unless it is merged already
//
// What else the forge has:
//
//	issue open REPO TITLE [TEXT...]
//	    exactly one issue with the title is open, and its body has the texts
//	issue closed REPO TITLE
//	    there was such an issue, and it is closed
//	issue count REPO NUMBER
//	    so many issues are open, whatever their titles
//	status REPO COMMIT CONTEXT STATE [DESCRIPTION]
//	    the latest status, in a context, of the commit or of one by which the
//	    default branch has gone on from it
//	workflow run REPO FILE BRANCH [INPUT=VALUE...]
//	    start a workflow as the button does, unless it has succeeded or goes on
//	    for the branch's newest commit; sets $COMMIT to that
//	workflow wait REPO FILE COMMIT|BRANCH DURATION [CONCLUSION]
//	    wait until the latest run for the commit or one by which the default
//	    branch has gone on from it, or for the branch's newest one, has ended
//	    with success, or with what is said. When it ends otherwise, the reason
//	    has the run's address and the last lines of the failed jobs
//
// Programs:
//
//	kubectl ARGUMENT...
//	    the sandbox's kubectl; get, describe, logs, wait and the like only look
//	az ARGUMENT...
//	    Azure's commands, by the sandbox's own; show, list and query only look
//	kalypso ARGUMENT...
//	    our own commands; status, plan, explain, get, validate and the like
//	    only look
//	http get [--context CLUSTER] NAMESPACE svc/NAME PORT PATH [TEXT...]
//	    get a page through kubectl port-forward; each text is all that an
//	    element of the page holds, or a JSON string of it, or the whole page
//
// In single quotes, an argument $TOKEN stands for @FILE with a file that has the
// person's token. The token is in no variable, no log and no list of processes.
//
// Comparing and waiting:
//
//	same-yaml FILE WANTED
//	    both files hold the same objects, field for field
//	has-fields WANTED... [FLAG...]
//	    the cluster has every object of the files, with every field that the
//	    files give; flags are kubectl's, such as --context
//	says TEXT WORD...
//	    run a word, and find the text in what it prints
//	eventually DURATION WORD...
//	    try a word that only looks, until it succeeds
//	measure NAME since push|merge
//	    note the time that has passed since the last push or merge; without
//	    one in this run there is nothing to measure. What was waited for is
//	    seen up to 0.1 s, and for the cluster one run of kubectl, later than
//	    it is there
//
// FILE "stdout" is what the last command of the section printed.
//
// # Running a scenario again
//
// A scenario acts only where something is left to do, so that it can be run
// again at any time: after it was interrupted it goes on where it stopped, and
// one that has been done makes its checks and changes nothing. For that, each
// step's check is made before the step; a step whose check passes then is noted
// as done already, and no time is measured. An honest run, on a world where
// nothing is done, takes it for a check that proves nothing, and fails. It also
// glances, before each deed, at what there is to look at after it and before the
// next one, in this scenario and the next: that must not be so yet, either. A
// commit that the deed is going to make is none then.
package scenarios
