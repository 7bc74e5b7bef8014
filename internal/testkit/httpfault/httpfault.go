// Package httpfault lets requests to servers of tests fail, in the ways in which
// networks and services do.
//
// A server keeps a [Faults], asks it with [Faults.Next] about every request, and
// lets the fault that hits one answer it:
//
//	if fault := s.faults.Next(call); fault != nil {
//		fault.Serve(w, q, run)
//	}
//
// C is what the server knows of a request, for a test to choose by.
package httpfault

import (
	"net/http"
	"sync"
)

// Outcome is an answer on its way out.
type Outcome struct {
	Status int
	Header http.Header
	Body   []byte
}

// Write sends it.
func (o Outcome) Write(w http.ResponseWriter) {
	o.head(w)
	_, _ = w.Write(o.Body)
}

func (o Outcome) head(w http.ResponseWriter) {
	for k, v := range o.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(o.Status)
}

// Answer is what a request gets instead of its answer. carryOut carries it out
// and returns the answer that it would have got.
type Answer func(w http.ResponseWriter, q *http.Request, carryOut func() Outcome)

// Fault makes requests fail. Its zero value but for Answer hits the next one.
type Fault[C any] struct {
	On     func(C) bool // which requests; nil: all
	Skip   int          // how many that match come before
	Times  int          // how many are hit: once when 0, all when -1
	Late   bool         // the request is carried out all the same
	Answer Answer

	hits int
}

// Faults are those of a server. The zero value is ready.
type Faults[C any] struct {
	mu  sync.Mutex
	all []*Fault[C]
}

// Add makes requests fail until the fault is used up. It returns what ends it.
func (f *Faults[C]) Add(fault Fault[C]) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := &fault
	f.all = append(f.all, own)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		own.Times, own.hits = 1, 1
	}
}

// Next returns the fault that hits a request, nil when none does.
func (f *Faults[C]) Next(call C) *Fault[C] {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		if one.On != nil && !one.On(call) || one.Times >= 0 && one.hits >= max(one.Times, 1) {
			continue
		}
		if one.Skip > 0 {
			one.Skip--
			continue
		}
		one.hits++
		return one
	}
	return nil
}

// Serve answers the request that the fault has hit; run carries it out.
func (f *Fault[C]) Serve(w http.ResponseWriter, q *http.Request, run func() Outcome) {
	if f.Late {
		done := run()
		run = func() Outcome { return done }
	}
	f.Answer(w, q, run)
}
