package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrMoved is wrapped where another process has written what a write goes on from.
var ErrMoved = errors.New("another process has written to it")

// Commit is a commit of a followed branch.
type Commit struct {
	Repo, Branch string // Repo is the URL
	Epoch        int    // grows when the branch is pushed with force
	Seq          int    // along first parents, from 1
	SHA          string
	Author       string
	Subject      string
	Committed    time.Time // by the committer's clock
	PullRequest  int       // whose number the forge has put into the subject; 0 for none
}

// Epoch is a time in which a branch was only added to.
type Epoch struct {
	Epoch  int
	Began  time.Time // when its commits were seen first; zero of the first epoch
	Head   string    // the newest commit of it that was read, "" for none
	Length int       // the number of that
}

// History is how far a branch was read, in its newest epoch.
type History struct {
	Repo, Branch string
	Epoch
	Roots map[string]int // how far the assignments below a folder were read
	Read  time.Time      // when something new was read last
	Error string         // why it cannot be read now, "" when it can
}

// HistoryPart are commits of a branch that follow each other, and what they have changed. It is
// written whole or not at all.
type HistoryPart struct {
	Repo, Branch string
	// Epoch and After are where the branch is in the store: 0 and 0 where nothing is known of
	// it. Another place is an error that wraps ErrMoved.
	Epoch, After int
	// Rewritten begins a new epoch, with the first Kept commits of the one before, before
	// Commits are added.
	Rewritten bool
	Kept      int
	Commits   []Commit            // numbered on; only what follows Branch in a Commit is taken
	Roots     map[string]int      // how far assignments are read with this part
	Desired   []DesiredAssignment // that begin or end
	Versions  []TargetVersion     // that begin or end
	Read      time.Time
}

const (
	historyColumns = `branch_id, epoch, head, length, began_at, read_at, error`
	commitColumns  = `branch_id, epoch, seq, sha, author, committed_at, subject, pull_request`
)

