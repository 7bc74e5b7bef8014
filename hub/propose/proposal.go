package propose

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// branchPrefix begins the branches of proposals. No environment has one of its names.
const branchPrefix = forge.BranchPrefix + "_proposal/"

// Proposal is a pull request with edits of the platform model.
type Proposal struct {
	ID          string    `json:"id" doc:"Of repository, branch and edits: the same edits are the same proposal."`
	Environment string    `json:"environment"`
	State       string    `json:"state" enum:"open,merged,closed"`
	Number      int       `json:"number" doc:"Of the pull request."`
	URL         string    `json:"url" doc:"Of the pull request, for a browser."`
	Title       string    `json:"title"`
	Text        string    `json:"text" doc:"What its author has written about it."`
	Author      string    `json:"author" doc:"Who has proposed it; the pull request may be the hub's. Empty where its text was edited so that this is not known any more."`
	CreatedAt   time.Time `json:"createdAt,omitzero"`
	MergedAt    time.Time `json:"mergedAt,omitzero"`
	Repository  string    `json:"repository" doc:"URL of the repository that it edits."`
	Branch      string    `json:"branch" doc:"That has the edits."`
	Base        string    `json:"base" doc:"The branch that it goes to."`
	FourEyes    bool      `json:"fourEyes" doc:"The hub has opened it for its author: it waits until somebody else has approved."`

	commit string // of its branch
	id     string // of its author
}

// By is whether somebody is the author of a proposal.
func (p Proposal) By(a Author) bool { return p.id != "" && p.id == a.id() }

// Author is who proposes.
type Author struct {
	Name string // as the hub knows them, and as others are shown
	// ID tells them from others of the same name; Name does where it is empty.
	ID string
	// Forge is where the pull request is opened. Own says that it is opened as the author, whom the
	// forge knows, and else that it is the hub's.
	Forge controller.Repositories
	Own   bool
}

func (a Author) id() string { return cmp.Or(a.ID, a.Name) }

// Proposer opens pull requests. The zero Proposer is ready, and several goroutines may use it.
type Proposer struct {
	Key  Key // signs whose they are
	busy KeyLock
}

// ErrElsewhere is wrapped by errors about a repository that is not on the forge.
var ErrElsewhere = errors.New("the repository is not on the hub's forge")

