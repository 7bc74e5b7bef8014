package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// Proposals are what the hub needs to open pull requests.
type Proposals struct {
	Platform propose.Platform
	// Forge is where they are opened, by the hub's own account.
	Forge controller.Repositories
	// Repositories are the clone URLs of all repositories that a proposal may go to.
	Repositories func() []string
	// Key is that of the hub's proposals.
	Key propose.Key
	// UserForge is the token of who is signed in by the forge, and their name there; false for
	// who is not. Nil: nobody is.
	UserForge func(ctx context.Context) (token, login string, ok bool)
	// Connect is the forge with another account's token.
	Connect func(token, login string) (controller.Repositories, error)
}

// author is who a proposal of a request is of, and the forge that opens it: theirs where the
// sign-in is the forge's.
func (p *Proposals) author(ctx context.Context) (propose.Author, error) {
	if p.UserForge != nil {
		if token, login, ok := p.UserForge(ctx); ok {
			f, err := p.Connect(token, login)
			return propose.Author{Name: login, Forge: f, Own: true}, err
		}
	}
	q := requestOf(ctx)
	return propose.Author{Name: q.identity.Subject, ID: q.actor(), Forge: p.Forge}, nil
}

type (
	// ProposalRequest is what a pull request is made of.
	ProposalRequest struct {
		Environment string `json:"environment"`
		Edits       []Edit `json:"edits" minItems:"1" maxItems:"100"`
		Title       string `json:"title" minLength:"1" maxLength:"200"`
		Text        string `json:"text,omitempty" maxLength:"10000"`
		Confirm     string `json:"confirm,omitempty" maxLength:"253" doc:"The environment's name, where the plan has massRemoval."`
	}
	// ProposalInput asks for a pull request.
	ProposalInput struct {
		Key     string `header:"Idempotency-Key" maxLength:"200" doc:"Required. The same key gets the same answer for a day."`
		IfMatch string `header:"If-Match" maxLength:"100" doc:"The plan's head: another is a 412 with the plan as it is now."`
		Body    ProposalRequest
	}
	// ProposalOutput is a proposal with how it came to be.
	ProposalOutput struct {
		Status   int
		Location string `header:"Location"`
		Body     propose.Proposal
	}
	// ProposalName names a proposal.
	ProposalName struct {
		ID string `path:"id" pattern:"^[0-9a-f]{20}$"`
	}
	// ProposalsInput asks for proposals.
	ProposalsInput struct {
		Environments []string `query:"env,explode" maxItems:"100"`
		States       []string `query:"state,explode" maxItems:"3" enum:"open,merged,closed"`
		Paging
	}
)

func (a *api) proposalRoutes() {
	a.planner, a.proposer.Key = propose.NewPlanner(a.Proposals.Platform), a.Proposals.Key
	plan := operation{id: "makePlan", path: "/plans", summary: "What edits of the platform model would do; nothing is changed", method: http.MethodPost, status: http.StatusOK, quiet: true}
	huma.Register(a.huma, plan.huma(), func(ctx context.Context, input *PlanInput) (*answer[propose.Plan], error) {
		made, err := a.plan(ctx, propose.Request{
			Environment: input.Body.Environment, Base: input.Body.Base, Edits: editsOf(input.Body.Edits), Against: cmp.Or(input.Body.Against, propose.Planned), Files: input.Files,
		}, "body.environment", "body.edits[%d]")
		if err != nil {
			return nil, failed(ctx, err)
		}
		return &answer[propose.Plan]{made.Plan}, nil
	})
	open := operation{id: "createProposal", path: "/proposals", summary: "Open a pull request with edits of the platform model", method: http.MethodPost, status: http.StatusCreated, role: Proposer}
	huma.Register(a.huma, open.huma(), a.createProposal)
	list(a, operation{id: "listProposals", path: "/proposals", summary: "Pull requests with edits, the newest first"}, listing[*ProposalsInput, propose.Proposal, propose.Proposal]{
		read: a.proposals, document: func(p propose.Proposal) propose.Proposal { return p }, columns: proposalColumns,
	})
	get(a, operation{id: "getProposal", path: "/proposals/{id}", summary: "A pull request with edits"}, func(ctx context.Context, input *ProposalName) (propose.Proposal, error) {
		return a.proposal(ctx, input.ID)
	})
	change(a, operation{id: "closeProposal", path: "/proposals/{id}", summary: "Close a pull request with edits, and remove its branch", method: http.MethodDelete, role: Proposer}, a.closeProposal)
	a.entityRoutes()
}

