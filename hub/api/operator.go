package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// Token is a token without its secret.
	Token struct {
		Name         string    `json:"name"`
		Role         Role      `json:"role"`
		Workspaces   []string  `json:"workspaces" doc:"Empty: all."`
		Environments []string  `json:"environments" doc:"Empty: all."`
		Expires      time.Time `json:"expires,omitzero" doc:"Absent: never."`
		Created      time.Time `json:"created,omitzero"`
		LastUsed     time.Time `json:"lastUsed,omitzero" doc:"To the minute; absent: never."`
	}
	// NewToken is a token that is to be made.
	NewToken struct {
		Name         string    `json:"name" pattern:"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$"`
		Role         Role      `json:"role"`
		Workspaces   []string  `json:"workspaces,omitempty" maxItems:"100" doc:"Empty: all."`
		Environments []string  `json:"environments,omitempty" maxItems:"100" doc:"Empty: all."`
		Expires      time.Time `json:"expires,omitzero" doc:"Absent: never."`
	}
	// CreatedToken is a token with its secret, which is shown this once.
	CreatedToken struct {
		Token
		Secret string `json:"secret" doc:"For Authorization: Bearer. It is not kept, and shown this once."`
	}
	// NewTokenInput asks for a token.
	NewTokenInput struct{ Body NewToken }
	// TokenInput names a token.
	TokenInput struct {
		Name string `path:"name"`
	}
	// AuditEntry is what somebody has done, or was refused.
	AuditEntry struct {
		At        time.Time `json:"at"`
		Actor     string    `json:"actor" doc:"The token or user, or an address where nobody was signed in."`
		Via       string    `json:"via" doc:"token, session, ticket, or the way that somebody has signed in by."`
		Action    string    `json:"action" doc:"Method and route."`
		Subject   string    `json:"subject" doc:"The path."`
		Outcome   string    `json:"outcome" enum:"done,refused,failed"`
		RequestID string    `json:"requestID" doc:"As in the hub's log, and instance of the problem."`
		Detail    string    `json:"detail"`
	}
	// AuditInput asks for the audit.
	AuditInput struct{ Paging }
)

func (a *api) operatorRoutes() {
	get(a, operation{id: "listTokens", path: "/tokens", summary: "Tokens", role: Operator}, a.tokens)
	o := operation{id: "createToken", path: "/tokens", summary: "Make a token", role: Operator, method: http.MethodPost, status: http.StatusCreated}
	huma.Register(a.huma, o.huma(), func(ctx context.Context, input *NewTokenInput) (*answer[CreatedToken], error) {
		token, err := a.createToken(ctx, input.Body)
		if err != nil {
			return nil, failed(ctx, err)
		}
		return &answer[CreatedToken]{token}, nil
	})
	change(a, operation{id: "revokeToken", path: "/tokens/{name}", summary: "End a token", role: Operator, method: http.MethodDelete}, a.revokeToken)
	list(a, operation{id: "listAudit", path: "/audit", summary: "Who has changed something or was refused, the newest first", role: Operator}, listing[*AuditInput, store.Entry, AuditEntry]{
		read: func(ctx context.Context, _ *AuditInput, page store.Page) (store.List[store.Entry], error) {
			return a.Store.AuditLog(ctx, page)
		},
		document: auditDocument, columns: auditColumns,
	})
}

func (a *api) tokens(ctx context.Context, _ *struct{}) (List[Token], error) {
	all, err := a.Store.Tokens(ctx)
	items := make([]Token, 0, len(all))
	for _, t := range all {
		items = append(items, tokenDocument(t))
	}
	return whole(items, time.Time{}), err
}

func tokenDocument(t store.Token) Token {
	return Token{
		Name: t.Name, Role: Role(t.Role), Workspaces: orEmpty(t.Scope.Workspaces), Environments: orEmpty(t.Scope.Environments),
		Expires: t.Expires, Created: t.Created, LastUsed: t.LastUsed,
	}
}

// createToken makes a token that may no more than who makes it.
func (a *api) createToken(ctx context.Context, n NewToken) (CreatedToken, error) {
	q := requestOf(ctx)
	q.detail = "token " + n.Name + " with role " + string(n.Role)
	if !Role(q.identity.Role).includes(n.Role) {
		return CreatedToken{}, newProblem(http.StatusForbidden, "a sign-in with the role "+q.identity.Role+" makes no token with the role "+string(n.Role)).at("body.role", n.Role)
	}
	if !within(q.identity.Scope.Workspaces, n.Workspaces) || !within(q.identity.Scope.Environments, n.Environments) {
		return CreatedToken{}, newProblem(http.StatusForbidden, "the token's scope is wider than that of this sign-in").at("body", nil)
	}
	if !n.Expires.IsZero() && !n.Expires.After(time.Now()) {
		return CreatedToken{}, newProblem(http.StatusUnprocessableEntity, "the token would have ended already").at("body.expires", n.Expires)
	}
	token := store.Token{Name: n.Name, Role: string(n.Role), Scope: store.Scope{Workspaces: n.Workspaces, Environments: n.Environments}, Expires: n.Expires}
	secret, err := a.Store.CreateToken(ctx, token)
	return CreatedToken{Token: tokenDocument(token), Secret: secret}, err
}

// within is whether a part of a scope is in another, where empty means all.
func within(all, some []string) bool {
	if len(all) == 0 {
		return true
	}
	return len(some) > 0 && !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

func (a *api) revokeToken(ctx context.Context, input *TokenInput) error {
	return a.Store.RevokeToken(ctx, input.Name)
}

func auditDocument(e store.Entry) AuditEntry {
	return AuditEntry{
		At: e.At, Actor: e.Actor, Via: e.Via, Action: e.Action, Subject: text(e.Subject), Outcome: e.Outcome, RequestID: e.RequestID, Detail: text(e.Detail),
	}
}

var auditColumns = []column[AuditEntry]{
	{"at", func(e AuditEntry) string { return timeCell(e.At) }},
	{"actor", func(e AuditEntry) string { return e.Actor }},
	{"via", func(e AuditEntry) string { return e.Via }},
	{"action", func(e AuditEntry) string { return e.Action }},
	{"subject", func(e AuditEntry) string { return e.Subject }},
	{"outcome", func(e AuditEntry) string { return e.Outcome }},
	{"requestID", func(e AuditEntry) string { return e.RequestID }},
	{"detail", func(e AuditEntry) string { return e.Detail }},
}
