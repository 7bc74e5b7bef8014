// Package orbital makes the clones of a platform that is like none of the tutorials:
// three environments, two base repositories, ten cluster types, forty workloads. What
// is in them is in e2e/testdata/platform.
package orbital

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/rogpeppe/go-internal/txtar"
)

// Organisation is where the platform says that its repositories are.
const Organisation = "https://git.example.com/orbital"

// Environments in order of promotion.
var Environments = []string{"lab", "rehearsal", "flight"}

// all is the branch that stands for that of each environment.
const all = "all"

// maxDepth is the length of a path of as many parent folders as no package is below the root.
const maxDepth = 60

// Folder is where the platform's files are.
func Folder() string {
	// a test runs in the folder of its package
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		folder := filepath.Join(dir, "e2e", "testdata", "platform")
		if _, err := os.Stat(folder); err == nil || len(dir) > maxDepth {
			return folder
		}
	}
}

// branches are the files of a repository, by branch and path.
type branches map[string]map[string]string

// Write makes a clone of every repository below a folder, with its branches and with
// origin at its address, and returns their names, sorted. The main branch of
// ground-templates has a commit more than the one that the environments pin.
func Write(tb testing.TB, dir string) []string {
	tb.Helper()
	repositories := map[string]branches{}
	add := func(repository, branch, file, content string) {
		targets := []string{branch}
		if branch == all {
			targets = Environments
		}
		for _, b := range targets {
			if repositories[repository] == nil {
				repositories[repository] = branches{}
			}
			if repositories[repository][b] == nil {
				repositories[repository][b] = map[string]string{}
			}
			repositories[repository][b][file] = strings.ReplaceAll(content, "ENVIRONMENT", b)
		}
	}
	archive, err := txtar.ParseFile(filepath.Join(Folder(), "repositories.txtar"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range archive.Files {
		parts := strings.SplitN(f.Name, "/", 3)
		add(parts[0], parts[1], parts[2], string(f.Data))
	}
	addMissions(tb, add)

	// what others pin comes first
	first := commit(tb, dir, "ground-templates", repositories["ground-templates"])
	gitkit.Run(tb, filepath.Join(dir, "ground-templates"), "commit", "--quiet", "--allow-empty", "-m", "Not promoted yet")
	for _, files := range repositories["ground-control"] {
		for name, content := range files {
			files[name] = strings.ReplaceAll(content, "FIRST_COMMIT_OF_GROUND_TEMPLATES", first)
		}
	}
	names := []string{"ground-templates"}
	for name, branches := range repositories {
		if name != "ground-templates" {
			commit(tb, dir, name, branches)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// addMissions adds the registrations, workloads and manifests of missions.txt.
func addMissions(tb testing.TB, add func(repository, branch, file, content string)) {
	tb.Helper()
	lines, err := os.ReadFile(filepath.Join(Folder(), "missions.txt"))
	if err != nil {
		tb.Fatal(err)
	}
	add("mission-manifests", "main", "README.md", "# What runs of the missions\n")
	for line := range strings.Lines(string(lines)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(fields) < 4 {
			continue
		}
		mission, workload, duty, environments := fields[0], fields[1], fields[2], fields[3:]
		add("mission-catalog", "main", "admitted/"+workload+".yaml", fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: %[2]s
spec:
  workload:
    repo: %[3]s/%[1]s
    branch: main
    path: workloads/%[2]s
  workspace: %[1]s
`, mission, workload, Organisation))
		text := fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: %s
spec:
  deploymentTargets:
`, workload)
		for _, e := range environments {
			text += fmt.Sprintf(`    - name: %[1]s
      environment: %[1]s
      labels: {duty: %[2]s}
      manifests:
        repo: %[3]s/mission-manifests.git
        branch: %[1]s
        path: %[4]s
`, e, duty, Organisation, workload)
			add("mission-manifests", e, workload+"/deployment.yaml", fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
        - name: main
          image: registry.example.com/orbital/%[1]s:2.4.0
`, workload))
		}
		add(mission, "main", "workloads/"+workload+"/workload.yaml", text)
	}
}

// commit makes a clone, and returns the commit of its branch main, which is checked
// out.
func commit(tb testing.TB, dir, name string, branches branches) string {
	tb.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(at, 0o777); err != nil {
		tb.Fatal(err)
	}
	gitkit.Run(tb, at, "init", "--quiet")
	gitkit.Run(tb, at, "remote", "add", "origin", Organisation+"/"+name+".git")
	var stream strings.Builder
	for branch, files := range branches {
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter ann <ann@example.com> 1735689600 +0000\ndata <<END\nBegin %s\nEND\n", branch, branch)
		for file, content := range files {
			fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", file, len(content), content)
		}
	}
	if _, err := gitkit.Git(at, stream.String(), "fast-import", "--quiet"); err != nil {
		tb.Fatal(err)
	}
	gitkit.Run(tb, at, "checkout", "--quiet", "-f", "-B", "main", "main")
	return gitkit.Run(tb, at, "rev-parse", "main")
}
