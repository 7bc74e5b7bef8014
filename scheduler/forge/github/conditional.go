package github

import (
	"bytes"
	"container/list"
	"io"
	"maps"
	"net/http"
	"sync"
)

const (
	conditionalBytes = 32 << 20
	conditionalOne   = 4 << 20 // an answer that is larger is not kept
)

// conditional remembers answers with their ETag and asks GitHub whether they
// still hold. "304 Not Modified" costs nothing of the account's budget
// (docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
type conditional struct {
	next http.RoundTripper

	mu     sync.Mutex
	size   int
	recent *list.List // of *remembered, most recently used first
	byKey  map[string]*list.Element
}

type remembered struct {
	key    string
	etag   string
	header http.Header
	body   []byte
}

func newConditional(next http.RoundTripper) *conditional {
	return &conditional{next: next, recent: list.New(), byKey: map[string]*list.Element{}}
}

// RoundTrip implements http.RoundTripper.
func (c *conditional) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet || q.Header.Get("If-None-Match") != "" {
		return c.next.RoundTrip(q)
	}
	key := q.URL.String() + "\x00" + q.Header.Get("Accept")
	old := c.get(key)
	if old != nil {
		q = q.Clone(q.Context())
		q.Header.Set("If-None-Match", old.etag)
	}
	answer, err := c.next.RoundTrip(q)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotModified && old != nil:
		return old.answer(q, answer), nil
	case answer.StatusCode != http.StatusOK || answer.Header.Get("ETag") == "":
		return answer, nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) <= conditionalOne {
		c.put(&remembered{key, answer.Header.Get("ETag"), answer.Header.Clone(), body})
	}
	return answer, nil
}

// answer is the remembered answer with what the new one says about limits.
func (r *remembered) answer(q *http.Request, fresh *http.Response) *http.Response {
	header := r.header.Clone()
	maps.Copy(header, fresh.Header)
	if link := r.header.Get("Link"); link != "" {
		header.Set("Link", link)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: fresh.Proto, ProtoMajor: fresh.ProtoMajor, ProtoMinor: fresh.ProtoMinor,
		Header: header, Body: io.NopCloser(bytes.NewReader(r.body)), ContentLength: int64(len(r.body)), Request: q,
	}
}

func (c *conditional) get(key string) *remembered {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*remembered)
}

func (c *conditional) put(r *remembered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[r.key]; ok {
		c.drop(e)
	}
	c.byKey[r.key] = c.recent.PushFront(r)
	c.size += len(r.body)
	for c.size > conditionalBytes && c.recent.Len() > 1 {
		c.drop(c.recent.Back())
	}
}

func (c *conditional) drop(e *list.Element) {
	r := c.recent.Remove(e).(*remembered)
	delete(c.byKey, r.key)
	c.size -= len(r.body)
}
