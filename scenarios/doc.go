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
//	# Needs: the scenarios that it builds on; nothing where it builds on none
//	# Spellings: OTHER=TEXT, where checks take OTHER for TEXT; may be left out
//	#
//	# One or more paragraphs of explanation.
//
// After it come steps: a line "step TITLE", comments that explain it, marks,
// and sections with one command per line.
//
//	step Push the policies
//	# Why, and what a reader has to know.
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
//	    what a user does. It can be the first section to run, so it clones
//	    what it needs
//	check
//	    what must hold afterwards, and must not before. It changes nothing, and
//	    finds out by itself what has been done: it may have been a user
//	look [(holds before)]
//	    in a step without solve, what there is to see. It must not hold before
//	    the action that it comes after, the last step with solve; (holds before)
//	    marks what that action does not change
//	hint TEXT
//	    help that is given when it is asked for
//	transient
//	    later steps change what the check sees, and rightly so. Once the next
//	    action is done, the step counts as done
//	needs real-pods CLUSTER...
//	    the check needs pods that really run. Where they only seem to, on a
//	    simulated node, or cannot, on a cluster that cannot pull their images,
//	    the step is done, is not checked, and is called simulated, not passed
//
// `kalypso help scenario-commands` prints what the commands are, of the table in
// the package engine. That package runs scenarios, leads a user through
// them, checks what is done, and renders them for readers.
//
// # Running a scenario again
//
// A scenario acts only where something is left to do, so that it can be run
// again at any time: after it was interrupted it goes on where it stopped, and
// one that has been done makes its checks and changes nothing. For that, each
// step's check is made before the step; a step whose check passes then is noted
// as done already, and no time is measured.
//
// A run that verifies the checks, on a sandbox where nothing is done, takes such
// a check for one that proves nothing, and fails. Before each action it also
// probes what there is to look at after it and before the next one, in this
// scenario and the next: that must not hold yet, either. A commit that the
// action is going to make does not exist then.
package scenarios
