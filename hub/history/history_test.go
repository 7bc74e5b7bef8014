package history_test

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// assignments are those of a branch as CLUSTER TYPE/TARGET[FROM,TO) and what they follow.
func assignments(t *testing.T, r *history.Reader, repo string) []string {
	t.Helper()
	all, err := r.Store.DesiredAssignments(t.Context(), repo, "dev", false)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%s/%s/%s[%d,%d) %s@%s:%s", d.Root, d.ClusterType, d.Target, d.From, d.To, strings.TrimSuffix(filepath.Base(d.Repo), ".git"), d.Branch, d.Path))
	}
	return texts
}

func versions(t *testing.T, r *history.Reader, repo string) []string {
	t.Helper()
	all, err := r.Store.BranchVersions(t.Context(), repo, "dev", false)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, v := range all {
		texts = append(texts, fmt.Sprintf("%s/%s[%d,%d) %s of %s", v.Environment, v.Target, v.From, v.To, v.Version, v.SourceCommit))
	}
	return texts
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(history.Result{})); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// TestRead: what was assigned at which commit, in which version, also where a commit changed
// something else, and where the two were on the way together.
func TestRead(t *testing.T) {
	s := newServer(t)
	platform, app := s.create("gitops"), s.create("shop")
	app.commit("First version", map[string]string{"test/a.yaml": "a: 1", "descriptors/shop-test.yaml": descriptor("shop", "test", "1.0.0", "aaa")})
	r := reader(t)

	first := platform.commit("Assign (#7)", map[string]string{
		"README.md": "hello", "small/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test"), "small/shop-test/platform-config.yaml": config("west"), "small/other/notes.txt": "no assignment",
	})
	platform.commit("Merge pull request 'Another type' (#8) from kalypso/dev into dev", map[string]string{"large/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test")})
	results := read(t, r, platform.environment(""))
	same(t, "results", results, map[string]history.Result{
		"gitops": {Repo: platform.url, Branch: "dev", Epoch: 1, Commits: 2, New: 2}, "shop": {Repo: app.url, Branch: "dev", Epoch: 1, Commits: 1, New: 1},
	})
	// a mistake in one file is one of that commit
	platform.commit("Merge pull request #9 from acme/x", map[string]string{"README.md": "unrelated", "small/shop-test/platform-config.yaml": config("east"), "large/shop-test/platform-config.yaml": config("east"), "large/broken/reconciler.yaml": "kind: Kustomization\n\t- no YAML"})
	last := platform.commit("Remove", map[string]string{"small/shop-test": "", "large/broken": ""})
	app.commit("Not a version", map[string]string{"test/a.yaml": "a: 2"})
	app.commit("Second version", map[string]string{"descriptors/shop-test.yaml": descriptor("shop", "test", "1.1.0", "bbb"), "descriptors/shop-load.yaml": descriptor("shop", "load", "1.1.0", "bbb")})
	app.commit("One target less", map[string]string{"descriptors/shop-test.yaml": "", "descriptors/broken.yaml": "kind: {"})
	results = read(t, r, platform.environment(""))
	if results["gitops"].New != 2 || results["shop"].New != 3 {
		t.Errorf("%+v", results)
	}
	same(t, "assignments", assignments(t, r, platform.url), []string{
		"/large/broken[3,4) .@:", "/large/shop-test[2,3) shop@dev:test", "/large/shop-test[3,0) shop@dev:test", "/small/shop-test[1,3) shop@dev:test", "/small/shop-test[3,4) shop@dev:test",
	})
	same(t, "versions", versions(t, r, app.url), []string{"dev/shop-load[3,0) 1.1.0 of bbb", "dev/shop-test[1,3) 1.0.0 of aaa", "dev/shop-test[3,4) 1.1.0 of bbb"})

	commits, err := r.Store.Commits(t.Context(), platform.url, "dev", 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for i, c := range commits {
		numbers = append(numbers, c.PullRequest)
		if c.Seq != i+1 || c.Author != "ann" || time.Since(c.Committed).Abs() > time.Hour {
			t.Errorf("%+v", c)
		}
	}
	same(t, "pull requests", numbers, []int{7, 8, 9, 0})
	seqs, err := r.Store.SeqOf(t.Context(), platform.url, "dev", []string{first, last, strings.Repeat("0", 40)})
	same(t, "numbers", seqs, map[string]int{first: 1, last: 4})
	if err != nil {
		t.Error(err)
	}
	found, err := r.Store.CommitBySHA(t.Context(), strings.ToUpper(last[:8]))
	if err != nil || len(found) != 1 || found[0].SHA != last || found[0].Repo != platform.url {
		t.Errorf("%+v, %v", found, err)
	}
	v := verified(t, r, platform.environment(""))
	v.Differences = nil
	same(t, "verified", v, history.Verification{Branches: 2, Commits: 8, Assignments: 5, Versions: 3})
}

