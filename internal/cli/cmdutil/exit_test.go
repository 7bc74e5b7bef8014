package cmdutil

import (
	"fmt"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox"
)

func TestTimeoutHasItsExitCode(t *testing.T) {
	if got := ExitCode(fmt.Errorf("restart: %w", &sandbox.TimeoutError{})); got != ExitTimeout {
		t.Errorf("exit code %d, want %d", got, ExitTimeout)
	}
}
