package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
)

const mergeLimit = 20 * time.Second

var errNoPull = unmet("no pull request has been waited for yet")

// pullQuery says which pull request is meant.
type pullQuery struct {
	repo, base string
	files      []string
	anybody    bool           // not only those on the branches below kalypso/
	merged     bool           // one that was merged meanwhile will do
	title      *regexp.Regexp // nil is any
	label      string
	since      time.Time // a machine's that is older has come of another push or merge
}

func readPullQuery(repo, base string, rest []string) (pullQuery, error) {
	q := pullQuery{repo: repo, base: base}
	for _, arg := range rest {
		key, value, ok := strings.Cut(arg, "=")
		switch {
		case !ok:
			q.files = append(q.files, arg)
		case key == "by" && value == "anybody":
			q.anybody = true
		case key == "merged" && value == "too":
			q.merged = true
		case key == "label":
			q.label = value
		case key == "title":
			var err error
			if q.title, err = regexp.Compile(value); err != nil {
				return q, err
			}
		default:
			return q, fmt.Errorf("%s: choose by=anybody, merged=too, label=NAME or title=REGEXP", arg)
		}
	}
	return q, nil
}

func (s *script) runPRWait(args []string) error {
	repo, base := args[0], args[1]
	limit, err := duration(args[2])
	if err != nil {
		return err
	}
	q, err := readPullQuery(repo, base, args[3:])
	if err != nil {
		return err
	}
	// a merged one is what an earlier run made of the same push
	ours := s.pushed && s.waits
	q.merged = q.merged || !ours
	q.since = s.since
	s.pull, s.wanted = nil, &q // what was found before is not this one
	if err := s.retry(limit, s.find); err != nil {
		return q.missed(err)
	}
	fmt.Fprintf(&s.ran, "%s, %s: %s\n%s\n", s.pull, s.pull.state(), s.pull.Title, s.pull.HTMLURL)
	if _, here := s.happened["merge"]; s.pull.HasMerged && s.repeated && !here {
		s.note("done already: pull request #%d", s.pull.Index)
	}
	return nil
}

// find looks for the pull request that is wanted, and makes it the current one.
func (s *script) find() error {
	p, err := s.findPull(*s.wanted)
	if err != nil {
		return err
	}
	s.pull = p
	s.setenv("PR", strconv.FormatInt(p.Index, 10))
	s.setenv("PR_URL", p.HTMLURL)
	s.setenv("PR_HEAD", p.Head.Sha)
	return nil
}

// current makes sure that there is a current pull request. One that was waited
// for in vain may have come since: a user who learns can skip that step.
func (s *script) current() error {
	switch {
	case s.pull != nil:
		return nil
	case s.wanted == nil:
		return errNoPull
	}
	if err := s.find(); err != nil {
		return s.wanted.missed(err)
	}
	return nil
}

// missed says which pull request an error is about.
func (q pullQuery) missed(err error) error {
	return fmt.Errorf("pull request to %s of %s: %w", q.base, q.repo, err)
}

// lookAtFiles finds out which files a pull request changes, once per commit:
// a user who waits asks ten times a second, and would slow down what it waits for.
func (s *script) lookAtFiles(p *pull) error {
	if files, ok := s.files[p.Head.Sha]; ok {
		p.files = files
		return nil
	}
	files, err := s.forge.changedFiles(p)
	if err != nil {
		return err
	}
	if p.State == gitea.StateOpen {
		now, err := s.forge.again(p)
		if err != nil {
			return err
		}
		if now.Head.Sha != p.Head.Sha {
			// the files could be those of either commit
			return unmet("#%d is being changed", p.Index)
		}
	}
	if s.files == nil {
		s.files = map[string][]string{}
	}
	p.files, s.files[p.Head.Sha] = files, files
	return nil
}

// findPull returns the pull request that was asked for. Of several that have
// come since the last push, that is the first: later ones have come of others.
func (s *script) findPull(q pullQuery) (*pull, error) {
	pulls, err := s.forge.pulls(q.repo, q.base, q.anybody)
	if err != nil {
		return nil, err
	}
	var found *pull
	reason := unmet("there is none")
	for i, p := range pulls {
		if i == 0 {
			reason = unmet("none is open; the latest, #%d, is %s", p.Index, p.state())
		}
		if p.State != gitea.StateOpen && !(p.HasMerged && q.merged) {
			continue
		}
		not, err := s.mismatch(q, p)
		switch {
		case err != nil:
			return nil, err
		case not == "" && (found == nil || p.Index < found.Index && !q.since.IsZero()):
			found = p
		case not != "" && (p.State == gitea.StateOpen || i == 0):
			reason = unmet("#%d (%s) is %s, but %s", p.Index, p.Title, p.state(), not)
		}
	}
	if found == nil {
		return nil, reason
	}
	return found, nil
}

