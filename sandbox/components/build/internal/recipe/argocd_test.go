package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestOpenSchema(t *testing.T) {
	out, err := openSchema([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	var got versioned
	if err := yaml.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Spec.Versions) != 1 || got.Spec.Versions[0].Name != "v1" || !got.Spec.Versions[0].Storage {
		t.Fatalf("versions are %+v", got.Spec.Versions)
	}
	schema, _ := got.Spec.Versions[0].Schema["openAPIV3Schema"].(map[string]any)
	if schema["type"] != "object" || schema["x-kubernetes-preserve-unknown-fields"] != true || schema["properties"] != nil {
		t.Errorf("schema is %v", schema)
	}
	if got.Spec.Versions[0].Subresources["status"] == nil {
		t.Error("the status is gone")
	}
	for _, bad := range []string{"\t", "kind: ConfigMap", "spec: {versions: [v1]}"} {
		if out, err := openSchema([]byte(bad)); err == nil {
			t.Errorf("%q is accepted as\n%s", bad, out)
		}
	}
}

func TestPackDefinitions(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "crds")
	for name := range argoCDKinds {
		if err := os.WriteFile(filepath.Join(from, name), []byte(definition), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := packDefinitions(from, to, argoCDKinds, openSchema); err != nil {
		t.Fatal(err)
	}
	for name, open := range argoCDKinds {
		data, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(data), "properties"); has == open {
			t.Errorf("%s has its schema: %v", name, has)
		}
	}
	if err := os.Remove(filepath.Join(from, "appproject-crd.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := packDefinitions(from, to, argoCDKinds, openSchema); err == nil {
		t.Error("a missing definition went unnoticed")
	}
}

func TestCheckPages(t *testing.T) {
	const page = `<html><link href="assets/fonts.css"><script defer="defer" src="main.1a2b.js"></script><script defer src="extensions.js"></script></html>`
	files := map[string]string{"index.html": page, "main.1a2b.js": "", "assets/fonts.css": ""}
	lay := func(t *testing.T) string {
		dir := t.TempDir()
		for name, content := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	if err := checkPages(lay(t), "assets/fonts.css"); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		dir := lay(t)
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
		if err := checkPages(dir, "assets/fonts.css"); err == nil {
			t.Errorf("pages without %s were accepted", name)
		}
	}
	dir := lay(t)
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<html></html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checkPages(dir, "assets/fonts.css"); err == nil {
		t.Error("a page without a script was accepted")
	}
}

func TestPackArgoCDInstall(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(from, argoCDInstall), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("# made by a program\n" + strings.TrimSpace(definition) + "\n---\nkind: Service\nmetadata: {name: a}\n---\nkind: ConfigMap\ndata:\n  b: |\n    kind: CustomResourceDefinition\n")
	if err := packArgoCDInstall(from, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, argoCDInstall))
	if err != nil {
		t.Fatal(err)
	}
	const want = "kind: Service\nmetadata: {name: a}\n---\nkind: ConfigMap\ndata:\n  b: |\n    kind: CustomResourceDefinition\n"
	if string(got) != want {
		t.Errorf("kept\n%s", got)
	}
	for _, bad := range []string{definition, "", "\t"} {
		write(bad)
		if err := packArgoCDInstall(from, to); err == nil {
			t.Errorf("%q was packed", bad)
		}
	}
}