// ID identifies the proposal that a plan's edits are.
func (m *Made) ID() string {
	text, err := json.Marshal(struct {
		Repo, Branch string
		Edits        []edit.Edit
	}{redact.URL(m.site.ref.Repo), m.site.ref.Branch, m.Edits})
	if err != nil {
		panic(err) // strings always can be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}

// Propose opens the pull request of a plan's edits, or brings the one that is open to the branch
// as it is now. created says that there was none. What was cut off goes on.
func (p *Proposer) Propose(ctx context.Context, author Author, m *Made, title, text string) (proposal Proposal, created bool, err error) {
	id := m.ID()
	release, err := p.busy.Acquire(ctx, id)
	if err != nil {
		return Proposal{}, false, err
	}
	defer release()
	f := author.Forge
	repo, ok := f.Repo(m.site.ref.Repo)
	if !ok {
		return Proposal{}, false, fmt.Errorf("%s: %w", redact.URL(m.site.ref.Repo), ErrElsewhere)
	}
	head, base := branchPrefix+id, m.site.ref.Branch
	list, err := f.PullRequests(ctx, repo, head, base)
	if err != nil {
		return Proposal{}, false, err
	}
	created = true
	fresh := marker{environment: m.Environment.Name, author: author.Name, id: author.id(), text: text, own: author.Own, at: time.Now().Unix()}
	mark := p.Key.sign(fresh, repo, forge.PullRequest{Head: head, Base: base})
	title = markdown.Title(title)
	for _, pr := range list {
		if pr.State == forge.Open { // it stays with the words of who was first
			created, title, mark = false, pr.Title, p.Key.again(repo, pr, author, fresh)
		}
	}
	result, commit, err := publish.ApplyFiles(ctx, f, repo, publish.Files{
		Base: m.site.head, Changes: changes(m.site.head, m.site.changed), Now: time.Now(),
		PullRequest: forge.PullRequest{Title: title, Body: body(m.Plan, mark), Head: head, Base: base},
	})
	if err != nil {
		return Proposal{}, false, err
	}
	proposal = document(m.site.ref.Repo, *result.PullRequest, mark)
	if proposal.CreatedAt.IsZero() {
		proposal.CreatedAt = time.Now().UTC().Truncate(time.Second)
	}
	if !mark.own {
		proposal.commit = commit
		proposal.FourEyes, err = fourEyes(ctx, f, repo, *result.PullRequest, mark, commit)
	}
	return proposal, created, err
}

// List are the proposals among the newest pull requests of repositories, given by their clone
// URLs, the newest first. The account is the hub's, and the key that of its proposals.
func List(ctx context.Context, f controller.Repositories, key Key, repositories []string) ([]Proposal, error) {
	all := []Proposal{}
	for _, cloneURL := range repositories {
		repo, ok := f.Repo(cloneURL)
		if !ok {
			continue
		}
		list, err := f.LatestPullRequests(ctx, repo)
		if err != nil {
			return nil, err
		}
		for _, pr := range list {
			m := key.marker(repo, pr)
			if !strings.HasPrefix(pr.Head, branchPrefix) || m.environment == "" {
				continue
			}
			one := document(cloneURL, pr, m)
			if one.FourEyes, err = waits(ctx, f, repo, pr, m); err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// Close closes the pull request of a proposal, and removes its branch.
func Close(ctx context.Context, f controller.Repositories, p Proposal) error {
	repo, ok := f.Repo(p.Repository)
	if !ok {
		return fmt.Errorf("%s: %w", p.Repository, ErrElsewhere)
	}
	list, err := f.PullRequests(ctx, repo, p.Branch, p.Base)
	if err != nil {
		return err
	}
	for _, pr := range list {
		if pr.State != forge.Open {
			continue
		}
		pr.State = forge.Closed
		if _, err := f.SavePullRequest(ctx, repo, pr); err != nil {
			return err
		}
	}
	return f.DeleteBranch(ctx, repo, p.Branch)
}

// document is a pull request as a proposal.
func document(cloneURL string, pr forge.PullRequest, m marker) Proposal {
	return Proposal{
		ID: strings.TrimPrefix(pr.Head, branchPrefix), Environment: m.environment, State: string(pr.State), Number: pr.Number, URL: pr.URL, Title: pr.Title, Text: m.text,
		Author: m.author, CreatedAt: pr.Created, MergedAt: pr.Merged, Repository: redact.URL(cloneURL), Branch: pr.Head, Base: pr.Base, commit: pr.HeadCommit, id: m.id,
	}
}

// maxRows is how many assignments the text of a pull request lists.
const maxRows = 100

// body is the text of a proposal's pull request.
func body(p Plan, m marker) string {
	var b strings.Builder
	for line := range strings.Lines(m.text) {
		b.WriteString(markdown.Text(line) + "\n")
	}
	if m.text != "" {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "On environment %s it comes to: %s.\n", markdown.Code(p.Environment), p.Summary)
	if p.UnchangedBecause != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown.Text(p.UnchangedBecause))
	}
	rows := 0
	for _, part := range []struct {
		mark string
		list []Assignment
	}{{"+", p.Assignments.Gained}, {"−", p.Assignments.Lost}, {"~", p.Assignments.Changed}} {
		for _, a := range part.list {
			if rows++; rows > maxRows {
				break
			}
			if rows == 1 {
				b.WriteString("\n| | cluster type | deployment target | clusters | policies |\n| --- | --- | --- | --- | --- |\n")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", part.mark, markdown.Cell(a.ClusterType), markdown.Cell(a.Target), a.ClusterCount, markdown.Cell(strings.Join(a.Policies, ", ")))
		}
	}
	if more := p.Assignments.GainedCount + p.Assignments.LostCount + p.Assignments.ChangedCount - maxRows; more > 0 {
		fmt.Fprintf(&b, "\nand %d more assignments.\n", more)
	}
	for _, f := range p.Findings {
		if f.New && f.Severity != "note" {
			fmt.Fprintf(&b, "\n- %s: %s: %s", markdown.Code(f.Place), f.Severity, markdown.Text(f.Message))
		}
	}
	if len(p.PolicyTests.Failed) > 0 {
		fmt.Fprintf(&b, "\n\n%d policy tests fail.\n", len(p.PolicyTests.Failed))
	}
	if !m.own {
		fmt.Fprintf(&b, "\n\nProposed-by: %s\n", markdown.Code(m.author))
	}
	return b.String() + "\n" + m.String()
}
