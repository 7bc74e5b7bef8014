package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tokenWord is how a script spells the person's token. An argument that is
// nothing else becomes @FILE, the file that has it, as Azure's commands take
// values: so the token is in no log, and in no list of processes.
const tokenWord = "$TOKEN"

// program runs a program of the sandbox; its output is the word's. It knows
// the sandbox, and nothing of the person's own settings.
func (s *script) program(p Program, args ...string) error {
	filled := slices.Clone(args)
	for i, a := range filled {
		if a != tokenWord {
			continue
		}
		file := filepath.Join(s.home, "token")
		if err := os.WriteFile(file, []byte(s.world.Token), 0o600); err != nil {
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
		"KALYPSO_HOME=" + s.world.Home,
		"KUBECONFIG=" + s.world.Kubeconfig,
		"KUBECACHEDIR=" + filepath.Join(s.home, "kubectl"),
		"NO_COLOR=1",
	}
	cmd.WaitDelay = time.Second
	return cmd
}

func (s *script) wordKubectl(args []string) error {
	return s.kubectl(args...)
}

// kubectl runs kubectl; its output is the word's.
func (s *script) kubectl(args ...string) error {
	fmt.Fprintf(&s.ran, "$ kalypso kubectl %s\n", shellWords(args))
	return s.verdict("kubectl", s.program(s.world.Kubectl, args...), "(NotFound)", "the server doesn't have a resource type", "no matches for kind")
}

func (s *script) wordAz(args []string) error {
	fmt.Fprintf(&s.ran, "$ az %s\n", shellWords(args))
	return s.verdict("az", s.program(s.world.Kalypso, append([]string{"az"}, args...)...), "NotFound)")
}

func (s *script) wordKalypso(args []string) error {
	fmt.Fprintf(&s.ran, "$ kalypso %s\n", shellWords(args))
	return s.verdict("kalypso", s.program(s.world.Kalypso, args...))
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

// kubectlLooks tells whether a kubectl command changes nothing.
func kubectlLooks(args []string) bool {
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

// azLooks tells whether a command of Azure's changes nothing: its last plain
// word says what it does.
func azLooks(args []string) bool {
	verb := ""
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			break
		}
		verb = a
	}
	return verb == "show" || verb == "list" || verb == "query"
}

// kalypsoLooks tells whether a command of ours changes nothing.
func kalypsoLooks(args []string) bool {
	return slices.Contains([]string{"status", "plan", "explain", "get", "validate", "logs", "version", "doctor"}, args[0])
}
