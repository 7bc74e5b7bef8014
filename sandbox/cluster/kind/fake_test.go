package kind

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeEngine is a program docker on PATH that answers what a test has said.
type fakeEngine struct {
	t   *testing.T
	dir string
	Engine
}

// newFakeEngine also takes everything out of the environment that would lead to
// another one.
func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{chooser}, engineVariables...) {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	// an answer is a file named as the beginning of the arguments; the longest wins
	script := `#!/bin/sh
cd '` + dir + `'
echo "$*" >> calls
args=$(echo "$*" | tr '/ ' '__')
name=
for f in answers/*; do
  f=${f#answers/}
  case $args in "$f"*) [ ${#f} -gt ${#name} ] && name=$f;; esac
done
[ -n "$name" ] || { echo "no answer to: $*" >&2; exit 125; }
. "./answers/$name"
`
	if err := os.Mkdir(filepath.Join(dir, "answers"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &fakeEngine{t: t, dir: dir, Engine: Engine{Program: "docker"}}
	e.answer("version", "echo 28.0.0 28.0.0")
	return e
}

// answer says what a command does whose arguments begin so.
func (e *fakeEngine) answer(args, shell string) {
	e.t.Helper()
	name := strings.NewReplacer("/", "_", " ", "_").Replace(args)
	if err := os.WriteFile(filepath.Join(e.dir, "answers", name), []byte(shell+"\n"), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// calls that begin so.
func (e *fakeEngine) calls(prefix string) []string {
	e.t.Helper()
	b, err := os.ReadFile(filepath.Join(e.dir, "calls"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(b)), "\n"), func(c string) bool { return !strings.HasPrefix(c, prefix) })
}

// container is the answer to an inspection.
func container(id string, running bool, cluster string) string {
	return fmt.Sprintf(`echo '[{"Id": %q, "State": {"Running": %t}, "Config": {"Labels": {"io.x-k8s.kind.cluster": %q}}}]'`, id, running, cluster)
}

// impatient makes an engine hang that does not answer at once.
func impatient(t *testing.T) {
	t.Helper()
	before := answerLimit
	answerLimit = 50 * time.Millisecond
	t.Cleanup(func() { answerLimit = before })
}
