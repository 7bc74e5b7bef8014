// Package github is a forge.Forge on GitHub: github.com, GitHub Enterprise
// Cloud with data residency (*.ghe.com) and GitHub Enterprise Server.
//
// # Git for content, the API for everything else
//
// An account has 5000 API requests an hour, and 1000 where it is a workflow's
// own token. Git over http takes none of them. So files travel by git:
//
//	Read    one fetch without history; a commit that was read before is free
//	Commit  one push, which moves the branch only if it is where it is expected:
//	        the server compares, and the API cannot
//
// What is asked often and changes rarely goes through the API, because a
// conditional request that is answered by 304 is not counted: [Forge.Head],
// pull requests, issues, statuses. Git's own answer to "where is this branch"
// lists every pull request the repository ever had.
//
// # Rate limits
//
// Requests are delayed while a rate limit is exceeded, for as long as GitHub
// says, and no longer than the context lives; a limit that lasts longer is a
// [LimitError] at once. Options.Waiting and the log report each delay.
//
// # What GitHub hides
//
// GitHub answers 404 for what an account may not see. ErrNotFound of this
// package says so in its text, and callers that would remove something because
// of it should know: give the account access to every repository that the
// platform model names.
package github

import (
	"context"
	"errors"
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
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
)

const (
	// PublicURL is where github.com is.
	PublicURL = "https://github.com"

	userAgent  = "kalypso-scheduler"
	pageSize   = 100 // the most that GitHub gives
	cacheBytes = 128 << 20
)

// Options are the GitHub to use and its account: a token or an App.
type Options struct {
	URL     string       // the web root; PublicURL when empty
	API     string       // the REST API's root; derived from URL when empty
	Token   string       // of a user, a machine account or a workflow
	App     *App         // instead of Token
	User    string       // the account's name; asked for when empty. For a workflow's own token it is github-actions[bot]
	HTTP    *http.Client // http.DefaultTransport's when nil
	Log     *slog.Logger // slog.Default() when nil
	Waiting func(Wait)   // called whenever a rate limit delays a request; may be nil
	Hosts   []string     // the servers that are read by git besides, see gitclient.Hosts
	Signing *signing.Key // signs commits; nil for none
}

// Forge is one account's view of GitHub. It is safe for concurrent use.
type Forge struct {
	site
	api     *url.URL
	client  *sdk.Client
	account account
	git     *gitclient.Client
	log     *slog.Logger
	limiter *limiter
	issues  issueCache
	labels  sync.Map // labels that repositories are known to have, by repository and name

	mu   sync.Mutex // guards user, and is held while it is asked for
	user string
}

var _ forge.Forge = (*Forge)(nil)

type site = forge.Site

// Files is the forge.Site's.
const Files = "blob"

// New returns a Forge. It makes no request, so that a scheduler can start
// before its forge; an App's private key is read here.
func New(options Options) (*Forge, error) {
	web, api, err := roots(options.URL, options.API)
	if err != nil {
		return nil, err
	}
	f := &Forge{site: forge.Site{Root: web, Files: Files}, api: api, log: options.Log, user: options.User}
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
	f.git.Signing = options.Signing
	if f.git.Hosts, err = gitclient.NewHosts(append([]string{web.String()}, options.Hosts...)...); err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	f.limiter = newLimiter(next, f.waits(options.Waiting))
	if f.account, err = newAccount(options, api, f.limiter); err != nil {
		return nil, err
	}
	// outermost first: what is cached, the account's token, and the rate limits
	transport := newConditional(&authorized{f.limiter, api, f.account})
	root := strings.TrimSuffix(api.String(), "/") + "/"
	f.client, err = sdk.NewClient(sdk.WithHTTPClient(plain), sdk.WithTransport(transport), sdk.WithTimeout(0),
		sdk.WithURLs(&root, &root), sdk.WithUserAgent(userAgent), sdk.WithDisableRateLimitCheck())
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return f, nil
}

// waits logs and reports a request that has to wait.
func (f *Forge) waits(report func(Wait)) func(Wait) {
	return func(w Wait) {
		f.log.Warn("waiting for GitHub", "reason", w.Reason, "until", w.Until.UTC().Format(time.TimeOnly), "request", w.Request)
		if report != nil {
			report(w)
		}
	}
}

// Budget returns how many requests have been made and how many are left.
func (f *Forge) Budget() Budget { return f.limiter.state() }

// call makes a request through the SDK and translates its error.
func (f *Forge) call(ctx context.Context, do func() (*sdk.Response, error)) error {
	_, err := do()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(*LimitError)) {
		return fmt.Errorf("%w while waiting for %s", cause, f.api.Host)
	}
	return failure(err)
}

// callRepo makes a request about a repository.
func (f *Forge) callRepo(ctx context.Context, repo string, do func(owner, name string) (*sdk.Response, error)) error {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return err
	}
	return f.call(ctx, func() (*sdk.Response, error) { return do(owner, name) })
}

// pages calls get for every page until there is none, or get says stop.
func (f *Forge) pages(ctx context.Context, get func(options sdk.ListOptions) (response *sdk.Response, stop bool, err error)) error {
	for page := 1; ; {
		var stop bool
		var next int
		err := f.call(ctx, func() (*sdk.Response, error) {
			response, done, err := get(sdk.ListOptions{Page: page, PerPage: pageSize})
			if response != nil {
				next = response.NextPage
			}
			stop = done
			return response, err
		})
		if err != nil || stop || next <= page {
			return err
		}
		page = next
	}
}

// login returns the name of the account.
func (f *Forge) login(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.user != "" {
		return f.user, nil
	}
	name, err := f.account.name(ctx, f)
	if err != nil {
		return "", fmt.Errorf("account of the %s: %w", f.account.kind(), err)
	}
	f.user = name
	return name, nil
}

// who names the account for messages.
func (f *Forge) who() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.user == "" {
		return "the account of the " + f.account.kind()
	}
	return f.user + " (the account of the " + f.account.kind() + ")"
}

// own reports whether the account whose name is login is a user of GitHub's. An
// enterprise with data residency may put its short code into the names of bots.
func (f *Forge) own(u *sdk.User, login string) bool {
	slug, bot := strings.CutSuffix(strings.ToLower(login), "[bot]")
	return strings.EqualFold(u.GetLogin(), login) ||
		f.dataResidency() && bot && u.GetType() == "Bot" && strings.HasPrefix(strings.ToLower(u.GetLogin()), slug+"_")
}

func (f *Forge) dataResidency() bool {
	return strings.HasSuffix(strings.ToLower(f.site.Root.Hostname()), ".ghe.com")
}