// TestRoots: an environment that comes later to a branch that was read is read from the
// branch's beginning.
func TestRoots(t *testing.T) {
	s := newServer(t)
	platform, app := s.create("gitops"), s.create("shop")
	app.commit("Version", map[string]string{"test/a.yaml": "a: 1"})
	platform.commit("Both", map[string]string{"dev/small/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test"), "sub/stage/small/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test")})
	platform.commit("One less", map[string]string{"sub/stage/small/shop-test": ""})
	r := reader(t)
	read(t, r, platform.environment("dev"))
	same(t, "one", assignments(t, r, platform.url), []string{"dev/small/shop-test[1,0) shop@dev:test"})
	read(t, r, platform.environment("./dev/"), platform.environment("sub/stage"))
	platform.commit("One more", map[string]string{"dev/large/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test")})
	read(t, r, platform.environment("dev"), platform.environment("sub/stage"))
	same(t, "both", assignments(t, r, platform.url), []string{
		"dev/large/shop-test[3,0) shop@dev:test", "dev/small/shop-test[1,0) shop@dev:test", "sub/stage/small/shop-test[1,2) shop@dev:test",
	})
	verified(t, r, platform.environment("dev"), platform.environment("sub/stage"))
}

// TestForcePush: a branch that is pushed over begins a new epoch with what both have, and the
// commits that are gone stay known.
func TestForcePush(t *testing.T) {
	s := newServer(t)
	platform, app := s.create("gitops"), s.create("shop")
	app.commit("Version", map[string]string{"test/a.yaml": "a: 1", "descriptors/d.yaml": descriptor("shop", "test", "1.0.0", "aaa")})
	files := map[string]string{"small/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test")}
	base := platform.commit("One", files)
	gone := platform.commit("Two", map[string]string{"small/shop-test": "", "large/shop-test/reconciler.yaml": files["small/shop-test/reconciler.yaml"]})
	r := reader(t)
	environment := platform.environment("")
	read(t, r, environment)

	platform.git(platform.work, "reset", "-q", "--hard", base)
	other := platform.commit("Another two", map[string]string{"README.md": "x"})
	last := platform.commit("Three", map[string]string{"README.md": "y"})
	before := time.Now().Add(-time.Second)
	if result := read(t, r, environment)["gitops"]; result.Epoch != 2 || result.Commits != 3 {
		t.Errorf("%+v", result)
	}
	same(t, "assignments", assignments(t, r, platform.url), []string{"/small/shop-test[1,0) shop@dev:test"})
	epochs, err := r.Store.Epochs(t.Context(), platform.url, "dev")
	if err != nil || len(epochs) != 2 || epochs[0].Epoch != 2 || epochs[0].Head != last || epochs[0].Began.Before(before) || !epochs[1].Began.IsZero() || epochs[1].Head != gone || epochs[1].Length != 2 {
		t.Errorf("%+v, %v", epochs, err)
	}
	seqs, err := r.Store.SeqOf(t.Context(), platform.url, "dev", []string{base, gone, other, last})
	if err != nil {
		t.Error(err)
	}
	same(t, "numbers", seqs, map[string]int{base: 1, other: 2, last: 3})
	if found, err := r.Store.CommitBySHA(t.Context(), gone); err != nil || len(found) != 1 || found[0].Epoch != 1 || found[0].Seq != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	verified(t, r, environment)

	t.Run("back to a commit of before", func(t *testing.T) {
		platform.git(platform.work, "reset", "-q", "--hard", other)
		platform.push()
		if result := read(t, r, environment)["gitops"]; result.Epoch != 3 || result.Commits != 2 {
			t.Errorf("%+v", result)
		}
		verified(t, r, environment)
	})
	t.Run("all of it is another", func(t *testing.T) {
		platform.git(platform.work, "checkout", "-q", "--orphan", "fresh")
		platform.git(platform.work, "rm", "-r", "-q", "-f", ".")
		platform.commit("From nothing", map[string]string{"edge/shop-test/reconciler.yaml": files["small/shop-test/reconciler.yaml"]})
		if result := read(t, r, environment)["gitops"]; result.Epoch != 4 || result.Commits != 1 {
			t.Errorf("%+v", result)
		}
		same(t, "assignments", assignments(t, r, platform.url), []string{"/edge/shop-test[1,0) shop@dev:test"})
		verified(t, r, environment)
	})
}

