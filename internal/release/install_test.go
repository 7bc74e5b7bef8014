package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// serve serves a release as those on GitHub are served. change may return other
// content for a file.
func serve(t *testing.T, r *Release, change func(name string, content []byte) []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		dir, name := path.Split(request.URL.Path)
		if dir != "/releases/latest/download/" && dir != "/releases/download/"+r.Version+"/" {
			http.NotFound(w, request)
			return
		}
		content, err := os.ReadFile(filepath.Join(r.Out, name))
		if err != nil {
			http.NotFound(w, request)
			return
		}
		if change != nil {
			content = change(name, content)
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/releases"
}

// script runs a script with variables of the environment, in which HOME is empty,
// and returns its exit code.
func script(t *testing.T, home string, env, args []string) (code int, output string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// tools makes a folder with some of the machine's programs, to be the PATH.
func tools(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		found, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("there is no %s", name)
		}
		if err := os.Symlink(found, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install runs install.sh on a machine with curl, on one with wget, and wherever it
// has to refuse.
func install(t *testing.T, r *Release) {
	archive := archiveName(r.Targets[0], r.number())
	installer := []string{"sh", filepath.Join(r.Out, "install.sh")}
	basics := []string{"sh", "uname", "mktemp", "rm", "head", "sed", "cut", "tail", "grep", "tar", "gzip", "mkdir", "cp", "chmod", "mv", "cat", "sha256sum"}
	good := serve(t, r, nil)
	for _, fetcher := range []string{"curl", "wget"} {
		t.Run(fetcher, func(t *testing.T) {
			home, bin := t.TempDir(), tools(t, append(basics, fetcher)...)
			env := []string{"PATH=" + bin, "KALYPSO_RELEASES=" + good + "/"}
			if code, out := script(t, home, env, append(installer, "--cli")); code != 0 || !strings.Contains(out, home+"/.local/bin is not on the PATH") || !strings.Contains(out, "git is missing") {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			program := filepath.Join(home, ".local", "bin", "kalypso")
			if got := versionOf(t, program); got != testVersion {
				t.Errorf("version %s", got)
			}
			// again, over one that may be running, and in a folder of the user's choice
			for _, prefix := range []string{filepath.Join(home, ".local"), filepath.Join(home, "my tools")} {
				if code, out := script(t, home, env, append(installer, "--cli", "--version", strings.TrimPrefix(testVersion, "v"), "--prefix="+prefix)); code != 0 {
					t.Fatalf("exit code %d\n%s", code, out)
				}
				if got := versionOf(t, filepath.Join(prefix, "bin", "kalypso")); got != testVersion {
					t.Errorf("version %s", got)
				}
				left, err := os.ReadDir(filepath.Join(prefix, "bin"))
				if err != nil || len(left) != 1 {
					t.Errorf("%v, %v", left, err)
				}
			}
		})
	}

	strange := t.TempDir()
	if err := os.WriteFile(filepath.Join(strange, "uname"), []byte("#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo ${MACHINE-riscv64}\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	damaged := serve(t, r, func(name string, content []byte) []byte {
		if name == archive {
			content[len(content)/2] ^= 1
		}
		return content
	})
	unlisted := serve(t, r, func(name string, content []byte) []byte {
		if name == sumsFile {
			return bytes.ReplaceAll(content, []byte(archive), []byte("other.tar.gz"))
		}
		return content
	})
	page := serve(t, r, func(string, []byte) []byte { return []byte("<html>Sign in") })
	closed := httptest.NewServer(nil)
	closed.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env, args []string
		code      int
		says      string
	}{
		"a digest that is wrong":    {env: []string{"KALYPSO_RELEASES=" + damaged}, args: []string{"--cli"}, code: 1, says: "SHA-256"},
		"an archive without digest": {env: []string{"KALYPSO_RELEASES=" + unlisted}, args: []string{"--cli"}, code: 1, says: archive},
		"no network":                {env: []string{"KALYPSO_RELEASES=" + closed.URL}, args: []string{"--cli"}, code: 1, says: "latest release"},
		"a page in its place":       {env: []string{"KALYPSO_RELEASES=" + page}, args: []string{"--cli"}, code: 1, says: "has no version"},
		"a release there is not":    {env: []string{"KALYPSO_RELEASES=" + good}, args: []string{"--cli", "--version", "v9.9.9"}, code: 1, says: "v9.9.9"},
		"what is not built":         {env: []string{"KALYPSO_RELEASES=" + good}, code: 1, says: "is not built for this system"},
		"a machine there is not":    {env: []string{"PATH=" + strange + ":" + os.Getenv("PATH")}, code: 1, says: "riscv64"},
		"a folder that is a file":   {env: []string{"KALYPSO_RELEASES=" + good}, args: []string{"--cli", "--prefix", file}, code: 1, says: "--prefix"},
		"no fetcher":                {env: []string{"PATH=" + tools(t, basics...)}, code: 1, says: "curl or wget"},
		"nothing to check with":     {env: []string{"PATH=" + tools(t, append(basics[:len(basics)-1:len(basics)-1], "curl")...)}, code: 1, says: "sha256sum or shasum"},
		"an unknown option":         {args: []string{"--nope"}, code: 2, says: "--nope"},
		"an option without value":   {args: []string{"--version"}, code: 2, says: "--version"},
		"no version":                {args: []string{"--version", "latest"}, code: 2, says: "v0.1.0"},
		"help":                      {args: []string{"--help"}, code: 0, says: "--prefix FOLDER"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			code, out := script(t, home, c.env, append(installer, c.args...))
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("exit code %d, want %d and %q in\n%s", code, c.code, c.says, out)
			}
			if _, err := os.Stat(filepath.Join(home, ".local", "bin", "kalypso")); err == nil {
				t.Error("it has installed something")
			}
		})
	}

	t.Run("version --check", func(t *testing.T) {
		home := t.TempDir()
		env := []string{"KALYPSO_RELEASES=" + good}
		if code, out := script(t, home, env, append(installer, "--cli")); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		program := filepath.Join(home, ".local", "bin", "kalypso")
		if code, out := script(t, home, env, []string{program, "version", "--check", "--exit-code"}); code != 0 || !strings.Contains(out, "the latest release") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		newer := serve(t, r, func(string, []byte) []byte { return []byte("v0.0.10\n") })
		if code, out := script(t, home, []string{"KALYPSO_RELEASES=" + newer}, []string{program, "version", "--check", "--exit-code"}); code != 3 || !strings.Contains(out, "install.sh") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})

	t.Run("shellcheck", func(t *testing.T) { tool(t, "shellcheck", installer[1]) })
}
