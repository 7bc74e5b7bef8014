package images

import (
	"archive/tar"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestPush(t *testing.T) {
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	login := Login{"platform", "secret"}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); r.Method != http.MethodGet && (!ok || user != login.User || password != login.Password) {
			asked = append(asked, r.Method)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(w, r)
	}))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/kalypso/app/hello-world:0.0.1-0"
	for i, want := range []bool{true, false} { // the second finds the first's
		if pushed, err := Push(t.Context(), ref, login, []byte("program")); pushed != want || err != nil {
			t.Fatalf("push %d: %v, %v (refused %v)", i, pushed, err, asked)
		}
	}
	tag, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(tag)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Config; c.User != user || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/app" || file.OS != "linux" {
		t.Errorf("%+v", file)
	}
	files := tar.NewReader(mutate.Extract(image))
	h, err := files.Next()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(files); h.Name != "app" || h.Mode != 0o755 || string(got) != "program" || err != nil {
		t.Errorf("%s (%o) holds %q, %v", h.Name, h.Mode, got, err)
	}
}

func TestPushToNobody(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	if _, err := Push(t.Context(), host+"/a/b:1", Login{}, nil); err == nil || !strings.Contains(err.Error(), "look for image "+host+"/a/b:1") {
		t.Error(err)
	}
	if _, err := Push(t.Context(), "not a name", Login{}, nil); err == nil {
		t.Error("a name that is none is taken")
	}
}

// the digest is the same on every machine and on every day
func TestImageDependsOnItsProgramAlone(t *testing.T) {
	var digests []string
	for _, program := range []string{"a", "a", "b"} {
		image, err := Image([]byte(program))
		if err != nil {
			t.Fatal(err)
		}
		d, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d.String())
	}
	if d := cmp.Diff(digests[0], digests[1]); d != "" || digests[0] == digests[2] {
		t.Errorf("digests %v", digests)
	}
}
