package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
)

const (
	// maxLine is where a line is broken: the forge takes 64 KiB.
	maxLine = 32 << 10
	// maxBuffered is where a line is broken that has no end. Only there a secret
	// could stand on both sides.
	maxBuffered = 1 << 20
)

// console is the pipe that the processes of a job write to. The library's own
// way is a terminal: on one, programs draw and ask.
type console struct {
	pipe *os.File
	mark string // what drain writes; random, so that no output of a step is taken for it
	seen chan struct{}
	turn sync.Mutex
}

// openConsole makes the pipe at path, and gives each line to emit.
func openConsole(path string, emit func(line string)) (*console, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // also for writing, so that it has no end before the job's
	if err != nil {
		return nil, err
	}
	c := &console{pipe: pipe, mark: "\x00" + rand.Text(), seen: make(chan struct{})}
	go c.read(emit)
	return c, nil
}

func (c *console) read(emit func(line string)) {
	lines := bufio.NewReaderSize(c.pipe, maxBuffered)
	for {
		b, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		text, end := bytes.TrimRight(b, "\r\n"), false
		if text, end = bytes.CutSuffix(text, []byte(c.mark)); !end || len(text) > 0 {
			emit(string(text))
		}
		if end {
			c.seen <- struct{}{}
		}
	}
}

// drain waits until all has been emitted that has been written so far.
func (c *console) drain() {
	c.turn.Lock()
	defer c.turn.Unlock()
	if _, err := c.pipe.WriteString(c.mark + "\n"); err == nil {
		<-c.seen
	}
}

// hidden stands in the place of a secret.
const hidden = "***"

// minPart is how long a part of an encoded secret must be to be looked for: a
// shorter one could stand in the middle of common text.
const minPart = 6

// mask hides secrets in output.
type mask struct {
	mu       sync.RWMutex
	forms    []string
	replacer *strings.Replacer
}

// add makes a value secret, in the forms in which programs print it. Of a value
// of several lines each line is secret, since output comes in lines.
func (m *mask) add(value string) {
	if strings.TrimSpace(value) == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	forms := strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range slices.Clone(forms) {
		forms = append(forms, strings.ReplaceAll(line, "'", `'\''`)) // bash, by set -x
	}
	forms = append(forms, url.QueryEscape(value), url.PathEscape(value))
	if quoted, err := json.Marshal(value); err == nil {
		escaped := string(quoted[1 : len(quoted)-1]) // also of what means something in HTML, which not every program escapes
		forms = append(forms, escaped, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(escaped))
	}
	for _, form := range append(forms, base64Forms(value)...) {
		if form = strings.TrimSpace(form); form != "" && !slices.Contains(m.forms, form) {
			m.forms = append(m.forms, form)
		}
	}
	// the longest first: nothing must be left of a secret that begins with another
	slices.SortFunc(m.forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, form := range m.forms {
		pairs = append(pairs, form, hidden)
	}
	m.replacer = strings.NewReplacer(pairs...)
}

// base64Forms are a value in base64, by itself and within a longer text, like
// the password of a basic authorization. What stands before the value decides
// where its bytes fall into the groups of three, and its neighbours share the
// characters at its edges: these are left out.
func base64Forms(value string) []string {
	forms := []string{base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value))}
	for shift := range 3 {
		shifted := append(make([]byte, shift), value...)
		from, to := (shift*8+5)/6, len(shifted)*8/6
		if to-from < minPart {
			continue
		}
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, alphabet.EncodeToString(shifted)[from:to])
		}
	}
	return forms
}

func (m *mask) hide(s string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}
