// Package redact keeps the credentials in URLs out of what users and logs get to
// see. A URL may be written anywhere: in a configuration, in a repository's file,
// in an error of git or of the HTTP client.
package redact

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// mark stands for the value of a query's parameter.
const mark = "REDACTED"

var (
	urls = regexp.MustCompile("(?i)[a-z][a-z0-9+.-]*://[^\\s\"'<>`\\\\]+")
	// passwords are URLs with a password, or a token that says of itself that it is one.
	// A name alone is none: clone URLs of Azure DevOps have one.
	passwords = regexp.MustCompile(`://(?:[^/\s@:]*:[^/\s@]+|(?:gh[a-z]_|github_pat_|glpat-)[^/\s@]*)@`)
	// sensitive are the names of parameters whose values are credentials.
	sensitive = regexp.MustCompile(`(?i)token|key|secret|pass|pwd|sig|auth|cred|code|jwt`)
)

// URL is a URL without its user info and the credentials in its query. What is
// no URL is treated as a text.
func URL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !strings.ContainsAny(rest, "@?") {
		return s
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host := rest[strings.LastIndexByte(rest[:end], '@')+1 : end]
	path, query, ok := strings.Cut(Text(rest[end:]), "?") // a proxy's has another URL in it
	if ok {
		path += "?" + redactQuery(query)
	}
	return scheme + "://" + host + path
}

func redactQuery(query string) string {
	query, fragment, hasFragment := strings.Cut(query, "#")
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		name, value, ok := strings.Cut(p, "=")
		switch {
		case !ok && p != "":
			parameters[i] = mark
		case value != "" && sensitive.MatchString(name):
			parameters[i] = name + "=" + mark
		}
	}
	query = strings.Join(parameters, "&")
	if hasFragment {
		query += "#" + fragment
	}
	return query
}

// Text is a text in which every URL is as [URL] has it.
func Text(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return urls.ReplaceAllStringFunc(s, URL)
}

// HasPassword reports whether a text has a URL with a password or a token in it.
func HasPassword(s string) bool { return strings.Contains(s, "@") && passwords.MatchString(s) }

// Error is err with a redacted message, nil for nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &redacted{err}
}

type redacted struct{ err error }

func (e *redacted) Error() string { return Text(e.err.Error()) }

func (e *redacted) Unwrap() error { return e.err }

// Logger is a logger whose messages and values are redacted.
func Logger(log *slog.Logger) *slog.Logger {
	if _, done := log.Handler().(handler); done {
		return log
	}
	return slog.New(handler{log.Handler()})
}

type handler struct{ next slog.Handler }

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = attr(a)
	}
	return handler{h.next.WithAttrs(clean)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.next.WithGroup(name)} }

func attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Text(v.String()))
	case slog.KindGroup:
		var all []any
		for _, inner := range v.Group() {
			all = append(all, attr(inner))
		}
		return slog.Group(a.Key, all...)
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); strings.Contains(text, "://") {
			return slog.String(a.Key, Text(text))
		}
	}
	return a
}
