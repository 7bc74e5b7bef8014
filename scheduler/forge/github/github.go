// Package github is a forge.Forge on GitHub: github.com, GitHub Enterprise
// Cloud with data residency (*.ghe.com) and GitHub Enterprise Server.
//
// # Git for content, the API for everything else
//
// An account has 5000 API requests an hour, and 1000 where it is a workflow's
// own token. Git over http takes none of them. So files travel by git:
//
//	Read    one fetch without history. By the API the same is a commit, a tree
//	        and one request for every file; a commit that was read before is free
//	Commit  one push. By the API it is a tree, a commit and a branch, besides a
//	        look at where the branch is; and the API cannot move a branch "if it
//	        is still at X", while a push says so and the server checks it
//
// What is asked often and changes rarely goes through the API, because a
// conditional request that is answered by 304 is not counted: [Forge.Head],
// pull requests, issues, statuses. Git's own answer to "where is this branch"
// lists every pull request the repository ever had.
//
// [Options.NoGit] sends everything through the API, for networks that let
// nothing else pass: one tree, one commit, one branch for a commit, and blobs
// that are kept by their ID. It cannot hold a branch while it moves it, so that
// of two schedulers that overwrite one branch within a moment the later wins.
//
// # Limits
//
// Requests are held back while a rate limit is exceeded, for as long as GitHub
// says, and no longer than the context lives; a limit that outlasts it is a
// [LimitError] at once. Options.Waiting and the log tell what is waited for.
//
// # What GitHub hides
//
// GitHub answers 404 for what an account may not see. ErrNotFound of this
// package says so in its text, and callers that would remove something because
// of it should know: give the account access to every repository that the
// platform model names.
package github

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

const (
	// PublicURL is where github.com is.
	PublicURL = "https://github.com"

	userAgent  = "kalypso-scheduler"
	pageSize   = 100 // the most that GitHub gives
	cacheBytes = 128 << 20
)

// Options say which GitHub to talk to and as whom: with a token, or as an App.
type Options struct {
	URL     string       // the web root; PublicURL when empty
	API     string       // the REST API's root; derived from URL when empty
	Token   string       // of a person, a machine account or a workflow
	App     *App         // instead of Token
	User    string       // the account's name; asked for when empty. For a workflow's own token it is github-actions[bot]
	NoGit   bool         // read and write files by the API alone
	HTTP    *http.Client // http.DefaultTransport's when nil
	Log     *slog.Logger // slog.Default() when nil
	Waiting func(Wait)   // called whenever a rate limit holds a request back; may be nil
}

// Forge is one account's view of GitHub. It is safe for concurrent use.
type Forge struct {
	web, api *url.URL
	client   *sdk.Client
	account  account
	git      *gitclient.Client
	noGit    bool
	log      *slog.Logger
	patience *patience
	blobs    *blobs
	issues   ledger
	pulls    sightings
	labels   labels

	mu   sync.Mutex // guards user, and is held while it is asked for
	user string
}

var _ forge.Forge = (*Forge)(nil)

// New returns a Forge. It makes no request, so that a scheduler can start
// before its forge; an App's private key is read here.
func New(options Options) (*Forge, error) {
	web, api, err := roots(options.URL, options.API)
	if err != nil {
		return nil, err
	}
	f := &Forge{web: web, api: api, noGit: options.NoGit, log: options.Log, user: options.User, blobs: newBlobs(cacheBytes)}
	if f.log == nil {
		f.log = slog.Default()
	}
	plain := &http.Client{}
	if options.HTTP != nil {
		plain = options.HTTP
	}
	next := plain.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	f.git = gitclient.New(plain, cacheBytes)
	f.patience = newPatience(next, f.waits(options.Waiting))
	if f.account, err = newAccount(options, api, f.patience); err != nil {
		return nil, err
	}
	// outermost first: what is known already, whose request it is, and when it
	// may be sent
	transport := newConditional(&credentials{next: f.patience, api: api, token: f.account.token})
	root := strings.TrimSuffix(api.String(), "/") + "/"
	f.client, err = sdk.NewClient(sdk.WithHTTPClient(plain), sdk.WithTransport(transport), sdk.WithTimeout(0),
		sdk.WithURLs(&root, &root), sdk.WithUserAgent(userAgent), sdk.WithDisableRateLimitCheck())
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return f, nil
}

// waits is what is done when a request has to wait.
func (f *Forge) waits(tell func(Wait)) func(Wait) {
	return func(w Wait) {
		f.log.Warn("waiting for GitHub", "reason", w.Reason, "until", w.Until.UTC().Format(time.TimeOnly), "request", w.Request)
		if tell != nil {
			tell(w)
		}
	}
}

// Budget tells how many requests have been made and how many are left.
func (f *Forge) Budget() Budget { return f.patience.state() }