// ApplyHistory writes a part of a branch's history, and notifies the readers of the environments
// that follow the branch.
func (s *Store) ApplyHistory(ctx context.Context, p HistoryPart) error {
	notified := false
	err := s.write(ctx, func(t tx) error {
		id, err := t.branchForWrite(p.Repo, p.Branch)
		if err != nil {
			return err
		}
		epoch, length, err := t.position(id)
		if err != nil {
			return err
		}
		if epoch != int64(p.Epoch) || length != int64(p.After) {
			return fmt.Errorf("branch %s of %s: %w", p.Branch, p.Repo, ErrMoved)
		}
		switch {
		case p.Rewritten:
			if err := t.newEpoch(id, epoch, p); err != nil {
				return err
			}
			epoch, length = epoch+1, int64(p.Kept)
		case epoch == 0:
			epoch = 1
			if err := t.insert("branch_history", historyColumns, "", [][]any{{id, epoch, "", int64(0), int64(0), millis(p.Read), ""}}); err != nil {
				return err
			}
		}
		rows := make([][]any, len(p.Commits))
		for i, c := range p.Commits {
			length++
			rows[i] = []any{id, epoch, length, c.SHA, clean(c.Author), millis(c.Committed), clean(c.Subject), int64(c.PullRequest)}
		}
		if err := t.insert("branch_commit", commitColumns, "", rows); err != nil {
			return err
		}
		if err := t.putDesired(id, epoch, p); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE branch_history SET length = ?, read_at = ?, error = '',
			head = COALESCE((SELECT sha FROM branch_commit WHERE branch_id = ? AND epoch = ? AND seq = ?), '') WHERE branch_id = ? AND epoch = ?`,
			length, millis(p.Read), id, epoch, length, id, epoch)
		if err != nil {
			return err
		}
		notified, err = t.notifyFollowers(p)
		return err
	})
	if err == nil && notified {
		s.wakeReaders()
	}
	return err
}

// notifyFollowers writes a message for each environment whose GitOps branch it is, or that has an
// assignment that follows it.
func (t tx) notifyFollowers(p HistoryPart) (notified bool, err error) {
	var messages [][]any
	if err := t.each(func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		messages = append(messages, []any{int64(0), millis(p.Read), "environment", name, "", encode(map[string]any{"environment": name, "transitions": 0})})
		return err
	}, `SELECT name FROM environment WHERE gone_at = 0 AND gitops_repo = ? AND gitops_branch = ?
		UNION SELECT e.name FROM desired_assignment d JOIN branch b ON b.id = d.branch_id
			JOIN environment e ON e.gitops_repo = b.repo AND e.gitops_branch = b.name AND e.gitops_root = d.root
			WHERE e.gone_at = 0 AND d.to_seq = 0 AND d.repo = ? AND d.branch = ?`, clean(p.Repo), clean(p.Branch), clean(p.Repo), clean(p.Branch)); err != nil || len(messages) == 0 {
		return false, err
	}
	id, err := t.next("outbox", len(messages))
	if err != nil {
		return false, err
	}
	for i := range messages {
		messages[i][0] = id + int64(i)
	}
	return true, t.insert("outbox", "id, at, topic, environment, workspace, payload", "", messages)
}

// branchForWrite is the number of a branch, made where there is none. No other process writes
// until the transaction ends.
func (t tx) branchForWrite(repo, name string) (id int64, err error) {
	if _, err := t.next("round", 1); err != nil {
		return 0, err
	}
	repo, name = clean(repo), clean(name)
	err = t.row(`SELECT id FROM branch WHERE repo = ? AND name = ?`, repo, name).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if err := t.row(`SELECT COALESCE(max(id), 0) + 1 FROM branch`).Scan(&id); err != nil {
		return 0, err
	}
	return id, t.insert("branch", "id, repo, name", "", [][]any{{id, repo, name}})
}

// position is the newest epoch of a branch and the number of its newest commit, 0 and 0 for none.
func (t tx) position(branch int64) (epoch, length int64, err error) {
	err = t.row(`SELECT epoch, length FROM branch_history WHERE branch_id = ? ORDER BY epoch DESC LIMIT 1`, branch).Scan(&epoch, &length)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return epoch, length, err
}

// newEpoch begins the epoch after one, with the commits that both have. What has ended later
// than these has not ended in the new one.
func (t tx) newEpoch(id, epoch int64, p HistoryPart) error {
	kept := int64(p.Kept)
	if err := t.insert("branch_history", historyColumns, "", [][]any{{id, epoch + 1, "", kept, millis(p.Read), millis(p.Read), ""}}); err != nil {
		return err
	}
	for _, q := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO branch_commit (` + commitColumns + `) SELECT branch_id, epoch + 1, seq, sha, author, committed_at, subject, pull_request
			FROM branch_commit WHERE branch_id = ? AND epoch = ? AND seq <= ?`, []any{id, epoch, kept}},
		{`INSERT INTO branch_root (branch_id, epoch, root, length) SELECT branch_id, epoch + 1, root, CASE WHEN length > ? THEN ? ELSE length END
			FROM branch_root WHERE branch_id = ? AND epoch = ?`, []any{kept, kept, id, epoch}},
		{`INSERT INTO desired_assignment (` + desiredColumns + `) SELECT branch_id, epoch + 1, root, cluster_type, target, from_seq,
			CASE WHEN to_seq > ? THEN 0 ELSE to_seq END, digest, repo, branch, path FROM desired_assignment WHERE branch_id = ? AND epoch = ? AND from_seq <= ?`, []any{kept, id, epoch, kept}},
		{`INSERT INTO target_version (` + targetVersionColumns + `) SELECT branch_id, epoch + 1, environment, target, from_seq,
			CASE WHEN to_seq > ? THEN 0 ELSE to_seq END, version, source_commit FROM target_version WHERE branch_id = ? AND epoch = ? AND from_seq <= ?`, []any{kept, id, epoch, kept}},
	} {
		if _, err := t.exec(q.text, q.args...); err != nil {
			return err
		}
	}
	return nil
}

