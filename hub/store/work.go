package store

import (
	"database/sql"
	"maps"
	"slices"
)

func (w *round) applyProblems(r Round) error {
	for _, environment := range slices.Sorted(maps.Keys(r.Problems)) {
		known := map[string]bool{} // whether it is there now
		if err := w.each(func(rows *sql.Rows) error {
			var digest string
			var gone int64
			err := rows.Scan(&digest, &gone)
			known[digest] = gone == 0
			return err
		}, `SELECT digest, gone_at FROM problem WHERE environment = ?`, environment); err != nil {
			return err
		}
		there := map[string]bool{}
		var rows [][]any
		for _, p := range r.Problems[environment] {
			row := []any{clean(p.Severity), clean(p.Position), clean(p.Message), clean(p.Hint)}
			digest := digestOf(row...)
			if !there[digest] && !known[digest] {
				rows = append(rows, append([]any{environment, digest, w.at, int64(0)}, row...))
			}
			there[digest] = true
		}
		changed := len(rows) > 0
		if err := w.insert("problem", "environment, digest, first_seen, gone_at, severity, position, message, hint",
			`ON CONFLICT (environment, digest) DO UPDATE SET first_seen = excluded.first_seen, gone_at = 0`, rows); err != nil {
			return err
		}
		for digest, isThere := range known {
			if isThere && !there[digest] {
				changed = true
				if _, err := w.exec(`UPDATE problem SET gone_at = ? WHERE environment = ? AND digest = ?`, w.at, environment, digest); err != nil {
					return err
				}
			}
		}
		if changed {
			w.message("problem", environment, "", map[string]any{"environment": environment, "problems": len(there)})
		}
	}
	return nil
}

func (w *round) applyPullRequests(r Round) error {
	for _, environment := range slices.Sorted(maps.Keys(r.PullRequests)) {
		type key struct {
			repo   string
			number int64
		}
		known := map[key]PullRequest{}
		if err := w.each(func(rows *sql.Rows) error {
			p, err := scanPullRequest(rows)
			known[key{p.Repo, int64(p.Number)}] = p
			return err
		}, `SELECT `+pullRequestColumns+` FROM pull_request WHERE environment = ?`, environment); err != nil {
			return err
		}
		there := map[key]bool{}
		var rows [][]any
		for _, p := range r.PullRequests[environment] {
			k := key{p.Repo, int64(p.Number)}
			p.Environment, p.Title, p.Opened, p.Merged = environment, clean(p.Title), timeOf(millis(p.Opened)), timeOf(millis(p.Merged))
			if was, ok := known[k]; (!ok || was != p) && !there[k] {
				rows = append(rows, []any{environment, p.Repo, int64(p.Number), p.Kind, p.Title, p.State, p.Author, p.URL, number(p.Held), millis(p.Opened), millis(p.Merged), p.MergedBy})
			}
			there[k] = true
		}
		changed := len(rows) > 0
		if err := w.insert("pull_request", pullRequestColumns, `ON CONFLICT (environment, repo, number) DO UPDATE SET kind = excluded.kind, title = excluded.title,
			state = excluded.state, author = excluded.author, url = excluded.url, held = excluded.held, opened_at = excluded.opened_at, merged_at = excluded.merged_at,
			merged_by = excluded.merged_by`, rows); err != nil {
			return err
		}
		for k := range known {
			if !there[k] {
				changed = true
				if _, err := w.exec(`DELETE FROM pull_request WHERE environment = ? AND repo = ? AND number = ?`, environment, k.repo, k.number); err != nil {
					return err
				}
			}
		}
		if changed {
			w.message("pull-request", environment, "", map[string]any{"environment": environment, "pullRequests": len(there)})
		}
	}
	return nil
}

func (w *round) applySources(r Round) error {
	if r.Sources == nil {
		return nil
	}
	was := map[string]string{}
	if err := w.each(func(rows *sql.Rows) error {
		var name, state, reason string
		err := rows.Scan(&name, &state, &reason)
		was[name] = state + "\n" + reason
		return err
	}, `SELECT name, state, reason FROM collector`); err != nil {
		return err
	}
	if _, err := w.exec(`DELETE FROM collector`); err != nil {
		return err
	}
	var rows [][]any
	there := map[string]bool{}
	for _, s := range r.Sources {
		if there[s.Name] {
			continue
		}
		there[s.Name] = true
		s.Reason = clean(s.Reason)
		rows = append(rows, []any{s.Name, s.State, s.Reason, millis(s.LastOK), millis(s.LastTry), s.Took.Milliseconds()})
		if was[s.Name] != s.State+"\n"+s.Reason {
			w.message("source", "", "", map[string]any{"source": s.Name, "state": s.State})
		}
	}
	return w.insert("collector", "name, state, reason, last_ok, last_try, took_ms", "", rows)
}
