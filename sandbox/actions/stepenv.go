package actions

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passedOn are the variables of the runner that a step gets, too: where
// programs and certificates are, and how people here write things.
var passedOn = []string{"TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// reserved tells whether a variable is the runner's to set.
func reserved(name string) bool {
	return strings.HasPrefix(name, "GITHUB_") || strings.HasPrefix(name, "GITEA_") || strings.HasPrefix(name, "RUNNER_") ||
		slices.Contains([]string{"CI", "HOME", "PATH", "TMPDIR", "NODE_OPTIONS"}, name)
}

// environment is the whole environment of a step. What the workflow sets comes
// after what the runner passes on, and before what makes the runner's own
// promises.
func (e *execution) environment(i int, s Step, own, files map[string]string) []string {
	all := map[string]string{}
	for _, name := range passedOn {
		if v, ok := os.LookupEnv(name); ok {
			all[name] = v
		}
	}
	maps.Copy(all, e.config.Env)
	maps.Copy(all, e.config.SecretEnv)
	all["HOME"], all["TMPDIR"], all["CI"] = e.folders.Home, e.folders.Temp, "true"
	// the machine's settings of git would make jobs differ from place to place
	all["GIT_TERMINAL_PROMPT"], all["GIT_CONFIG_NOSYSTEM"] = "0", "1"
	maps.Copy(all, e.env)
	maps.Copy(all, e.setEnv)
	maps.Copy(all, own)

	path := []string{e.folders.Bin}
	path = append(path, e.paths...)
	for _, dir := range filepath.SplitList(or(own["PATH"], e.env["PATH"], os.Getenv("PATH"))) {
		if filepath.IsAbs(dir) {
			path = append(path, dir)
		}
	}
	all["PATH"] = strings.Join(path, string(filepath.ListSeparator))
	maps.Copy(all, e.promised(i, s))
	maps.Copy(all, files)

	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(all[name], "\x00") {
			env = append(env, name+"="+all[name])
		}
	}
	return env
}

// promised are the variables that GitHub promises to each step.
func (e *execution) promised(i int, s Step) map[string]string {
	t, f := e.task, e.folders
	action := s.ID
	if action == "" {
		action = fmt.Sprintf("__run_%d", i+1)
	}
	all := map[string]string{
		"GITEA_ACTIONS": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTION": action,
		"GITHUB_EVENT_PATH": f.Event, "GITHUB_WORKSPACE": f.Work, "GITHUB_SERVER_URL": t.serverURL(),
		"RUNNER_NAME": e.config.Name, "RUNNER_OS": runnerOS(), "RUNNER_ARCH": runnerArch(), "RUNNER_ENVIRONMENT": "self-hosted",
		"RUNNER_TEMP": f.Temp, "RUNNER_TOOL_CACHE": f.Tools,
	}
	for _, name := range []string{
		"actor", "api_url", "base_ref", "event_name", "head_ref", "job", "ref", "ref_name", "ref_type",
		"repository", "repository_owner", "run_attempt", "run_id", "run_number", "sha", "triggering_actor",
	} {
		all["GITHUB_"+strings.ToUpper(name)] = t.text(name)
	}
	all["GITHUB_WORKFLOW"] = t.workflow(e.job)
	return all
}