// createProposal opens a pull request. A request with a key that was answered gets that answer.
func (a *api) createProposal(ctx context.Context, input *ProposalInput) (*ProposalOutput, error) {
	if input.Key == "" {
		p := newProblem(http.StatusPreconditionRequired, "Idempotency-Key is missing").at("header.Idempotency-Key", nil)
		p.Hint = "send a random text, and the same again when this request is repeated"
		return nil, p
	}
	out, err := a.once(ctx, input.Key, input.Body, func() (*ProposalOutput, error) {
		made, err := a.plan(ctx, propose.Request{Environment: input.Body.Environment, Base: seen(input.IfMatch), Edits: editsOf(input.Body.Edits), Against: propose.Planned, Current: true}, "body.environment", "body.edits[%d]")
		if err != nil {
			return nil, err
		}
		if err := isCurrent(made, input.IfMatch); err != nil {
			return nil, err
		}
		if !made.Plan.Changed {
			return nil, newProblem(http.StatusUnprocessableEntity, made.Plan.UnchangedBecause).at("body.edits", nil)
		}
		if made.Plan.MassRemoval != nil && input.Body.Confirm != input.Body.Environment {
			m := made.Plan.MassRemoval
			p := newProblem(http.StatusUnprocessableEntity, fmt.Sprintf("this removes %d of %d assignments", m.Count, m.Of)).at("body.confirm", nil)
			p.Hint = "confirm it by the environment's name"
			return nil, p
		}
		return a.propose(ctx, made, input.Body.Title, input.Body.Text, "body.edits[%d]")
	})
	if err != nil {
		return nil, failed(ctx, a.counted(err))
	}
	return out, nil
}

// isCurrent is a problem, with the plan as it is now, about a commit that a branch is not at any
// more. Nothing forces it.
func isCurrent(made *propose.Made, ifMatch string) error {
	if !made.Plan.Stale {
		return nil
	}
	p := newProblem(http.StatusPreconditionFailed, fmt.Sprintf("branch %s is not at %.10s any more", made.Plan.Branch, text(made.Plan.Base))).at("header.If-Match", ifMatch)
	p.Hint = "look at the plan as it is now, which is in this answer, and propose it"
	p.Plan = &made.Plan
	return p
}

// seen is the commit that If-Match names, "" for none.
func seen(ifMatch string) string {
	commit := strings.Trim(strings.TrimPrefix(strings.TrimSpace(ifMatch), "W/"), `"`)
	if commit == "*" {
		return ""
	}
	return commit
}

// propose opens the pull request of a plan.
func (a *api) propose(ctx context.Context, made *propose.Made, title, words, edited string) (*ProposalOutput, error) {
	if workspaces := scopeOf(ctx).Workspaces; len(workspaces) > 0 {
		if i := made.Outside(workspaces); i >= 0 {
			p := newProblem(http.StatusForbidden, "this sign-in proposes registrations and scheduling policies of "+strings.Join(workspaces, ", ")+" only").at(at(edited, i), nil)
			return nil, p
		}
	}
	author, err := a.Proposals.author(ctx)
	if err != nil {
		return nil, err
	}
	proposal, created, err := a.proposer.Propose(ctx, author, made, title, words)
	if err != nil {
		return nil, ofForge(err)
	}
	requestOf(ctx).detail = fmt.Sprintf("proposal %s for %s: %s", proposal.ID, proposal.Environment, proposal.URL)
	out := &ProposalOutput{Status: http.StatusOK, Location: prefix + "/proposals/" + proposal.ID, Body: proposal}
	if created {
		out.Status = http.StatusCreated
	}
	a.metrics.proposals.WithLabelValues(map[bool]string{true: "opened", false: "repeated"}[created]).Inc()
	return out, nil
}

// ofForge says what the forge has refused: who proposes has to have it mended.
func ofForge(err error) error {
	switch {
	case errors.Is(err, propose.ErrElsewhere):
		return newProblem(http.StatusUnprocessableEntity, redact.Text(err.Error())).at("body.environment", nil)
	case errors.Is(err, gitclient.ErrDenied):
		return newProblem(http.StatusForbidden, "the forge refuses it: "+redact.Text(err.Error()))
	case errors.Is(err, forge.ErrMoved):
		p := newProblem(http.StatusPreconditionFailed, redact.Text(err.Error()))
		p.Hint = "somebody was faster: send it again"
		return p
	}
	return ofModel(err)
}

// counted counts a request that made no proposal.
func (a *api) counted(err error) error {
	result := "failed"
	if p, ok := errors.AsType[*Problem](err); ok && p.Status < http.StatusInternalServerError {
		result = "refused"
		if p.Status == http.StatusPreconditionFailed {
			result = "stale"
		}
	}
	a.metrics.proposals.WithLabelValues(result).Inc()
	return err
}

// keepTimeout is for the answer to a request with a key to be kept, though who has sent it may be gone.
const keepTimeout = 5 * time.Second