// mismatch says why a pull request is not the one, "" when it is.
func (s *script) mismatch(q pullQuery, p *pull) (string, error) {
	switch {
	case q.title != nil && !q.title.MatchString(p.Title):
		return fmt.Sprintf("its title does not match %s", q.title), nil
	case q.label != "" && !slices.Contains(p.labels(), q.label):
		return "does not have the label " + q.label, nil
	}
	if err := s.lookAtFiles(p); err != nil {
		return "", err
	}
	missing := slices.DeleteFunc(slices.Clone(q.files), func(f string) bool { return slices.Contains(p.files, f) })
	if len(missing) > 0 {
		return "does not change " + strings.Join(missing, ", "), nil
	}
	if q.since.IsZero() || q.anybody {
		return "", nil
	}
	// a machine's that was there before the last push or merge has come of
	// another
	when, err := s.forge.committed(p.repo, p.Head.Sha)
	if err != nil {
		return "", err
	}
	if when.Before(q.since) {
		return "is older than the last push or merge", nil
	}
	return "", nil
}

func (s *script) runPRFiles(args []string) error {
	files, err := s.forge.changedFiles(s.pull)
	if err != nil {
		return err
	}
	var wrong []string
	wanted := map[string]bool{}
	for _, a := range args {
		name, optional := strings.CutSuffix(a, "?")
		wanted[name] = true
		if !optional && !slices.Contains(files, name) {
			wrong = append(wrong, "does not change "+name)
		}
	}
	for _, f := range files {
		if !wanted[f] {
			wrong = append(wrong, "changes "+f+", which it should not")
		}
	}
	if len(wrong) > 0 {
		return unmet("%s %s", s.pull, strings.Join(wrong, "; "))
	}
	return nil
}

func (s *script) runPRShow(args []string) error {
	b, err := s.forge.file(s.pull.repo, s.pull.Head.Sha, args[0])
	s.stdout.Write(b)
	s.prints("%s in %s", args[0], s.pull)
	return err
}

func (s *script) runPRSays(args []string) error {
	for _, text := range args {
		if !strings.Contains(s.pull.Title+"\n"+s.pull.Body, text) {
			return unmet("%s (%s) does not say %q", s.pull, s.pull.Title, text)
		}
	}
	return nil
}

// trackingPath has the commit of the control plane that a pull request promotes.
const trackingPath = ".github/tracking/Promoted_Commit_Id"

func (s *script) runPRPromotes(args []string) error {
	b, err := s.forge.file(s.pull.repo, s.pull.Head.Sha, trackingPath)
	if err != nil {
		return err
	}
	promoted := strings.TrimSpace(string(b))
	where := fmt.Sprintf("%s of %s", trackingPath, s.pull)
	if !fullCommit.MatchString(promoted) {
		return unmet("%s names no commit", where)
	}
	if err := s.promotes(where, args[0], promoted, args[1]); err != nil {
		return err
	}
	return s.labelled()
}

// promotedLabel marks the pull requests that promote a commit.
const promotedLabel = "promoted"

// labelled says whether the current pull request is marked if and only if the
// promotion is its own. It is not where an earlier one has brought it.
func (s *script) labelled() error {
	files, err := s.forge.changedFiles(s.pull)
	if err != nil {
		return err
	}
	now, err := s.forge.again(s.pull)
	if err != nil {
		return err
	}
	own, marked := slices.Contains(files, trackingPath), slices.Contains(now.labels(), promotedLabel)
	switch {
	case own && !marked:
		return unmet("%s promotes a commit, and does not have the label %s", s.pull, promotedLabel)
	case marked && !own:
		return unmet("%s has the label %s, and does not change %s", s.pull, promotedLabel, trackingPath)
	}
	return nil
}

func (s *script) runPRLabel(args []string) error {
	now, err := s.forge.again(s.pull)
	if err != nil {
		return err
	}
	if !slices.Contains(now.labels(), args[0]) {
		return unmet("%s does not have the label %s, but %s", now, args[0], strings.Join(now.labels(), ", "))
	}
	return nil
}

func (s *script) runPROpen([]string) error {
	now, err := s.forge.again(s.pull)
	if err != nil {
		return err
	}
	if now.State != gitea.StateOpen {
		return unmet("%s is %s", now, now.state())
	}
	return nil
}

func (s *script) runPRMerged([]string) error {
	now, err := s.forge.again(s.pull)
	if err != nil {
		return err
	}
	if !now.HasMerged {
		return unmet("%s is %s: %s", now, now.state(), now.HTMLURL)
	}
	// its head is not to be had any more when the branch has gone on
	s.pull.State, s.pull.HasMerged = gitea.StateClosed, true
	merge := ""
	if now.MergedCommitID != nil {
		merge = *now.MergedCommitID
	}
	s.setenv("MERGE_COMMIT", merge)
	s.since, err = s.forge.committed(now.repo, merge)
	return err
}

func (s *script) runPRMerge([]string) error {
	if s.pull.HasMerged {
		s.repeated = true
		s.note("done already")
		return nil
	}
	if err := s.retry(mergeLimit, func() error { return s.forge.merge(s.pull) }); err != nil {
		return fmt.Errorf("merge %s: %w", s.pull, err)
	}
	s.pull.State, s.pull.HasMerged = gitea.StateClosed, true
	s.happened["merge"] = time.Now()
	return nil
}