// TestVerify: each table that comes from git is compared.
func TestVerify(t *testing.T) {
	s := newServer(t)
	platform := generate(t, s, 40, 2, 4, 2, 5)
	environment := platform.environment("")
	for name, change := range map[string]string{
		"a commit":                 `UPDATE branch_commit SET subject = 'x' WHERE seq = 7 AND epoch = 1 AND branch_id = 1`,
		"an author":                `UPDATE branch_commit SET author = '' WHERE seq = 7 AND epoch = 1 AND branch_id = 1`,
		"an assignment":            `DELETE FROM desired_assignment WHERE target = 'app-0-t0' AND from_seq > 1`,
		"an end":                   `UPDATE desired_assignment SET to_seq = to_seq - 1 WHERE to_seq = 9`,
		"what it follows":          `UPDATE desired_assignment SET branch = 'main' WHERE from_seq = 9`,
		"a version":                `UPDATE target_version SET version = '2' WHERE from_seq = 3 AND target = 'app-0-t0'`,
		"one that there is not":    `INSERT INTO target_version SELECT branch_id, epoch, environment, 'x', from_seq, to_seq, version, source_commit FROM target_version WHERE target = 'app-0-t0' AND from_seq = 1`,
		"a branch that is lost":    `DELETE FROM branch_history WHERE branch_id = 2`,
		"assignments not yet read": `UPDATE branch_root SET length = 3`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "hub.db")
			r := readerOf(openStore(t, file), filepath.Join(t.TempDir(), "mirrors"), slog.New(slog.DiscardHandler))
			read(t, r, environment)
			verified(t, r, environment)
			db, err := sql.Open("sqlite", "file:"+file+"?_busy_timeout=30000")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			v, err := r.Verify(t.Context(), nil, openStore(t, filepath.Join(t.TempDir(), "none.db")))
			if err != nil || len(v.Differences) > 0 || v.Branches > 0 {
				t.Errorf("nothing is followed: %+v, %v", v, err)
			}
			v, err = r.Verify(t.Context(), []model.Reference{environment}, openStore(t, filepath.Join(t.TempDir(), "rebuilt.db")))
			if err != nil || len(v.Differences) == 0 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// TestRebuilt: without the database all that git has comes back, and while the branch goes on.
func TestRebuilt(t *testing.T) {
	s := newServer(t)
	platform := generate(t, s, 1200, 3, 5, 2, 10)
	environment := platform.environment("")
	r := reader(t)
	read(t, r, environment)
	if v := verified(t, r, environment); v.Commits != 1220 || v.Assignments != 15+1199 || v.Versions != 50 {
		t.Errorf("%+v", v)
	}
	again := readerOf(openStore(t, filepath.Join(t.TempDir(), "hub.db")), r.Folder, r.Log)
	read(t, again, environment)
	verified(t, again, environment)
	platform.git(platform.work, "pull", "-q", "origin", "dev")
	platform.commit("On", map[string]string{"type-0/app-0-t0": ""})
	verified(t, again, environment) // what the store has not read yet is no difference
}

// TestUnreadable: what cannot be read stays as it was, and says why; the others are read.
func TestUnreadable(t *testing.T) {
	s := newServer(t)
	platform, app := s.create("gitops"), s.create("shop")
	app.commit("Version", map[string]string{"test/a.yaml": "a: 1", "descriptors/d.yaml": descriptor("shop", "test", "1.0.0", "aaa")})
	platform.commit("One", map[string]string{"small/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test")})
	r := reader(t)
	environment := platform.environment("")
	read(t, r, environment)
	before := versions(t, r, app.url)

	hidden := app.bare + ".hidden"
	if err := os.Rename(app.bare, hidden); err != nil {
		t.Fatal(err)
	}
	platform.commit("Two", map[string]string{"large/shop-test/reconciler.yaml": reconciler("shop-test", app.url, "test")})
	results, err := r.Read(t.Context(), []model.Reference{environment}, nil)
	if err == nil || !strings.Contains(err.Error(), "shop") {
		t.Errorf("error %v", err)
	}
	if len(results) != 2 || results[0].New != 1 || results[1].Error == "" || results[1].Commits != 1 {
		t.Errorf("%+v", results)
	}
	same(t, "versions", versions(t, r, app.url), before)
	reason := func(repo string) string {
		t.Helper()
		all, err := r.Store.Histories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(h store.History) bool { return h.Repo == repo })
		return all[i].Error
	}
	if reason(app.url) == "" || reason(platform.url) != "" {
		t.Errorf("%q, %q", reason(app.url), reason(platform.url))
	}
	if _, err := r.Verify(t.Context(), []model.Reference{environment}, openStore(t, filepath.Join(t.TempDir(), "rebuilt.db"))); err == nil {
		t.Error("what cannot be read is verified")
	}
	if err := os.Rename(hidden, app.bare); err != nil {
		t.Fatal(err)
	}
	read(t, r, environment)
	if reason(app.url) != "" {
		t.Error(reason(app.url))
	}

	t.Run("nothing assigned follows it any more", func(t *testing.T) {
		platform.commit("Three", map[string]string{"large": "", "small": ""})
		read(t, r, environment)
		if err := os.Rename(app.bare, hidden); err != nil {
			t.Fatal(err)
		}
		if results := read(t, r, environment); results["shop"].Error == "" {
			t.Errorf("%+v", results)
		}
		if err := os.Rename(hidden, app.bare); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the forge is down", func(t *testing.T) {
		s.down.Store(true)
		defer s.down.Store(false)
		if _, err := r.Read(t.Context(), []model.Reference{environment}, nil); err == nil {
			t.Error("no error")
		}
		// who knows that nothing has moved asks for nothing
		heads := map[string]string{}
		all, err := r.Store.Histories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range all {
			heads[h.Repo] = h.Head
		}
		s.down.Store(false)
		read(t, r, environment)
		s.down.Store(true)
		if _, err := r.Read(t.Context(), []model.Reference{environment}, func(repo, _ string) (string, bool) { return heads[repo], false }); err != nil {
			t.Error(err)
		}
	})
	t.Run("a branch that is not there yet", func(t *testing.T) {
		next := environment
		next.Branch = "stage"
		results, err := r.Read(t.Context(), []model.Reference{next}, nil)
		if err != nil || len(results) != 1 || results[0].Error == "" {
			t.Errorf("%+v, %v", results, err)
		}
		platform.git(platform.bare, "update-ref", "-d", "refs/heads/dev")
		if _, err := r.Verify(t.Context(), []model.Reference{environment}, openStore(t, filepath.Join(t.TempDir(), "rebuilt.db"))); err == nil {
			t.Error("a branch that is gone is verified")
		}
	})
}

