package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
)

// goProgram returns the file with the folder's Go program. A packed program
// that was made of the same Go files is taken as it is, which saves a runner
// with an empty build cache half a minute; otherwise the Go toolchain builds
// one into the folder scratch. A packed program that is made of other files is
// never taken: the image would not be what the repository says.
func (b Build) goProgram(ctx context.Context, scratch string) (string, error) {
	reason := "there is no packed program of that name"
	remedy := fmt.Sprintf("build the program elsewhere and say with --program %s=FILE where it is, without --go-program", b.GoProgram)
	if packed, ok := b.Programs[b.GoProgram]; ok {
		var err error
		if reason, remedy, err = differs(b.Context, packed); err != nil {
			return "", fmt.Errorf("program %s: %w", b.GoProgram, err)
		}
		if reason == "" {
			b.tell("%s is the packed program %s: it was built of the same Go files as those in %s", b.GoProgram, packed, b.Context)
			return packed, nil
		}
	}
	toolchain, err := exec.LookPath("go")
	if err != nil {
		return "", withHint(fmt.Errorf("program %s: %s, and there is no Go toolchain to build one: %w", b.GoProgram, reason, err),
			"install Go on the runner (actions/setup-go does it), or %s", remedy)
	}
	b.tell("building %s of the Go files in %s: %s", b.GoProgram, b.Context, reason)
	return filepath.Join(scratch, "program"), goBuild(ctx, toolchain, b.Context, filepath.Join(scratch, "program"))
}

// goBuild builds a static program for the image. The environment comes along:
// where GOCACHE names a folder that lasts, the next build is quick.
func goBuild(ctx context.Context, toolchain, folder, program string) error {
	build := exec.CommandContext(ctx, toolchain, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOWORK=off")
	var out bytes.Buffer
	build.Stdout, build.Stderr = &out, &out
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", folder, err, strings.TrimSpace(out.String()))
	}
	return nil
}

// differs says why a packed program is not that of the Go files in a folder,
// and what could be done about it without a toolchain; "" when it is theirs.
func differs(folder, packed string) (reason, remedy string, err error) {
	of, err := os.ReadFile(packed + gosources.Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("nothing says which Go files %s was built of", packed), "leave --go-program out to take that program all the same", nil
	}
	if err != nil {
		return "", "", err
	}
	now, err := gosources.OfFolder(folder)
	if err != nil {
		return "", "", err
	}
	if now == strings.TrimSpace(string(of)) {
		return "", "", nil
	}
	return "the Go files were changed, so the packed program is not theirs",
		"undo the changes of go.mod and the .go files: all other files can change without it", nil
}
