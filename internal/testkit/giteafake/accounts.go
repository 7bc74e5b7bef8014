package giteafake

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// account is a user other than [User].
type account struct {
	password string
	tokens   []string
}

// AddAccount makes an account, or gives the one that is there another password.
func (s *Server) AddAccount(user, password string) {
	s.Lock()
	defer s.Unlock()
	if a := s.accounts[user]; a != nil {
		a.password = password
		return
	}
	s.accounts[user] = &account{password: password}
}

// RemoveAccount removes an account with its tokens and rights.
func (s *Server) RemoveAccount(user string) {
	s.Lock()
	defer s.Unlock()
	delete(s.accounts, user)
	s.members = slices.DeleteFunc(s.members, func(m string) bool { return m == user })
}

// AddToken makes a token for an account, as Gitea's command line does.
func (s *Server) AddToken(user string) string {
	s.Lock()
	defer s.Unlock()
	return s.addToken(user)
}

func (s *Server) addToken(user string) string {
	s.made++
	token := fmt.Sprintf("%040x", s.made)
	s.accounts[user].tokens = append(s.accounts[user].tokens, token)
	return token
}

// Revoke removes a token.
func (s *Server) Revoke(token string) {
	s.Lock()
	defer s.Unlock()
	for _, a := range s.accounts {
		a.tokens = slices.DeleteFunc(a.tokens, func(t string) bool { return t == token })
	}
}

// TokenOf is the user of a token, "" for one that is not known.
func (s *Server) TokenOf(token string) string {
	for user, a := range s.accounts {
		if slices.Contains(a.tokens, token) {
			return user
		}
	}
	return ""
}

// Members are the users that teams have.
func (s *Server) Members() []string { return slices.Sorted(slices.Values(s.members)) }

// Secrets are those of the workflows of the organisation; a test may change them.
func (s *Server) Secrets() map[string]string { return s.secrets }

func (s *Server) accountRoutes() {
	s.accounts, s.secrets = map[string]*account{}, map[string]string{}
	s.mux.HandleFunc("GET /api/v1/user", s.known(func(w http.ResponseWriter, _ *http.Request, user string) {
		answer(w, gitea.User{UserName: user})
	}))
	s.mux.HandleFunc("GET /api/v1/users/{user}", s.known(func(w http.ResponseWriter, q *http.Request, _ string) {
		if s.accounts[q.PathValue("user")] == nil {
			missing(w, q)
			return
		}
		answer(w, gitea.User{UserName: q.PathValue("user")})
	}))
	s.mux.HandleFunc("POST /api/v1/admin/users", s.known(func(w http.ResponseWriter, q *http.Request, _ string) {
		var o gitea.CreateUserOption
		_ = json.NewDecoder(q.Body).Decode(&o)
		s.accounts[o.Username] = &account{password: o.Password}
		w.WriteHeader(http.StatusCreated)
		answer(w, gitea.User{UserName: o.Username})
	}))
	s.mux.HandleFunc("POST /api/v1/users/{user}/tokens", func(w http.ResponseWriter, q *http.Request) {
		s.Lock()
		defer s.Unlock()
		user, password, _ := q.BasicAuth()
		if a := s.accounts[user]; a == nil || a.password != password || user != q.PathValue("user") {
			http.Error(w, `{"message":"invalid username, password or token"}`, http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusCreated)
		answer(w, gitea.AccessToken{Token: s.addToken(user)})
	})
	s.organisationRoutes()
}

// organisationRoutes are those that give accounts their rights and workflows their
// secrets.
func (s *Server) organisationRoutes() {
	s.mux.HandleFunc("GET /api/v1/orgs/{owner}/teams/search", s.known(func(w http.ResponseWriter, q *http.Request, _ string) {
		answer(w, map[string]any{"ok": true, "data": []gitea.Team{{ID: 1, Name: q.URL.Query().Get("q")}}})
	}))
	s.mux.HandleFunc("PUT /api/v1/teams/{id}/members/{user}", s.known(func(w http.ResponseWriter, q *http.Request, _ string) {
		if user := q.PathValue("user"); !slices.Contains(s.members, user) {
			s.members = append(s.members, user)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	s.mux.HandleFunc("GET /api/v1/orgs/{owner}/actions/secrets", s.known(func(w http.ResponseWriter, q *http.Request, _ string) {
		var list []gitea.Secret
		for _, name := range slices.Sorted(maps.Keys(s.secrets)) {
			list = append(list, gitea.Secret{Name: name})
		}
		Page(w, q, list)
	}))
	s.mux.HandleFunc("PUT /api/v1/orgs/{owner}/actions/secrets/{name}", s.known(func(w http.ResponseWriter, q *http.Request, _ string) {
		var o gitea.CreateOrUpdateSecretOption
		_ = json.NewDecoder(q.Body).Decode(&o)
		s.secrets[strings.ToUpper(q.PathValue("name"))] = o.Data
		w.WriteHeader(http.StatusCreated)
	}))
}

// known answers requests with a token of an account, or its password.
func (s *Server) known(answer func(w http.ResponseWriter, q *http.Request, user string)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		s.Lock()
		defer s.Unlock()
		_, token, _ := strings.Cut(q.Header.Get("Authorization"), " ")
		user := s.TokenOf(token)
		if name, password, ok := q.BasicAuth(); ok && s.accounts[name] != nil && s.accounts[name].password == password {
			user = name
		}
		if user == "" {
			http.Error(w, `{"message":"token is required"}`, http.StatusUnauthorized)
			return
		}
		answer(w, q, user)
	}
}
