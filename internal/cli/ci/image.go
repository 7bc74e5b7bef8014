package ci

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
	"github.com/spf13/cobra"
)

// imageOptions are those of `kalypso ci build-image`.
type imageOptions struct {
	step
	build           ci.Build
	name, version   string
	bases, programs []string
}

func newBuildImage(a *steps) *cobra.Command {
	o := &imageOptions{}
	c := &cobra.Command{
		Use:   "build-image",
		Short: "Make an image of a folder with a Dockerfile and push it, without Docker",
		Long: `Make an image of a folder as its Dockerfile says, and push it to the forge's
registry. Nothing is run in it: FROM, COPY, ENV, LABEL, EXPOSE, USER, WORKDIR,
ENTRYPOINT and CMD are known, RUN is not. The same files always make the same
image, down to its digest.

Programs are built ahead of it. With --go-program NAME the Go toolchain builds
the folder's program, for a COPY NAME. It need not where --program or the folder
KALYPSO_CI_PROGRAMS has a program of that name that was built of the same go.mod
and Go files: the file NAME.sources beside it has their fingerprint. A program of
other files is never taken. The log says which it was.

Where the registry of a base image is out of reach, --base names another image
for it.

Outputs: image (NAME:TAG), name, tag, digest. The image is printed, too.`,
		Example: `  kalypso ci build-image --name hello-world --go-program hello-world
  kalypso ci build-image --context app --tag 1.2.3 --base python:3-alpine=ghcr.io/acme/python:3`,
	}
	f := c.Flags()
	f.StringVar(&o.build.Context, "context", ".", "the application's folder")
	f.StringVar(&o.build.Dockerfile, "dockerfile", "Dockerfile", "the Dockerfile, in that folder")
	f.StringVar(&o.name, "name", "", "the image's name below the repository's own, or with slashes the whole name")
	f.StringVar(&o.version, "version", "0.0.1", "the version that the run's number is added to for the tag")
	f.StringVar(&o.build.Tag, "tag", "", "the tag, VERSION-GITHUB_RUN_NUMBER when it is not given")
	f.StringArrayVar(&o.bases, "base", nil, "`FROM=IMAGE`: take another image to begin with")
	f.StringVar(&o.build.GoProgram, "go-program", "", "take the program of the folder's Go files for what COPY `NAME`s")
	f.StringArrayVar(&o.programs, "program", nil, "`NAME=FILE`: where a file is that COPY names and the folder does not have")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runBuildImage(ctx, o) })
}

func runBuildImage(ctx context.Context, o *imageOptions) (err error) {
	o.build.Name = o.name
	if !strings.Contains(o.name, "/") {
		if o.build.Name, err = ci.ImageName(o.Environment, o.name); err != nil {
			return err
		}
	}
	if o.build.Tag == "" {
		if o.RunNumber == "" {
			return usage.New("no tag: give --tag, or set GITHUB_RUN_NUMBER as a runner does")
		}
		o.build.Tag = o.version + "-" + o.RunNumber
	}
	if o.build.Bases, err = assignments("--base", o.bases); err != nil {
		return err
	}
	if o.build.Programs, err = o.allPrograms(o.programs); err != nil {
		return err
	}
	o.build.Registry, o.build.User, o.build.Token, o.build.Server = o.Registry, o.Actor, o.Token, o.Server
	o.build.Report = func(text string) { o.Messagef("%s", text) }
	made, err := ci.BuildImage(ctx, o.build)
	if err != nil {
		return err
	}
	o.Messagef("pushed %s (%s)", made.Image, made.Digest)
	if _, err := o.Out.Write([]byte(made.Image + "\n")); err != nil {
		return err
	}
	return o.set(output{"image", made.Image}, output{"name", o.build.Name}, output{"tag", o.build.Tag}, output{"digest", made.Digest})
}

// allPrograms are those of the runner, and over them those of flags.
func (s *step) allPrograms(flags []string) (map[string]string, error) {
	var ready []string
	if s.ProgramsFolder != "" {
		entries, err := os.ReadDir(s.ProgramsFolder)
		if err != nil {
			return nil, usage.New("the folder that KALYPSO_CI_PROGRAMS names: " + err.Error())
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), gosources.Suffix) || !e.Type().IsRegular() {
				continue
			}
			ready = append(ready, e.Name()+"="+filepath.Join(s.ProgramsFolder, e.Name()))
		}
	}
	return assignments("--program", ready, flags)
}

// assignments reads KEY=VALUE lists; later ones win.
func assignments(flag string, lists ...[]string) (map[string]string, error) {
	all := map[string]string{}
	for _, list := range lists {
		for _, entry := range list {
			key, value, ok := strings.Cut(strings.TrimSpace(entry), "=")
			if !ok || key == "" || value == "" {
				return nil, usage.New(flag + " " + entry + ": this is not of the form NAME=VALUE")
			}
			all[key] = value
		}
	}
	return all, nil
}
