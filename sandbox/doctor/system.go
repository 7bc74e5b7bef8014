package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/kalypso-dev/kalypso/sandbox/host"
	"github.com/kalypso-dev/kalypso/sandbox/node"
)

// System is what the checks see of a machine. A field that a check does not
// use may be left out in its test.
type System struct {
	OS, Arch string
	CPUs     int
	UID      int
	User     string
	Env      func(name string) string
	Now      func() time.Time
	// Files is the root folder. It has to read links (fs.ReadLinkFS).
	Files    fs.FS
	LookPath func(name string) (string, error)
	// Run returns what a program prints. The error of one that fails is the
	// first line of its complaint, if it has any.
	Run       func(ctx context.Context, program string, args ...string) (string, error)
	Writable  func(path string) error // a folder, by this user, asked without writing
	Usable    func(path string) error // a file or device, read and written by this user
	Space     func(path string) (Space, error)
	OpenFiles func() (uint64, error) // how many a process may have at most
	Locked    func(path string) bool // by another process
	Lookup    func(ctx context.Context, host string) ([]string, error)
	Listen    func(address string) error // and close again
	Dial      func(ctx context.Context, address string) error
	// RealNode returns nil when the node with its folder at dir can be real,
	// and an *node.UnsupportedError where not.
	RealNode func(dir string) error
	// Host is the same for a host.
	Host func(dir string) error
	// UserNamespace returns nil when this user may have a user namespace, with a
	// network and mounts of its own.
	UserNamespace func(ctx context.Context) error
	// NodeLeft lists what is there of the node in dir outside of its folder.
	NodeLeft func(dir string) ([]string, error)

	askEngine sync.Once
	answered  chan struct{} // closed when asked is known
	asked     *engine
}

// Space is a file system as far as it matters.
type Space struct {
	Free, FreeFiles uint64 // for this user
	CountsFiles     bool   // some do not limit their number
	NoExec          bool
	Remote          string // what kind, "" for one of this machine
}

// Machine returns the one that this program runs on.
func Machine() *System {
	name := "uid " + strconv.Itoa(os.Geteuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return &System{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		UID: os.Geteuid(), User: name,
		Env:       os.Getenv,
		Now:       time.Now,
		Files:     os.DirFS("/"),
		LookPath:  exec.LookPath,
		Run:       runProgram,
		Writable:  writable,
		Usable:    usable,
		Space:     space,
		OpenFiles: openFiles,
		Locked:    locked,
		Lookup:    net.DefaultResolver.LookupHost,
		Listen:    listen,
		Dial:      dial,
		RealNode:  node.Supported,
		Host:      host.Supported,
		NodeLeft:  node.Leftovers,

		UserNamespace: userNamespace,
	}
}

func runProgram(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	// it must neither ask nor speak another language
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// of a grandchild that keeps the pipe; a busy machine needs a while to read it
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if complaint := strings.TrimSpace(string(exit.Stderr)); complaint != "" {
			line, _, _ := strings.Cut(complaint, "\n")
			err = errors.New(line)
		}
	}
	return strings.TrimSpace(string(out)), err
}

// locked asks for the lock and gives it back at once. A file that is not there
// is not made.
func locked(path string) bool {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer l.Close()
	got, err := l.TryRLock()
	return !got && err == nil
}

func listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

func dial(ctx context.Context, address string) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// read returns a file's text, "" when it cannot be read.
func (s *System) read(path string) string {
	b, err := fs.ReadFile(s.Files, relative(path))
	if err != nil {
		return ""
	}
	return string(b)
}

// value returns what follows a key on a line of a file, "" when none does.
func (s *System) value(path, key string) string {
	for line := range strings.Lines(s.read(path)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// descriptors are the processes that this user may look into, each with what its
// open files are.
func (s *System) descriptors() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for _, pid := range s.processes() {
			dir := procPath(pid, "fd")
			for _, fd := range s.list(dir) {
				if !yield(pid, s.link(path.Join(dir, fd))) {
					return
				}
			}
		}
	}
}

func (s *System) exists(path string) bool {
	_, err := fs.Stat(s.Files, relative(path))
	return err == nil
}

// list returns the names in a folder, none when it cannot be read.
func (s *System) list(path string) []string {
	entries, err := fs.ReadDir(s.Files, relative(path))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// link returns where a link leads, "" when it is none.
func (s *System) link(path string) string {
	to, err := fs.ReadLink(s.Files, relative(path))
	if err != nil {
		return ""
	}
	return to
}

// nearest returns the folder itself, or the one above it in which it would be
// made.
func (s *System) nearest(path string) string {
	for path != "/" && !s.exists(path) {
		path = filepath.Dir(path)
	}
	return path
}

// processes returns the IDs of all processes, sorted; none elsewhere than on
// Linux.
func (s *System) processes() []int {
	var all []int
	for _, name := range s.list("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// command is a process's name for users.
func (s *System) command(pid int) string {
	if name := strings.TrimSpace(s.read(procPath(pid, "comm"))); name != "" {
		return fmt.Sprintf("%s (process %d)", name, pid)
	}
	return fmt.Sprintf("process %d", pid)
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// relative turns a path into one within the root folder.
func relative(path string) string {
	if path = strings.TrimPrefix(filepath.Clean(path), "/"); path == "" {
		return "."
	}
	return path
}

// install returns the command that installs a package here.
func (s *System) install(name string) string {
	for _, m := range []struct{ program, command string }{
		{"apt-get", "apt-get install"}, {"dnf", "dnf install"}, {"apk", "apk add"},
		{"pacman", "pacman -S"}, {"zypper", "zypper install"}, {"brew", "brew install"},
	} {
		if _, err := s.LookPath(m.program); err != nil {
			continue
		}
		return s.asRoot(m.command+" "+name, m.program != "brew")
	}
	return "install the package " + name
}

// asRoot spells a command as this user types it.
func (s *System) asRoot(command string, needed bool) string {
	if needed && s.UID != 0 {
		command = "sudo " + command
	}
	return "`" + command + "`"
}
