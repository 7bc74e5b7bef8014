package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const mergeLimit = 20 * time.Second

var errNoPull = errors.New("no pull request has been waited for yet")

func (s *script) wordPRWait(args []string) error {
	repo, base, files := args[0], args[1], args[3:]
	limit, err := time.ParseDuration(args[2])
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s", args[2])
	}
	// a merged one is what an earlier run made of the same push
	mergedWillDo := !s.pushed
	err = s.retry(limit, func() error {
		p, err := s.findPull(repo, base, files, mergedWillDo)
		if err == nil {
			s.pull = p
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the scheduler's pull request to %s of %s: %w", base, repo, err)
	}
	fmt.Fprintf(&s.ran, "%s, %s: %s\n%s\n", s.pull, s.pull.state(), s.pull.title, s.pull.url)
	if s.pull.merged {
		s.note(fmt.Sprintf("done already: pull request #%d", s.pull.number))
	}
	s.ts.Setenv("PR", strconv.FormatInt(s.pull.number, 10))
	s.ts.Setenv("PR_URL", s.pull.url)
	s.ts.Setenv("PR_HEAD", s.pull.head)
	return nil
}

// lookAtFiles finds out which files a pull request changes, once per commit:
// whoever waits asks ten times a second, and would slow down what it waits for.
func (s *script) lookAtFiles(p *pull) error {
	if files, ok := s.files[p.head]; ok {
		p.files = files
		return nil
	}
	files, err := s.forge.changedFiles(p)
	if err != nil {
		return err
	}
	head, err := s.forge.head(p)
	if err != nil {
		return err
	}
	if head != p.head {
		// the files could be those of either commit
		return unmet("#%d is being changed", p.number)
	}
	if s.files == nil {
		s.files = map[string][]string{}
	}
	p.files, s.files[p.head] = files, files
	return nil
}

// findPull returns the open pull request, or the latest merged one if that
// will do, when it changes all of the files.
func (s *script) findPull(repo, base string, files []string, mergedWillDo bool) (*pull, error) {
	pulls, err := s.forge.pulls(repo, base)
	if err != nil {
		return nil, err
	}
	reason := unmet("there is none")
	for i, p := range pulls {
		if i == 0 {
			reason = unmet("none is open; the latest, #%d, is %s", p.number, p.state())
		}
		if !p.open && !(p.merged && mergedWillDo) {
			continue
		}
		if err := s.lookAtFiles(p); err != nil {
			return nil, err
		}
		missing := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(p.files, f) })
		if len(missing) == 0 {
			return p, nil
		}
		if p.open {
			// there is only one at a time
			reason = unmet("#%d (%s) is open, but does not change %s", p.number, p.title, strings.Join(missing, ", "))
		}
	}
	return nil, reason
}

func (s *script) wordPRFiles(args []string) error {
	if s.pull == nil {
		return errNoPull
	}
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

func (s *script) wordPRShow(args []string) error {
	if s.pull == nil {
		return errNoPull
	}
	b, err := s.forge.file(s.pull, args[0])
	s.stdout.Write(b)
	return err
}

func (s *script) wordPRMerge([]string) error {
	if s.pull == nil {
		return errNoPull
	}
	if s.pull.merged {
		s.note("done already")
		return nil
	}
	if err := s.retry(mergeLimit, func() error { return s.forge.merge(s.pull) }); err != nil {
		return fmt.Errorf("merge %s: %w", s.pull, err)
	}
	s.pull.open, s.pull.merged = false, true
	s.happened["merge"] = time.Now()
	return nil
}