// FailHistories notes why branches cannot be read now, "" for one that can: what was read of
// them stays. The keys are repository and branch.
func (s *Store) FailHistories(ctx context.Context, at time.Time, reasons map[[2]string]string) error {
	known, err := s.Histories(ctx)
	if err != nil {
		return err
	}
	changed := map[[2]string]string{}
	for key, reason := range reasons {
		i := slices.IndexFunc(known, func(h History) bool { return h.Repo == clean(key[0]) && h.Branch == clean(key[1]) })
		if i < 0 && reason != "" || i >= 0 && known[i].Error != clean(reason) {
			changed[key] = clean(reason)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return s.write(ctx, func(t tx) error {
		for key, reason := range changed {
			id, err := t.branchForWrite(key[0], key[1])
			if err != nil {
				return err
			}
			epoch, _, err := t.position(id)
			if err != nil {
				return err
			}
			if epoch == 0 {
				if err := t.insert("branch_history", historyColumns, "", [][]any{{id, int64(1), "", int64(0), int64(0), millis(at), reason}}); err != nil {
					return err
				}
			}
			if _, err := t.exec(`UPDATE branch_history SET error = ? WHERE branch_id = ? AND epoch = ?`, reason, id, epoch); err != nil {
				return err
			}
		}
		return nil
	})
}

// newestEpochs has the last epoch of every branch.
const newestEpochs = `(SELECT branch_id, max(epoch) AS epoch FROM branch_history GROUP BY branch_id)`

// Histories are those of all branches that were to be read.
func (s *Store) Histories(ctx context.Context) ([]History, error) {
	all := []History{}
	err := s.read(ctx, func(t tx) error {
		at := map[int64]int{}
		if err := t.each(func(rows *sql.Rows) error {
			var id, began, read int64
			h := History{Roots: map[string]int{}}
			err := rows.Scan(&id, &h.Repo, &h.Branch, &h.Epoch.Epoch, &h.Head, &h.Length, &began, &read, &h.Error)
			h.Began, h.Read = timeOf(began), timeOf(read)
			at[id] = len(all)
			all = append(all, h)
			return err
		}, `SELECT b.id, b.repo, b.name, h.epoch, h.head, h.length, h.began_at, h.read_at, h.error
			FROM `+newestEpochs+` n JOIN branch_history h ON h.branch_id = n.branch_id AND h.epoch = n.epoch JOIN branch b ON b.id = h.branch_id ORDER BY b.repo, b.name`); err != nil {
			return err
		}
		return t.each(func(rows *sql.Rows) error {
			var id int64
			var root string
			var length int
			err := rows.Scan(&id, &root, &length)
			if i, known := at[id]; known {
				all[i].Roots[root] = length
			}
			return err
		}, `SELECT r.branch_id, r.root, r.length FROM `+newestEpochs+` n JOIN branch_root r ON r.branch_id = n.branch_id AND r.epoch = n.epoch`)
	})
	return all, err
}

// Epochs are those of a branch, the newest first.
func (s *Store) Epochs(ctx context.Context, repo, branch string) ([]Epoch, error) {
	all := []Epoch{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var e Epoch
			var began int64
			err := rows.Scan(&e.Epoch, &began, &e.Head, &e.Length)
			e.Began = timeOf(began)
			all = append(all, e)
			return err
		}, `SELECT epoch, began_at, head, length FROM branch_history WHERE branch_id = `+branchID+` ORDER BY epoch DESC`, clean(repo), clean(branch))
	})
	return all, err
}

// branchID is the number of a branch in a query, by its repository and name.
const branchID = `(SELECT id FROM branch WHERE repo = ? AND name = ?)`

// shortestSHA is how many digits of a commit's ID are enough to look for it.
const shortestSHA = 7

// maxBySHA bounds how many commits begin with the same digits, in all branches and epochs.
const maxBySHA = 100

// CommitBySHA are the commits of all branches and epochs whose ID begins with at least seven
// digits, the newest epochs first.
func (s *Store) CommitBySHA(ctx context.Context, sha string) ([]Commit, error) {
	sha = strings.ToLower(sha)
	if len(sha) < shortestSHA || strings.Trim(sha, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%q has not %d digits of a commit's ID: %w", sha, shortestSHA, ErrNotFound)
	}
	return s.commits(ctx, `c.sha >= ? AND c.sha < ? ORDER BY c.epoch DESC, b.repo, b.name, c.seq LIMIT ?`, sha, sha+"g", maxBySHA)
}

// Commits are those of a branch from one number to another, in the newest epoch.
func (s *Store) Commits(ctx context.Context, repo, branch string, from, to int) ([]Commit, error) {
	return s.commits(ctx, `c.branch_id = `+branchID+` AND c.epoch = (SELECT max(epoch) FROM branch_history WHERE branch_id = c.branch_id) AND c.seq BETWEEN ? AND ? ORDER BY c.seq`,
		clean(repo), clean(branch), int64(from), int64(to))
}

func (s *Store) commits(ctx context.Context, where string, args ...any) ([]Commit, error) {
	all := []Commit{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var c Commit
			var at int64
			err := rows.Scan(&c.Repo, &c.Branch, &c.Epoch, &c.Seq, &c.SHA, &c.Author, &at, &c.Subject, &c.PullRequest)
			c.Committed = timeOf(at)
			all = append(all, c)
			return err
		}, `SELECT b.repo, b.name, c.epoch, c.seq, c.sha, c.author, c.committed_at, c.subject, c.pull_request
			FROM branch_commit c JOIN branch b ON b.id = c.branch_id WHERE `+where, args...)
	})
	return all, err
}

// SeqOf has the numbers of commits of a branch by their full IDs, in the newest epoch. What is
// absent is no commit of the branch.
func (s *Store) SeqOf(ctx context.Context, repo, branch string, shas []string) (map[string]int, error) {
	found := map[string]int{}
	err := s.read(ctx, func(t tx) error {
		for part := range slices.Chunk(shas, insertRows) {
			var c condition
			c.add(`branch_id = `+branchID, clean(repo), clean(branch))
			c.add(`epoch = (SELECT max(epoch) FROM branch_history h WHERE h.branch_id = branch_commit.branch_id)`)
			c.in("sha", part)
			if err := t.each(func(rows *sql.Rows) error {
				var sha string
				var seq int
				err := rows.Scan(&sha, &seq)
				found[sha] = seq
				return err
			}, `SELECT sha, seq FROM branch_commit WHERE `+c.String(), c.args...); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}
