package githubfake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
)

// serve answers a request, unless a fault does.
func (s *Server) serve(w http.ResponseWriter, q *http.Request, path string, api bool) {
	body, _ := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	note := Call{API: api, Path: path, Kind: gitKind(q)}
	if api {
		q = q.Clone(q.Context())
		q.URL.Path, q.URL.RawPath = path, strings.TrimPrefix(q.URL.RawPath, "/api/v3")
		if q.URL.RawPath == "" {
			q.URL.RawPath = (&url.URL{Path: path}).EscapedPath()
		}
		_, note.Kind = s.mux.Handler(q)
		if note.Kind == "" {
			note.Kind = q.Method + " " + path
		}
	}
	fault := s.faults.Next(note)
	run := func() httpfault.Outcome {
		if !api {
			return s.serveGit(q)
		}
		return s.serveAPI(q)
	}
	if fault == nil {
		o := run()
		note.Status = o.Status
		s.note(note)
		o.Write(w)
		return
	}
	s.note(note)
	fault.Serve(w, q, run)
}

func (s *Server) note(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
}

// serveAPI answers an API request and counts it, unless nothing has changed
// since it was asked last (docs: using-the-rest-api/best-practices-for-using-
// the-rest-api).
func (s *Server) serveAPI(q *http.Request) httpfault.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	if v := q.Header.Get("X-GitHub-Api-Version"); v != "" && !slices.Contains([]string{"2022-11-28", "2026-03-10"}, v) {
		write(w, q, nil, refuse(http.StatusBadRequest, fmt.Sprintf("The API version %q is not supported", v)))
	} else if q.Header.Get("User-Agent") == "" {
		write(w, q, nil, refuse(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"))
	} else if s.rate.left <= 0 && s.now().Before(s.rate.reset) {
		write(w, q, nil, refuse(http.StatusForbidden, "API rate limit exceeded for user ID 1."))
	} else if _, pattern := s.mux.Handler(q); pattern == "" {
		write(w, q, nil, notFound())
	} else {
		s.mux.ServeHTTP(w, q)
	}
	o := httpfault.Outcome{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	if q.Method == http.MethodGet && o.Status == http.StatusOK {
		sum := sha256.Sum256(append([]byte(o.Header.Get("Link")), o.Body...))
		etag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		o.Header.Set("ETag", etag)
		if q.Header.Get("If-None-Match") == etag {
			o.Status, o.Body = http.StatusNotModified, nil
			o.Header.Del("Content-Type")
		}
	}
	if !s.now().Before(s.rate.reset) {
		s.rate.reset = s.now().Add(time.Hour)
		s.rate.left = max(s.rate.left, s.rate.limit)
	}
	if o.Status != http.StatusNotModified && s.rate.left > 0 {
		s.rate.left--
	}
	s.limits(o.Header)
	return o
}

func (s *Server) limits(h http.Header) {
	h.Set("Date", s.now().Format(http.TimeFormat))
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.rate.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(s.rate.left))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(s.rate.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}
