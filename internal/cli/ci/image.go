package ci

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
	"github.com/spf13/cobra"
)

func (a *steps) buildImage() *cobra.Command {
	var b ci.Build
	var name, version string
	var bases, programs []string
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
	f.StringVar(&b.Context, "context", ".", "the application's folder")
	f.StringVar(&b.Dockerfile, "dockerfile", "Dockerfile", "the Dockerfile, in that folder")
	f.StringVar(&name, "name", "", "the image's name below the repository's own, or with slashes the whole name")
	f.StringVar(&version, "version", "0.0.1", "the version that the run's number is added to for the tag")
	f.StringVar(&b.Tag, "tag", "", "the tag, VERSION-GITHUB_RUN_NUMBER when it is not given")
	f.StringArrayVar(&bases, "base", nil, "`FROM=IMAGE`: take another image to begin with")
	f.StringVar(&b.GoProgram, "go-program", "", "take the program of the folder's Go files for what COPY `NAME`s")
	f.StringArrayVar(&programs, "program", nil, "`NAME=FILE`: where a file is that COPY names and the folder does not have")
	return a.leaf(c, func(c *cobra.Command, s *step, _ []string) (err error) {
		b.Name = name
		if !strings.Contains(name, "/") {
			if b.Name, err = ci.ImageName(s.Environment, name); err != nil {
				return err
			}
		}
		if b.Tag == "" {
			if s.RunNumber == "" {
				return usage.New("no tag: give --tag, or set GITHUB_RUN_NUMBER as a runner does")
			}
			b.Tag = version + "-" + s.RunNumber
		}
		if b.Bases, err = assignments("--base", bases); err != nil {
			return err
		}
		if b.Programs, err = s.programs(programs); err != nil {
			return err
		}
		b.Registry, b.User, b.Token, b.Server = s.Registry, s.Actor, s.Token, s.Server
		b.Report = func(text string) { a.Messagef("%s", text) }
		made, err := ci.BuildImage(c.Context(), b)
		if err != nil {
			return err
		}
		a.Messagef("pushed %s (%s)", made.Image, made.Digest)
		if _, err := a.Out.Write([]byte(made.Image + "\n")); err != nil {
			return err
		}
		return s.set(output{"image", made.Image}, output{"name", b.Name}, output{"tag", b.Tag}, output{"digest", made.Digest})
	})
}

// programs are those of the runner, and over them those of flags.
func (s *step) programs(flags []string) (map[string]string, error) {
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
