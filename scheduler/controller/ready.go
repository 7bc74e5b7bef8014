package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// silence is how long the forge may not have answered beyond three polls.
const silence = 30 * time.Second

// heard notes that the forge has answered.
func (c *Controller) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = time.Now()
}

// unready says why a Controller is not to be relied on, "" when it is: each
// environment has had a run, well or not, and the forge has answered lately.
// One that stands by may be relied on to take over.
// What is wrong with a single environment is no reason: a restart would not
// help it, and the others would suffer.
func (c *Controller) unready() string {
	c.mu.Lock()
	reached, settled, read := c.reached, c.settled, c.control.Commit != ""
	c.mu.Unlock()
	lately := 3*c.options.Poll + silence
	if _, standsBy := c.standsBy(); standsBy {
		settled, read = true, true // by the one that leads
	}
	switch {
	case !read:
		return c.name + ": the control plane has not been read yet"
	case time.Since(reached) > lately:
		return fmt.Sprintf("%s: the forge has not answered for more than %s", c.name, lately)
	case settled:
		return ""
	}
	if waiting := c.unplanned(); len(waiting) > 0 {
		return fmt.Sprintf("%s: not planned yet: %s", c.name, strings.Join(waiting, ", "))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settled = true
	return ""
}

// unplanned lists the environments that have had no run yet, sorted.
func (c *Controller) unplanned() []string {
	var names []string
	for _, e := range c.followed() {
		e.mu.Lock()
		if e.status.Runs == 0 {
			names = append(names, e.name)
		}
		e.mu.Unlock()
	}
	slices.Sort(names)
	return names
}

// ready answers probes. It tells names and no errors: anybody may ask.
func (s *Server) ready(rw http.ResponseWriter, _ *http.Request) {
	var reasons []string
	for _, w := range s.controllers {
		if why := w.unready(); why != "" {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		_, _ = rw.Write([]byte("ok\n"))
		return
	}
	http.Error(rw, strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
}
