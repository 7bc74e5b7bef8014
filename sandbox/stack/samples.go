package stack

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/workshop"
)

// pushImages puts the workshop's images into the forge's registry, as the
// pipelines of the applications would have made them of what the repositories
// begin with. One that is there stays as it is.
func (st *Stack) pushImages(ctx context.Context) error {
	content, err := st.state.Spec().Load(workshop.On(st.state.OrgURL()))
	if err != nil {
		return err
	}
	// not the password, which users may change
	token, err := os.ReadFile(st.gitea.TokenFile(gitea.AdminToken))
	if err != nil {
		return err
	}
	_, organisation, _ := strings.Cut(st.state.OrgURL(), "://")
	registry, _, _ := strings.Cut(organisation, "/")
	for _, i := range st.state.Spec().Images {
		build := ci.Build{
			Keep:     true,
			Programs: map[string]string{i.Program: filepath.Join(st.host.Staged("samples"), i.Program)},
			Registry: registry, User: st.state.Admin.User, Token: string(token),
			Server: st.state.ForgeURL(),
		}
		if err := pushImage(ctx, st.home.Path("tmp"), content, organisation+"/"+i.Name, build); err != nil {
			return err
		}
	}
	return nil
}

// pushImage makes one image, HOST/ORGANISATION/REPOSITORY/NAME:TAG, of what its
// repository has on the branch main.
func pushImage(ctx context.Context, scratch string, content *workshop.Workshop, image string, build ci.Build) error {
	name, tag := image[:strings.LastIndexByte(image, ':')], image[strings.LastIndexByte(image, ':')+1:]
	repository := path.Base(path.Dir(name))
	r, _ := content.Repository(repository)
	source, ok := r.Branch("main")
	if !ok {
		return fmt.Errorf("image %s: workshop %s has no repository %s", image, content.Name, repository)
	}
	folder, err := os.MkdirTemp(scratch, "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for file, data := range source.Files {
		file = filepath.Join(folder, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	build.Context, build.Name, build.Tag = folder, name, tag
	_, err = ci.BuildImage(ctx, build)
	return err
}
