package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// forwardTime is for the scheduler that leads to take a webhook.
	forwardTime = 5 * time.Second
	// forwarded marks a webhook that comes from a scheduler that stands by, and
	// goes no further.
	forwarded = "X-Kalypso-Forwarded"
)

// leaders are the addresses of those that work in the place of the Controllers
// that stand by, each once; all tells whether every Controller does.
func (s *Server) leaders() (urls []string, all bool) {
	all = true
	for _, w := range s.controllers {
		s, standsBy := w.standsBy()
		all = all && standsBy
		if standsBy && s.URL != "" && !slices.Contains(urls, s.URL) {
			urls = append(urls, s.URL)
		}
	}
	return urls, all
}

// passOn passes a webhook on to those that lead where this scheduler stands by,
// and returns whether it has answered. Who leads and has not heard of it finds
// out by polling; the forge is told that it was not delivered.
func (s *Server) passOn(rw http.ResponseWriter, r *http.Request, body []byte) (answered bool) {
	urls, all := s.leaders()
	if r.Header.Get(forwarded) != "" {
		urls = nil
	}
	if len(urls) == 0 && all {
		s.metrics.webhook("lost")
		http.Error(rw, "this scheduler stands by, and the one that leads cannot be told: it polls", http.StatusServiceUnavailable)
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), forwardTime)
	defer cancel()
	for _, u := range urls {
		if err := s.passTo(ctx, u, r, body); err != nil {
			s.log.Warn("a webhook could not be passed on to the scheduler that leads, which polls", "error", err)
			s.metrics.webhook("lost")
			http.Error(rw, "the scheduler that leads does not take it: it polls", http.StatusBadGateway)
			return true
		}
	}
	if all {
		s.metrics.webhook("forwarded")
		rw.WriteHeader(http.StatusAccepted)
	}
	return all
}

func (s *Server) passTo(ctx context.Context, to string, r *http.Request, body []byte) error {
	if mistake := addressMistake(to); mistake != "" {
		return fmt.Errorf("the address of the scheduler that leads %s", mistake)
	}
	at, err := url.JoinPath(to, "webhook")
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range r.Header {
		// the event, its ID and its signature
		if name == "Content-Type" || strings.HasPrefix(name, "X-") {
			q.Header[name] = values
		}
	}
	q.Header.Set(forwarded, "1")
	answer, err := s.client.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", at, answer.Status)
	}
	return nil
}
