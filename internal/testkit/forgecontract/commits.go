package forgecontract

import (
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func (s *suite) read() {
	repo := s.Repo("app")
	first := s.Push(repo, "main", map[string]string{"a.txt": "1", "dir/b.txt": "2"})
	s.Push(repo, "main", map[string]string{"a.txt": "3"})
	for name, test := range map[string]struct {
		ref   model.Reference
		a     string
		found bool
	}{
		"head":               {s.ref(repo, "main"), "3", true},
		"older commit":       {model.Reference{Repo: s.CloneURL(repo), Branch: "main", Commit: first}, "1", true},
		"no such branch":     {s.ref(repo, "feature/x"), "", false},
		"no such repository": {model.Reference{Repo: strings.Replace(s.CloneURL(repo), "app", "none", 1), Branch: "main"}, "", false},
		"no such commit":     {model.Reference{Repo: s.CloneURL(repo), Commit: strings.Repeat("1", 40)}, "", false},
		"a file":             {model.Reference{Repo: "file:///tmp/x", Branch: "main"}, "", false},
	} {
		tree, err := s.f.Read(s.ctx, test.ref)
		if !test.found {
			if !errors.Is(err, forge.ErrNotFound) {
				s.Errorf("%s: error %v, want not found", name, err)
			}
			if _, err := s.f.Head(s.ctx, test.ref); test.ref.Commit == "" && !errors.Is(err, forge.ErrNotFound) {
				s.Errorf("%s: Head: error %v, want not found", name, err)
			}
			continue
		}
		if err != nil {
			s.Errorf("%s: %v", name, err)
			continue
		}
		if string(tree.Files["a.txt"]) != test.a || string(tree.Files["dir/b.txt"]) != "2" || tree.Repo != test.ref.Repo || tree.Branch != test.ref.Branch {
			s.Errorf("%s: %+v", name, tree)
		}
		if head, err := s.f.Head(s.ctx, test.ref); err != nil || head != tree.Commit {
			s.Errorf("%s: Head is %s, %v, want %s", name, head, err, tree.Commit)
		}
	}
	if got, ok := s.f.Repo(s.CloneURL(repo)); got != repo || !ok {
		s.Errorf("Repo is %q, %t", got, ok)
	}
	if _, ok := s.f.Repo("https://elsewhere.example/acme/app"); ok {
		s.Error("another server's repository is of this forge")
	}
}

func (s *suite) files(repo, branch string) map[string]string {
	s.Helper()
	tree, err := s.f.Read(s.ctx, s.ref(repo, branch))
	if err != nil {
		s.Fatal(err)
	}
	files := map[string]string{}
	for path, content := range tree.Files {
		files[path] = string(content)
	}
	return files
}

func (s *suite) commit() {
	repo := s.Repo("gitops")
	base := s.Push(repo, "dev", map[string]string{"drone/a/b.yaml": "1", "drone/c.yaml": "2", "drone.txt": "3", "old/x.yaml": "x"})
	request := forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "Kalypso: dev\n", When: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC),
		Changes: []forge.Change{
			{Path: "drone/a/b.yaml"},
			{Path: "large/n/x.yaml", Content: []byte("new")},
			{Path: "large/empty", Content: []byte{}},
			{Path: "large/binary", Content: []byte("\xff\x00\x01")},
			{Path: "old/x.yaml"},
			{Path: "never/was"},
		},
	}
	id, err := s.f.Commit(s.ctx, repo, request)
	if err != nil {
		s.Fatal(err)
	}
	want := map[string]string{"drone.txt": "3", "drone/c.yaml": "2", "large/empty": "", "large/n/x.yaml": "new", "large/binary": "\xff\x00\x01"}
	if diff := cmp.Diff(want, s.files(repo, "kalypso/dev")); diff != "" {
		s.Errorf("files (-want +got):\n%s", diff)
	}
	if head, err := s.f.Head(s.ctx, s.ref(repo, "kalypso/dev")); head != id || err != nil {
		s.Errorf("Head is %s, %v, want %s", head, err, id)
	}

	// the branch is overwritten, if it is where it is expected
	request.Expect, request.Message = id, "second\n"
	second, err := s.f.Commit(s.ctx, repo, request)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.f.Commit(s.ctx, repo, request); !errors.Is(err, forge.ErrMoved) {
		s.Errorf("a branch that moved: %v", err)
	}
	if head, _ := s.f.Head(s.ctx, s.ref(repo, "kalypso/dev")); head != second {
		s.Errorf("head %s, want %s", head, second)
	}
	for name, bad := range map[string]forge.CommitRequest{
		"a user's branch": {Branch: "dev", Parent: base, Changes: request.Changes},
		"not on top":      {Branch: "dev", Parent: base, Expect: id, FastForward: true, Changes: request.Changes},
		"outside":         {Branch: "kalypso/dev", Parent: base, Changes: []forge.Change{{Path: "../x", Content: []byte("x")}}},
		"nothing":         {Branch: "kalypso/dev", Parent: base, Changes: []forge.Change{{Path: "drone.txt", Content: []byte("3")}}},
	} {
		if _, err := s.f.Commit(s.ctx, repo, bad); err == nil {
			s.Errorf("%s: no error", name)
		}
	}
	forward := forge.CommitRequest{
		Branch: "dev", Parent: base, Expect: base, FastForward: true, Message: "Promote\n", Changes: []forge.Change{{Path: "new", Content: []byte("y")}},
	}
	if _, err := s.f.Commit(s.ctx, repo, forward); err != nil {
		s.Errorf("fast-forward: %v", err)
	}
	forward.Changes[0].Content = []byte("z")
	if _, err := s.f.Commit(s.ctx, repo, forward); !errors.Is(err, forge.ErrMoved) {
		s.Errorf("fast-forward of a branch that moved: %v", err)
	}
	s.commitFilesOfAnother(repo, base)
	for range 2 {
		if err := s.f.DeleteBranch(s.ctx, repo, "kalypso/dev"); err != nil {
			s.Error(err)
		}
	}
	if _, err := s.f.Head(s.ctx, s.ref(repo, "kalypso/dev")); !errors.Is(err, forge.ErrNotFound) {
		s.Errorf("head of a deleted branch: %v", err)
	}
	if err := s.f.DeleteBranch(s.ctx, repo, "dev"); err == nil {
		s.Error("a user's branch was deleted")
	}
}