// once answers a request with a key: with the answer that it has got, or that of do, which is kept.
func (a *api) once(ctx context.Context, key string, body any, do func() (*ProposalOutput, error)) (*ProposalOutput, error) {
	q := requestOf(ctx)
	release, err := a.keys.Acquire(ctx, q.actor()+"\x00"+key)
	if err != nil {
		return nil, err
	}
	defer release()
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(sent)
	digest := hex.EncodeToString(sum[:])
	was, err := a.Store.Answer(ctx, q.actor(), key)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	case was.Digest != digest:
		p := newProblem(http.StatusUnprocessableEntity, "this Idempotency-Key was sent with another request").at("header.Idempotency-Key", nil)
		p.Hint = "take another key for another request"
		return nil, p
	default:
		out := &ProposalOutput{Status: was.Status}
		err := json.Unmarshal([]byte(was.Body), &out.Body)
		out.Location = prefix + "/proposals/" + out.Body.ID
		q.detail = "proposal " + out.Body.ID + " again, by its key"
		return out, err
	}
	out, err := do()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out.Body)
	if err != nil {
		return nil, err
	}
	// without it a request that is repeated still finds the same pull request, see propose
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err := a.Store.KeepAnswer(kept, q.actor(), key, store.Answer{Digest: digest, Status: out.Status, Body: string(text)}); err != nil {
		q.log.Warn("the answer to a request with a key cannot be kept", "error", err)
	}
	return out, nil
}

// proposalsInScope are those that a user may see.
func (a *api) proposalsInScope(ctx context.Context) ([]propose.Proposal, error) {
	all, err := propose.List(ctx, a.Proposals.Forge, a.Proposals.Key, a.Proposals.Repositories())
	if err != nil {
		return nil, ofForge(err)
	}
	names, _, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	return slices.DeleteFunc(all, func(p propose.Proposal) bool { return !slices.Contains(names, p.Environment) }), err
}

func (a *api) proposals(ctx context.Context, input *ProposalsInput, page store.Page) (store.List[propose.Proposal], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[propose.Proposal]{}, err
	}
	all, err := a.proposalsInScope(ctx)
	if err != nil {
		return store.List[propose.Proposal]{}, err
	}
	all = slices.DeleteFunc(all, func(p propose.Proposal) bool {
		return len(input.Environments) > 0 && !slices.Contains(input.Environments, p.Environment) || len(input.States) > 0 && !slices.Contains(input.States, p.State)
	})
	newest := func(p propose.Proposal) string {
		return fmt.Sprintf("%020d %s", uint64(1<<62-p.CreatedAt.UnixMilli()), p.ID)
	}
	slices.SortFunc(all, func(a, b propose.Proposal) int { return strings.Compare(newest(a), newest(b)) })
	found, err := store.PageOf(all, newest, page, "proposals", scopeOf(ctx), input.Environments, input.States)
	found.AsOf = time.Now().UTC()
	return found, err
}

func (a *api) proposal(ctx context.Context, id string) (propose.Proposal, error) {
	all, err := a.proposalsInScope(ctx)
	if err != nil {
		return propose.Proposal{}, err
	}
	if i := slices.IndexFunc(all, func(p propose.Proposal) bool { return p.ID == id }); i >= 0 {
		return all[i], nil
	}
	return propose.Proposal{}, notFound("path.id", "proposal", id, nil)
}

// closeProposal closes a pull request: one's own, or an operator any.
func (a *api) closeProposal(ctx context.Context, input *ProposalName) error {
	found, err := a.proposal(ctx, input.ID)
	if err != nil {
		return err
	}
	author, err := a.Proposals.author(ctx)
	if err != nil {
		return err
	}
	if !found.By(author) && !Role(requestOf(ctx).identity.Role).includes(Operator) {
		return newProblem(http.StatusForbidden, "the proposal is "+cmp.Or(text(found.Author), "somebody else")+"'s: only they and operators close it")
	}
	requestOf(ctx).detail = "closed " + found.URL
	if err := propose.Close(ctx, a.Proposals.Forge, found); err != nil {
		return ofForge(err)
	}
	a.metrics.proposals.WithLabelValues("closed").Inc()
	return nil
}

var proposalColumns = []column[propose.Proposal]{
	{"id", func(p propose.Proposal) string { return p.ID }},
	{"environment", func(p propose.Proposal) string { return p.Environment }},
	{"state", func(p propose.Proposal) string { return p.State }},
	{"number", func(p propose.Proposal) string { return strconv.Itoa(p.Number) }},
	{"title", func(p propose.Proposal) string { return p.Title }},
	{"author", func(p propose.Proposal) string { return p.Author }},
	{"createdAt", func(p propose.Proposal) string { return timeCell(p.CreatedAt) }},
	{"url", func(p propose.Proposal) string { return p.URL }},
}
