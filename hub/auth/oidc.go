package auth

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// OIDC is a provider of OpenID Connect.
type OIDC struct {
	Issuer      string // its URL
	ClientID    string
	Secret      string   // "" for a public client
	GroupsClaim string   // groups when empty
	Scopes      []string // besides openid; profile and email when empty
	Title       string   // of its button

	discovery  singleflight.Group
	discovered atomic.Pointer[oidc.Provider] // nil before the provider has been reached
}

// Way is how users sign in with it.
func (o *OIDC) Way() Way {
	return Way{Name: "oidc", Title: cmp.Or(o.Title, "single sign-on"), provider: o}
}

// provider asks the provider for its endpoints, until it has answered. All who wait for that wait for
// one answer: one after the other they would wait for long.
func (o *OIDC) provider(ctx context.Context) (*oidc.Provider, error) {
	if found := o.discovered.Load(); found != nil {
		return found, nil
	}
	asked := o.discovery.DoChan("", func() (any, error) {
		// its keys are fetched later, with this context: a request's would have ended
		client, _ := ctx.Value(oauth2.HTTPClient).(*http.Client)
		found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), o.Issuer)
		if err == nil {
			o.discovered.Store(found)
		}
		return found, err
	})
	select {
	case answer := <-asked:
		if answer.Err != nil {
			return nil, fmt.Errorf("the OpenID provider %s %w: %w", o.Issuer, ErrUnavailable, answer.Err)
		}
		return answer.Val.(*oidc.Provider), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the OpenID provider %s %w: %w", o.Issuer, ErrUnavailable, context.Cause(ctx))
	}
}

func (o *OIDC) client(ctx context.Context) (*oauth2.Config, error) {
	p, err := o.provider(ctx)
	if err != nil {
		return nil, err
	}
	scopes := o.Scopes
	if len(scopes) == 0 {
		scopes = []string{"profile", "email"}
	}
	return &oauth2.Config{ClientID: o.ClientID, ClientSecret: o.Secret, Endpoint: p.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID}, scopes...)}, nil
}

func (o *OIDC) lasts(token *oauth2.Token) bool { return token.RefreshToken != "" }

func (o *OIDC) user(ctx context.Context, token *oauth2.Token, nonce string) (User, error) {
	p, err := o.provider(ctx)
	if err != nil {
		return User{}, err
	}
	claims := map[string]any{}
	// an answer to a refresh token needs none
	if signed, ok := token.Extra("id_token").(string); ok || nonce != "" {
		id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: o.ClientID}).Verify(ctx, signed)
		if err != nil {
			return User{}, fmt.Errorf("%w: the ID token of %s is not valid: %w", ErrRefused, o.Issuer, err)
		}
		if nonce != "" && id.Nonce != nonce {
			return User{}, fmt.Errorf("%w: the ID token of %s is of another sign-in", ErrRefused, o.Issuer)
		}
		if err := id.Claims(&claims); err != nil {
			return User{}, fmt.Errorf("%w: the claims of %s cannot be read: %w", ErrRefused, o.Issuer, err)
		}
	}
	groups := cmp.Or(o.GroupsClaim, "groups")
	_, hasGroups := claims[groups]
	_, hasEmail := claims["email"]
	if !(hasGroups && hasEmail) && p.UserInfoEndpoint() != "" {
		if err := o.ask(ctx, p, token, claims); err != nil {
			return User{}, err
		}
	}
	subject := text(claims["sub"])
	if subject == "" {
		return User{}, fmt.Errorf("%w: %s has not said who it is", ErrRefused, o.Issuer)
	}
	email := ""
	if verified := claims["email_verified"]; verified == true || verified == "true" {
		email = text(claims["email"])
	}
	return User{
		Name: cmp.Or(email, text(claims["preferred_username"]), subject), Login: cmp.Or(email, subject), Groups: texts(claims[groups]),
	}, nil
}

// ask adds the claims that the provider has at its UserInfo endpoint. Those that are signed stand.
func (o *OIDC) ask(ctx context.Context, p *oidc.Provider, token *oauth2.Token, claims map[string]any) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("the OpenID provider %s %w: %w", o.Issuer, ErrUnavailable, err)
	}
	if signed := text(claims["sub"]); signed != "" && info.Subject != signed {
		return fmt.Errorf("%w: %s has said at its UserInfo endpoint that it is somebody else", ErrRefused, o.Issuer)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("the OpenID provider %s %w: %w", o.Issuer, ErrUnavailable, err)
	}
	for name, value := range more {
		if _, ok := claims[name]; !ok {
			claims[name] = value
		}
	}
	return nil
}

func text(claim any) string {
	s, _ := claim.(string)
	return s
}

// texts are those of a claim that is a list, or one text.
func texts(claim any) []string {
	all := []string{}
	switch c := claim.(type) {
	case string:
		all = append(all, c)
	case []any:
		for _, one := range c {
			if s := text(one); s != "" {
				all = append(all, s)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