// TestDamagedMirror: a mirror that cannot be read is made anew, and holds no secret.
func TestDamagedMirror(t *testing.T) {
	s := newServer(t)
	platform := generate(t, s, 30, 2, 4, 1, 5)
	environment := platform.environment("")
	r := reader(t)
	read(t, r, environment)
	platform.git(platform.work, "pull", "-q", "origin", "dev")
	damages := map[string]func(file string, content []byte) []byte{
		"pack":  func(_ string, content []byte) []byte { return slices.Repeat([]byte{0}, len(content)) },
		"idx":   func(_ string, content []byte) []byte { return content[:len(content)/2] },
		"short": func(_ string, content []byte) []byte { return content[:20] },
	}
	n := 0
	for name, damage := range damages {
		suffix := map[string]string{"short": "pack"}[name]
		if suffix == "" {
			suffix = name
		}
		files, err := filepath.Glob(filepath.Join(r.Folder, "*.git", "objects", "pack", "*."+suffix))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(file, content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		n++
		platform.commit("After "+name, map[string]string{"type-0/app-0-t0/platform-config.yaml": config(name)})
		if result := read(t, r, environment)["gitops"]; result.New != 1 || result.Commits != 30+n {
			t.Errorf("%s: %+v", name, result)
		}
		verified(t, r, environment)
	}
	err := filepath.WalkDir(r.Folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), password) {
			t.Errorf("%s holds the forge's password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestManyFetches: a mirror does not become slower by each push.
func TestManyFetches(t *testing.T) {
	s := newServer(t)
	platform := s.create("gitops")
	r := reader(t)
	for n := range 70 {
		platform.commit(fmt.Sprint(n), map[string]string{"README.md": fmt.Sprint(n)})
		read(t, r, platform.environment(""))
	}
	packs, err := filepath.Glob(filepath.Join(r.Folder, "*.git", "objects", "pack", "*.pack"))
	if err != nil || len(packs) == 0 || len(packs) > 66 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
	verified(t, r, platform.environment(""))
}

// TestKilled: a process that is killed while it reads leaves parts that are whole, and the next
// goes on there.
func TestKilled(t *testing.T) {
	s := newServer(t)
	platform := generate(t, s, 6000, 3, 5, 2, 10)
	job := childJob{filepath.Join(t.TempDir(), "hub.db"), filepath.Join(t.TempDir(), "mirrors"), platform.environment("")}
	watched := openStore(t, job.Database)
	length := func() int {
		all, err := watched.Histories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range all {
			if h.Repo == platform.url {
				return h.Length
			}
		}
		return 0
	}
	kills := 0
	for last := 0; last < 6000; last = length() {
		command := child(t, job)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		deadline := time.After(time.Minute)
		for running := true; running; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				running = false
				ended <- nil
			case <-deadline:
				t.Fatalf("no commit was read in a minute after the %d first", last)
			case <-time.After(time.Millisecond):
				if now := length(); now > last && now < 6000 {
					if err := command.Process.Kill(); err != nil {
						t.Fatal(err)
					}
					kills++
					running = false
				}
			}
		}
		<-ended
	}
	if kills < 3 {
		t.Errorf("it was killed %d times", kills)
	}
	r := readerOf(watched, job.Mirrors, slog.New(slog.DiscardHandler))
	read(t, r, job.Environment)
	verified(t, r, job.Environment)
}

// TestDefaultBranch: what names no branch follows the default one.
func TestDefaultBranch(t *testing.T) {
	s := newServer(t)
	platform, app := s.create("gitops"), s.create("shop")
	app.commit("Version", map[string]string{"descriptors/shop-test.yaml": descriptor("shop", "test", "1.0.0", "aaa")})
	platform.commit("Assign", map[string]string{"small/shop-test/reconciler.yaml": strings.Replace(reconciler("shop-test", app.url, "test"), ", ref: {branch: dev}", "", 1)})
	r := reader(t)
	read(t, r, platform.environment(""))
	app.commit("More", map[string]string{"README.md": "x"})
	if result := read(t, r, platform.environment(""))["shop"]; result.Branch != "" || result.Commits != 2 || result.New != 1 {
		t.Errorf("%+v", result)
	}
	verified(t, r, platform.environment(""))
}

// TestConfiguration: the platform configuration as a commit has it.
func TestConfiguration(t *testing.T) {
	s := newServer(t)
	platform := s.create("gitops")
	first := platform.commit("One", map[string]string{"dev/small/shop-test/platform-config.yaml": config("west"), "dev/small/shop-test/namespace.yaml": "kind: Namespace"})
	platform.commit("Two", map[string]string{"dev/small/shop-test/platform-config.yaml": config("east")})
	r := reader(t)
	all, err := r.Configuration(t.Context(), platform.environment("dev"), first)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	v := all[0]
	if v.ClusterType != "small" || v.Target != "shop-test" || v.Key != "REGION" || v.Value != "west" || v.ConfigMap != "platform-config" || v.Position.File != "dev/small/shop-test/platform-config.yaml" || v.Position.Line != 5 {
		t.Errorf("%+v", v)
	}
	// a commit that there is not leaves the mirror as it is
	mirrors, err := filepath.Glob(filepath.Join(r.Folder, "*.git"))
	if err != nil || len(mirrors) != 1 {
		t.Fatal(mirrors, err)
	}
	kept := filepath.Join(mirrors[0], "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := r.Configuration(t.Context(), platform.environment("dev"), strings.Repeat("1", 40)); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a commit that there is not: %+v, %v", all, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the mirror was made anew: %v", err)
	}
}
