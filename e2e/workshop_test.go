//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// taught is what a lesson in a terminal has said.
type taught struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *taught) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *taught) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// workshopInBrowser goes through the first chapter on the hub's page, beside the same chapter
// in a terminal: each ticks what is done by the other. The sandbox is one where nothing of it
// is done.
func workshopInBrowser(t *testing.T, m *machine) {
	const chapter, steps, byTerminal = "onboard-app", 5, 3
	b := newBrowser(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	defer cancel()
	learn := m.command(ctx, "scenario", "learn", chapter)
	said := &taught{}
	learn.Stdout, learn.Stderr = said, said
	in, err := learn.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := learn.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- learn.Wait() }()
	goneOn := make(chan error, 1)
	go func() { goneOn <- goOn(ctx, said, in, byTerminal) }()

	link := strings.TrimSpace(m.run("open", "hub", "--print").stdout)
	b.check(t, filepath.Join(b.dir, "workshop.mjs"), "HUB_LINK="+link, "SCENARIO="+chapter, fmt.Sprint("BY_TERMINAL=", byTerminal))
	if err := <-goneOn; err != nil {
		t.Error(err)
	}
	if t.Failed() {
		cancel()
	}
	if err := <-ended; err != nil {
		t.Errorf("scenario learn: %v", err)
	}
	for step := 1; step <= steps; step++ {
		if want := fmt.Sprintf("[x] %d/%d ", step, steps); strings.Count(said.String(), want) != 1 {
			t.Errorf("the terminal does not tick step %d", step)
		}
	}
	if t.Failed() {
		t.Logf("the terminal says:\n%s", said)
	}
	var all []struct {
		Name    string
		Learned int
		Steps   []struct{}
	}
	m.decode(m.run("scenario", "list", "-o", "json").stdout, &all)
	if len(all) == 0 || all[0].Name != chapter || len(all[0].Steps) != steps || all[0].Learned != steps {
		t.Errorf("learned: %+v", all)
	}
}

// goOn presses enter in the terminal when what a step has to be looked at is so.
func goOn(ctx context.Context, said fmt.Stringer, in io.Writer, step int) error {
	for {
		_, after, begun := strings.Cut(said.String(), fmt.Sprintf("Step %d of ", step))
		if begun && strings.Contains(after, "It is so.") {
			_, err := io.WriteString(in, "\n")
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the terminal never comes to step %d", step)
		case <-time.After(poll):
		}
	}
}

// shareTheHub shows the hub at a second address, and ends that. The address is one of the loopback:
// a test reaches no network.
func shareTheHub(t *testing.T, m *machine) {
	const host = "127.0.0.2"
	link := regexp.MustCompile(`(?m)^https://(` + regexp.QuoteMeta(host) + `:\d+)/enter#t=(\S+)$`)
	if out, err := m.try("up", "--share="+host); err == nil || out.code != 2 || !strings.Contains(out.stderr, "--yes") {
		t.Errorf("without a question to answer: exit code %d\n%s", out.code, out.all())
	}
	out := m.run("up", "--share="+host, "--yes")
	found := link.FindStringSubmatch(out.stdout)
	if found == nil {
		t.Fatalf("there is no link:\n%s", out.all())
	}
	t.Logf("shared in %.2f s", out.took.Seconds())
	if again := m.run("up", "--share="+host); strings.TrimSpace(again.stdout) != found[0] {
		t.Errorf("the link is another one the second time:\n%s", again.all())
	}
	var status struct {
		Share *struct{ Address, Fingerprint string }
	}
	m.decode(m.run("status", "-o", "json").stdout, &status)
	if status.Share == nil || status.Share.Address != found[1] || !strings.Contains(out.stderr, status.Share.Fingerprint) {
		t.Errorf("the status says %+v\n%s", status.Share, out.stderr)
	}
	if text := m.run("status").stdout; !strings.Contains(text, "https://"+found[1]) || strings.Contains(text, found[2]) {
		t.Errorf("the status is\n%s", text)
	}

	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	h := hubClient{m, "https://" + found[1], client}
	_, ticket := m.ticket()
	if code := h.enter(ticket); code != http.StatusUnauthorized {
		t.Errorf("a ticket of the hub's owner: %d", code)
	}
	for range 2 {
		if code := h.enter(found[2]); code != http.StatusNoContent {
			t.Errorf("the link: %d", code)
		}
	}
	t.Run("Page", func(t *testing.T) {
		b := newBrowser(t, m)
		b.check(t, filepath.Join(b.dir, "workshop.mjs"), "HUB_LINK="+found[0], "SCENARIO=onboard-app", "SHARED=1")
	})

	m.run("up", "--share=off")
	if c, err := net.DialTimeout("tcp", found[1], time.Second); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
	status.Share = nil
	m.decode(m.run("status", "-o", "json").stdout, &status)
	if status.Share != nil {
		t.Errorf("the status still says %+v", status.Share)
	}
}

// part runs a part of a test as one of its own, which may be skipped.
func (m *machine) part(name string, run func(*testing.T, *machine)) {
	t := m.t
	t.Run(name, func(t *testing.T) {
		m.t = t
		run(t, m)
	})
	m.t = t
}
