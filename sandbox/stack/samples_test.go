package stack

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/workshop"
)

// TestImagesOfWorkshops: the registry begins with what the manifests in git
// name, made as the application's pipeline makes it, and leaves nothing behind.
func TestImagesOfWorkshops(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, name := range workshop.Builtin() {
		draft, err := state.Choice{Workshop: name}.Draft()
		if err != nil {
			t.Fatal(err)
		}
		content := workshoptest.Load(t, name, server.URL+"/"+state.Organisation)
		for _, i := range draft.Spec().Images {
			program, scratch := filepath.Join(t.TempDir(), i.Program), t.TempDir()
			if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
				t.Fatal(err)
			}
			build := ci.Build{Keep: true, Programs: map[string]string{i.Program: program}, Registry: host, Server: server.URL}
			image := host + "/" + state.Organisation + "/" + i.Name
			if err := pushImage(t.Context(), scratch, content, image, build); err != nil {
				t.Fatal(err)
			}
			repository, _ := content.Repository("kalypso-app-src")
			main, _ := repository.Branch("main")
			want := map[string]string{"app": "program", "page.html": string(main.Files["page.html"])}
			if diff := cmp.Diff(want, filesOfImage(t, image)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", image, diff)
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		}
	}
	hello := workshoptest.Load(t, "hello-world", server.URL+"/"+state.Organisation)
	if err := pushImage(t.Context(), t.TempDir(), hello, host+"/kalypso/nope/x:1", ci.Build{}); err == nil || !strings.Contains(err.Error(), "no repository nope") {
		t.Error(err)
	}
}

func filesOfImage(t *testing.T, image string) map[string]string {
	t.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(pulled)
	defer content.Close()
	files := map[string]string{}
	for archive := tar.NewReader(content); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(data)
	}
}
