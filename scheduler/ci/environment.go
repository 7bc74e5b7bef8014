package ci

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
)

// Environment is what a runner gives a step. Both forges' runners set the same
// GITHUB_ variables (docs.github.com/actions/reference/variables-reference).
// At a desk, setting GITHUB_SERVER_URL, GITHUB_REPOSITORY and a token is enough
// for most verbs.
type Environment struct {
	Server     string // GITHUB_SERVER_URL: where the forge is
	API        string // GITHUB_API_URL
	Repository string // GITHUB_REPOSITORY: owner/name of the repository whose workflow runs
	Commit     string // GITHUB_SHA
	Branch     string // GITHUB_REF_NAME
	Run        string // GITHUB_RUN_ID
	RunNumber  string // GITHUB_RUN_NUMBER: counts up by workflow
	RunAttempt string // GITHUB_RUN_ATTEMPT: from 1; a user has started a later one
	Workflow   string // GITHUB_WORKFLOW: its name
	Actor      string // GITHUB_ACTOR
	EventFile  string // GITHUB_EVENT_PATH

	// Forge is gitea or github: KALYPSO_FORGE, or what follows from the
	// other variables.
	Forge string
	// Token is KALYPSO_CI_TOKEN, or else GITHUB_TOKEN.
	Token string
	// Registry is the host of the registry, KALYPSO_REGISTRY, or else the one
	// that belongs to the forge.
	Registry string

	// ProgramsFolder, KALYPSO_CI_PROGRAMS, has packed programs that build-image
	// may take; the file's name is the program's.
	ProgramsFolder string

	// Kubeconfig, KALYPSO_CI_KUBECONFIG, has a context for each cluster that can
	// be read itself.
	Kubeconfig string
	// Fleet, of KALYPSO_CI_FLEET and KALYPSO_CI_FLEET_TOKEN, serves further clusters.
	Fleet endpoint.Client
	Arc   Arc
}

// The kinds of forges.
const (
	Gitea  = "gitea"
	GitHub = "github"
)

// gitHubServer is the only server that is known by its name.
const gitHubServer = "https://github.com"

// ReadEnvironment reads the variables. What is missing is for the verb to say
// that needs it: see the methods.
func ReadEnvironment(get func(string) string) Environment {
	first := func(names ...string) string {
		for _, name := range names {
			if value := strings.TrimSpace(get(name)); value != "" {
				return value
			}
		}
		return ""
	}
	e := Environment{
		// the forge is asked with the token alone
		Server:     strings.TrimRight(redact.URL(first("GITHUB_SERVER_URL")), "/"),
		API:        strings.TrimRight(redact.URL(first("GITHUB_API_URL")), "/"),
		Repository: first("GITHUB_REPOSITORY"),
		Commit:     first("GITHUB_SHA"),
		Branch:     first("GITHUB_REF_NAME"),
		Run:        first("GITHUB_RUN_ID"),
		RunNumber:  first("GITHUB_RUN_NUMBER"),
		RunAttempt: first("GITHUB_RUN_ATTEMPT"),
		Workflow:   first("GITHUB_WORKFLOW"),
		Actor:      first("GITHUB_ACTOR"),
		EventFile:  first("GITHUB_EVENT_PATH"),
		Forge:      first("KALYPSO_FORGE"),
		Token:      first("KALYPSO_CI_TOKEN", "GITHUB_TOKEN"),
		Registry:   first("KALYPSO_REGISTRY"),

		ProgramsFolder: first("KALYPSO_CI_PROGRAMS"),
		Kubeconfig:     first("KALYPSO_CI_KUBECONFIG"),
		Fleet:          endpoint.Client{URL: first("KALYPSO_CI_FLEET"), Token: first("KALYPSO_CI_FLEET_TOKEN")},
		Arc:            arc.ReadSettings(get),
	}
	if e.Forge == "" {
		e.Forge = forgeKind(e, get("GITEA_ACTIONS"))
	}
	if e.Registry == "" {
		e.Registry = registryOf(e)
	}
	return e
}

// forgeKind distinguishes the forges: Gitea's runner says so, and the versions of
// the two APIs differ.
func forgeKind(e Environment, giteaActions string) string {
	switch {
	case giteaActions == "true", strings.HasSuffix(e.API, "/api/v1"):
		return Gitea
	case e.Server == gitHubServer, strings.HasSuffix(e.API, "/api/v3"):
		return GitHub
	}
	return Gitea
}

// registryOf is the registry that comes with the forge: Gitea is one itself.
func registryOf(e Environment) string {
	if e.Server == gitHubServer {
		return "ghcr.io"
	}
	if u, err := url.Parse(e.Server); err == nil {
		return u.Host
	}
	return ""
}

// Owner is the organisation or user that the repository belongs to.
func (e Environment) Owner() string {
	owner, _, _ := strings.Cut(e.Repository, "/")
	return owner
}

// Name is the repository's name without its owner.
func (e Environment) Name() string {
	_, name, _ := strings.Cut(e.Repository, "/")
	return name
}

// RunURL is where a browser shows the run, "" outside of one.
func (e Environment) RunURL() string {
	if e.Server == "" || e.Repository == "" || e.Run == "" {
		return ""
	}
	return redact.URL(e.Server + "/" + e.Repository + "/actions/runs/" + e.Run)
}

// Repo is the owner/name of a repository that a flag names: by its URL on this
// forge, as owner/name, or by its name alone where the owner is that of the
// workflow's repository. Nothing means the workflow's own repository.
func (e Environment) Repo(named string) (string, error) {
	if named == "" {
		named = e.Repository
	}
	named = redact.URL(named)
	if named == "" {
		return "", usage.Errorf("no repository: name it with --repo, or set GITHUB_REPOSITORY to owner/name")
	}
	if rest, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimRight(named, "/"), ".git"), e.Server+"/"); ok && e.Server != "" {
		named = rest
	}
	if !strings.Contains(named, "/") {
		if e.Owner() == "" {
			return "", usage.Errorf("repository %q has no owner: name it as owner/name, or set GITHUB_REPOSITORY", named)
		}
		named = e.Owner() + "/" + named
	}
	if strings.Count(named, "/") != 1 || strings.ContainsAny(named, ": ") || strings.HasPrefix(named, "/") || strings.HasSuffix(named, "/") {
		return "", usage.Errorf("%q is no repository of %s: name it as owner/name, or by its URL there", named, e.server())
	}
	return named, nil
}

// CloneURL is the URL of a repository, as platform models spell it.
func (e Environment) CloneURL(repo string) string { return e.Server + "/" + repo }

func (e Environment) server() string {
	if e.Server == "" {
		return "the forge (GITHUB_SERVER_URL is not set)"
	}
	return e.Server
}

// Before is the commit that the branch had before the push that has started the
// workflow, "" when that is not known or the branch is new.
func (e Environment) Before() (string, error) {
	if e.EventFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(e.EventFile)
	if err != nil {
		return "", fmt.Errorf("the event that GITHUB_EVENT_PATH names: %w", err)
	}
	var event struct {
		Before string `json:"before"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return "", fmt.Errorf("the event in %s: %w", e.EventFile, err)
	}
	if strings.Trim(event.Before, "0") == "" {
		return "", nil
	}
	return event.Before, nil
}
