package scenarios

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// forwardLimit is for a port-forward to begin, and for the page.
const forwardLimit = 15 * time.Second

// forwarded is what kubectl says when it listens.
var forwarded = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+) ->`)

// wordHTTPGet gets a page of a service through kubectl's port-forward, as the
// tutorials do, on a free port. The page is the word's output, and must tell
// the texts.
func (s *script) wordHTTPGet(args []string) error {
	var flags []string
	if args[0] == "--context" {
		flags, args = args[:2], args[2:]
	}
	if len(args) < 4 {
		return errors.New("usage: http get [--context CLUSTER] NAMESPACE svc/NAME PORT PATH [TEXT...]")
	}
	namespace, service, port, path, texts := args[0], args[1], args[2], args[3], args[4:]
	ctx, cancel := context.WithTimeout(s.ctx, forwardLimit)
	defer cancel()
	command := slices.Concat(flags, []string{"--namespace", namespace, "port-forward", "--address", "127.0.0.1", service, ":" + port})
	fmt.Fprintf(&s.ran, "$ kalypso kubectl %s\n", shellWords(command))
	address, stop, err := s.forward(ctx, command)
	if err != nil {
		return err
	}
	defer stop()
	page, err := fetch(ctx, "http://"+address+path)
	if err != nil {
		return unmet("%s of %s in %s does not answer: %w", path, service, namespace, err)
	}
	s.stdout.WriteString(page)
	for _, text := range texts {
		if !tells(page, text) {
			return unmet("%s of %s in %s does not say %q\n%s", path, service, namespace, text, page)
		}
	}
	return nil
}

// tells says whether a page has a text as such: as all that an element holds, as
// a JSON string, or alone. Elsewhere it could be a part of another text.
func tells(page, text string) bool {
	return strings.TrimSpace(page) == text || strings.Contains(page, ">"+text+"<") || strings.Contains(page, strconv.Quote(text))
}

// forward starts kubectl's port-forward and returns where it listens.
func (s *script) forward(ctx context.Context, args []string) (address string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, s.world.Kubectl.Path, args...)
	cmd.Args[0] = s.world.Kubectl.Name
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "KUBECONFIG=" + s.world.Kubeconfig,
		"KUBECACHEDIR=" + filepath.Join(s.home, "kubectl"),
	}
	var said strings.Builder
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, fmt.Errorf("run kubectl: %w", err)
	}
	end := func() {
		cancel()
		_ = cmd.Wait() // it is ended by a signal, that is no failure
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := forwarded.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }() // it says a line for each connection
			return m[1], end, nil
		}
	}
	end()
	return "", nil, unmet("no way to the pods: %s", lastLine(said.String()))
}

func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the answer is %s", answer.Status)
	}
	return string(page), nil
}
