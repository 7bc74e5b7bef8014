package scenarios

import (
	"fmt"
	"runtime"

	"github.com/rogpeppe/go-internal/testscript"
)

// host is what a script runs on in place of `go test`. As there, whatever ends
// the script ends its goroutine.
type host struct {
	log     string
	failed  bool
	skipped bool
}

func (h *host) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (h *host) Run(_ string, f func(testscript.T)) { h.run(func() { f(h) }) }

func (h *host) FailNow() {
	h.failed = true
	runtime.Goexit()
}

func (h *host) Fatal(args ...any) {
	h.Log(args...)
	h.FailNow()
}

func (h *host) Skip(args ...any) {
	h.Log(args...)
	h.skipped = true
	runtime.Goexit()
}

func (h *host) Log(args ...any) { h.log += fmt.Sprintln(args...) }

func (h *host) Parallel() {}

// Verbose keeps the log whole: what is shown of it is for us to choose.
func (h *host) Verbose() bool { return true }
