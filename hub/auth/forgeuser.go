package auth

import "context"

type forgeUserKey struct{}

// forgeUser is who acts at the forge.
type forgeUser struct {
	token func() (string, error)
	login string
}

// UserForge is the token and the account of who has signed in by the forge, for what is done there
// as that user. ok is false for everybody else, and where the token cannot be had any more.
func UserForge(ctx context.Context) (token, login string, ok bool) {
	who, ok := ctx.Value(forgeUserKey{}).(forgeUser)
	if !ok {
		return "", "", false
	}
	token, err := who.token()
	return token, who.login, err == nil && token != ""
}