// commitFilesOfAnother makes a branch, and on top of it a commit with the files of another
// commit.
func (s *suite) commitFilesOfAnother(repo, base string) {
	const branch = "kalypso-rollout/dev/large/canary"
	made := forge.CommitRequest{
		Branch: branch, Parent: base, Expect: forge.NoBranch, Message: "Begin\n", Changes: []forge.Change{{Path: "mark", Content: []byte("1")}},
	}
	first, err := s.f.Commit(s.ctx, repo, made)
	if err != nil {
		s.Fatal(err)
	}
	made.Message = "Begin again\n"
	if _, err := s.f.Commit(s.ctx, repo, made); !errors.Is(err, forge.ErrMoved) {
		s.Errorf("a branch that is there is made: %v", err)
	}
	other := s.Push(repo, "dev", map[string]string{"drone.txt": "4", "more/file": "5"})
	next := forge.CommitRequest{
		Branch: branch, Parent: first, Expect: first, FastForward: true, Tree: other, Message: "Go on\n", Changes: []forge.Change{{Path: "mark", Content: []byte("2")}},
	}
	if _, err := s.f.Commit(s.ctx, repo, next); err != nil {
		s.Fatal(err)
	}
	want := s.files(repo, "dev")
	want["mark"] = "2"
	if diff := cmp.Diff(want, s.files(repo, branch)); diff != "" {
		s.Errorf("files of another commit (-want +got):\n%s", diff)
	}
	if _, err := s.f.Commit(s.ctx, repo, next); !errors.Is(err, forge.ErrMoved) {
		s.Errorf("a branch that has moved: %v", err)
	}
}
