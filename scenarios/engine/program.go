package engine

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

// tokenWord is how a script spells the user's token. An argument that is
// nothing else becomes @FILE, the file that has it, as Azure's commands take
// values: so the token is in no log, and in no list of processes.
const tokenWord = "$TOKEN"

// program runs a program of the sandbox; its output is the command's. It knows
// the sandbox, and nothing of the user's own settings.
func (s *script) program(p Program, args ...string) error {
	filled := slices.Clone(args)
	for i, a := range filled {
		if a != tokenWord {
			continue
		}
		file := filepath.Join(s.home, "token")
		if err := os.WriteFile(file, []byte(s.access.Token), 0o600); err != nil {
			return err
		}
		filled[i] = "@" + file
	}
	cmd := s.programCommand(s.ctx, p, filled...)
	cmd.Stdout, cmd.Stderr = &s.stdout, &s.stderr
	return cmd.Run()
}

func (s *script) programCommand(ctx context.Context, p Program, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, args...)
	if p.Name != "" {
		cmd.Args[0] = p.Name
	}
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home,
		"KALYPSO_HOME=" + s.access.Home,
		"KUBECONFIG=" + s.access.Kubeconfig,
		"KUBECACHEDIR=" + filepath.Join(s.home, "kubectl"),
		"NO_COLOR=1",
	}
	cmd.WaitDelay = time.Second
	return cmd
}

func (s *script) kubectl(args []string) error {
	fmt.Fprintf(&s.ran, "$ kalypso kubectl %s\n", shellWords(args))
	return s.verdict("kubectl", s.program(s.access.Kubectl, args...), "(NotFound)", "the server doesn't have a resource type", "no matches for kind")
}

func (s *script) runAz(args []string) error {
	fmt.Fprintf(&s.ran, "$ az %s\n", shellWords(args))
	return s.verdict("az", s.program(s.access.Kalypso, append([]string{"az"}, args...)...), "NotFound)")
}

func (s *script) runKalypso(args []string) error {
	fmt.Fprintf(&s.ran, "$ kalypso %s\n", shellWords(args))
	return s.verdict("kalypso", s.program(s.access.Kalypso, args...))
}

// verdict words how a program has ended. When it says one of the texts, it has
// looked for something that is not there.
func (s *script) verdict(name string, err error, missing ...string) error {
	said := s.stderr.String()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && slices.ContainsFunc(missing, func(m string) bool { return strings.Contains(said, m) }):
		return unmet("%s", lastLine(said))
	case errors.As(err, &exit):
		return fmt.Errorf("%s: %w: %s", name, err, lastLine(said))
	}
	return fmt.Errorf("run %s: %w", name, err)
}

// kubectlReadOnly says whether a kubectl command changes nothing.
func kubectlReadOnly(args []string) bool {
	var verbs []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--context" || a == "--namespace" || a == "-n":
			i++ // its value
		case strings.HasPrefix(a, "-"):
		default:
			verbs = append(verbs, a)
		}
	}
	if len(verbs) == 0 {
		return false
	}
	switch verbs[0] {
	case "get", "describe", "logs", "wait", "top", "explain", "version", "api-resources", "events":
		return true
	case "rollout":
		return len(verbs) > 1 && (verbs[1] == "status" || verbs[1] == "history")
	}
	return false
}

// azReadOnly says whether a command of Azure's changes nothing: its last plain
// word says what it does.
func azReadOnly(args []string) bool {
	verb := ""
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			break
		}
		verb = a
	}
	return verb == "show" || verb == "list" || verb == "query"
}

// kalypsoReadOnly says whether a command of ours changes nothing.
func kalypsoReadOnly(args []string) bool {
	return slices.Contains([]string{"status", "plan", "explain", "get", "validate", "logs", "version", "doctor"}, args[0])
}

// forwardLimit is for a port-forward to begin, and for the page.
const forwardLimit = 15 * time.Second

// forwarded is what kubectl says when it listens.
var forwarded = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+) ->`)

// runHTTPGet gets a page of a service through kubectl's port-forward, as the
// tutorials do, on a free port. The page is the command's output, and must
// have the texts.
func (s *script) runHTTPGet(args []string) error {
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
		if !hasText(string(s.spelled([]byte(page))), text) {
			return unmet("%s of %s in %s does not say %q\n%s", path, service, namespace, text, page)
		}
	}
	return nil
}

// hasText says whether a page has a text as such: as all that an element holds, as
// a JSON string, or alone. Elsewhere it could be a part of another text.
func hasText(page, text string) bool {
	return strings.TrimSpace(page) == text || strings.Contains(page, ">"+text+"<") || strings.Contains(page, strconv.Quote(text))
}

// forward starts kubectl's port-forward and returns where it listens.
func (s *script) forward(ctx context.Context, args []string) (address string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := s.programCommand(ctx, s.access.Kubectl, args...)
	var said strings.Builder
	cmd.Stderr = &said
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
