package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func (s *script) wordKubectl(args []string) error {
	return s.kubectl(args...)
}

// kubectl runs kubectl; its output is the word's.
func (s *script) kubectl(args ...string) error {
	fmt.Fprintf(&s.ran, "$ kalypso kubectl %s\n", shellWords(args))
	cmd := exec.CommandContext(s.ctx, s.world.Kubectl.Path, args...)
	cmd.Args[0] = s.world.Kubectl.Name
	cmd.Dir = s.ts.MkAbs(".")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home,
		"KUBECONFIG=" + s.world.Kubeconfig,
		"KUBECACHEDIR=" + filepath.Join(s.home, "kubectl"),
	}
	cmd.Stdout, cmd.Stderr = &s.stdout, &s.stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && strings.Contains(s.stderr.String(), "(NotFound)"):
		return unmet("%s", lastLine(s.stderr.String()))
	case errors.As(err, &exit):
		return fmt.Errorf("kubectl: %w: %s", err, lastLine(s.stderr.String()))
	}
	return fmt.Errorf("run kubectl: %w", err)
}
