// Command argocd is Argo CD in one process, for one cluster that it works on
// from outside: the API server with its web pages, the repository server, the
// application controller, and the cache that they share.
//
// Upstream these are four programs that find each other over the network. Here
// they are put together from the same packages, and what one of them needs of
// another is passed within the process, so that the only port there is is that
// of the API server, behind a front. TLS is off: all of it is on loopback.
//
// Started by git, under the name that Argo CD sets in the environment, it is
// the helper that answers git's question for a password.
//
// Under the name argocd-server, argocd-repo-server or
// argocd-application-controller it is upstream's program of that name, for a
// pod, and under the name argocd-redis it is the cache that those share.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	log "github.com/sirupsen/logrus"
)

// namespace is where Argo CD keeps its objects.
const namespace = "argocd"

type options struct {
	kubeconfig string
	dir        string
	pages      string
	listen     string
	resync     time.Duration
	logLevel   string
}

func main() {
	name := os.Getenv("ARGOCD_BINARY_NAME")
	if name == "" {
		name = filepath.Base(os.Args[0])
	}
	if command := commandOf(name); command != nil {
		if err := command.Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	var o options
	fs := flag.NewFlagSet("argocd", flag.ExitOnError)
	fs.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig `file` of the cluster")
	fs.StringVar(&o.dir, "dir", "", "`folder` for clones and temporary files")
	fs.StringVar(&o.pages, "pages", "", "`folder` of the web pages; the folder ui beside the program when empty")
	fs.StringVar(&o.listen, "listen", "", "`host:port` of the API server and its web pages")
	fs.DurationVar(&o.resync, "resync", time.Minute, "how often each application is compared without being asked to")
	fs.StringVar(&o.logLevel, "log-level", "info", "debug, info, warning or error")
	_ = fs.Parse(os.Args[1:])

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.WithError(err).Fatal("argocd ended")
	}
}

func run(ctx context.Context, o options) error {
	if err := o.prepare(); err != nil {
		return err
	}
	usePages()
	store, err := startStore(ctx)
	if err != nil {
		return fmt.Errorf("start the cache: %w", err)
	}
	defer store.close()
	repositories, err := startRepositories(ctx, o, store)
	if err != nil {
		return fmt.Errorf("start the repository server: %w", err)
	}
	if err := startController(ctx, o, store, repositories); err != nil {
		return fmt.Errorf("start the application controller: %w", err)
	}
	return serve(ctx, o, store, repositories)
}

// prepare makes the folders, and sets what Argo CD reads from its environment.
func (o *options) prepare() error {
	if o.kubeconfig == "" || o.dir == "" || o.listen == "" {
		return errors.New("--kubeconfig, --dir and --listen are required")
	}
	level, err := log.ParseLevel(o.logLevel)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	log.SetLevel(level)
	log.SetFormatter(newFormatter())
	program, err := os.Executable()
	if err != nil {
		return err
	}
	for _, path := range []*string{&o.kubeconfig, &o.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if o.pages == "" {
		o.pages = filepath.Join(filepath.Dir(program), "ui")
	}
	return o.environment(program)
}

// environment points Argo CD to folders of its own instead of those of its
// image, and to the cluster. It reads these variables when it uses them.
func (o *options) environment(program string) error {
	tmp := filepath.Join(o.dir, "tmp")
	settings := map[string]string{
		// the address that applications name as theirs, https://kubernetes.default.svc, is the cluster of this kubeconfig
		"ARGOCD_FAKE_IN_CLUSTER": "true",
		"KUBECONFIG":             o.kubeconfig,
		// signatures of commits are not checked, so gpg need not be there
		"ARGOCD_GPG_ENABLED":        "false",
		"ARGOCD_TLS_DATA_PATH":      filepath.Join(o.dir, "tls"),
		"ARGOCD_SSH_DATA_PATH":      filepath.Join(o.dir, "ssh"),
		"ARGOCD_PLUGINSOCKFILEPATH": filepath.Join(o.dir, "plugins"),
		"TMPDIR":                    tmp,
		// what kinds the cluster has is remembered there, and must not outlive the cluster
		"HOME": filepath.Join(tmp, "home"),
		// the loggers of its own, which report each request and each run of git
		common.EnvLogLevel:  log.WarnLevel.String(),
		common.EnvLogFormat: "text",
		// git finds the helper for passwords as "argocd"
		"PATH": filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
	// clones are made again in a moment; what a killed process has left would pile up
	if err := removeTree(tmp); err != nil {
		return err
	}
	for _, dir := range []string{settings["HOME"], settings["ARGOCD_TLS_DATA_PATH"], settings["ARGOCD_SSH_DATA_PATH"], settings["ARGOCD_PLUGINSOCKFILEPATH"]} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	// the socket for passwords is named from here
	if err := os.Chdir(tmp); err != nil {
		return err
	}
	hosts := filepath.Join(settings["ARGOCD_SSH_DATA_PATH"], "ssh_known_hosts")
	if err := os.WriteFile(hosts, nil, 0o600); err != nil {
		return err
	}
	for name, value := range settings {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a folder also where its folders may not be listed, which
// is how the repository server leaves its clones.
func removeTree(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
