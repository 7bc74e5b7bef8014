package armfake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
)

// login has the accounts, and issues their tokens.
type login struct {
	mu      sync.Mutex
	secrets map[string]string // of applications, by ID
	tokens  map[string]*token
}

func (s *login) init() { s.secrets, s.tokens = map[string]string{}, map[string]*token{} }

// token is an access token that was issued.
type token struct {
	audience string
	expires  time.Time
}

// Managed is the application of the managed identity that the server's plain
// endpoint is of, once it was given to App.
const Managed = "managed-identity"

// App makes an application with a secret.
func (s *Server) App(id, secret string) {
	s.login.mu.Lock()
	defer s.login.mu.Unlock()
	s.login.secrets[id] = secret
}

// Token issues a token as the Azure CLI would get it.
func (s *Server) Token(app, audience string) string {
	s.login.mu.Lock()
	defer s.login.mu.Unlock()
	return s.login.issue(app, audience, Tenant)
}

// issue makes a token that looks like Entra's (docs: entra/identity-platform/
// access-token-claims-reference); nobody but its maker can check its signature.
func (s *login) issue(app, audience, tenant string) string {
	claims := map[string]any{"aud": audience, "tid": tenant, "appid": app, "jti": len(s.tokens)}
	if app == Managed {
		claims["xms_mirid"] = "/subscriptions/x/resourcegroups/ci/providers/Microsoft.ManagedIdentity/userAssignedIdentities/runner"
	}
	text := encoded(map[string]any{"alg": "RS256", "typ": "JWT"}) + "." + encoded(claims) + ".c2lnbmVk"
	s.tokens[text] = &token{strings.TrimRight(audience, "/"), time.Now().Add(time.Hour)}
	return text
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("armfake: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// login serves Entra (docs: entra/identity-platform/v2-oauth2-client-creds-grant-flow)
// and the endpoint of managed identities (docs: entra/identity/managed-identities-
// azure-resources/how-to-use-vm-token).
func (s *login) serve(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := "https://" + q.Host
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	switch {
	case q.URL.Path == "/metadata/identity/oauth2/token":
		s.managed(w, q)
	case strings.HasSuffix(q.URL.Path, "/discovery/instance"):
		write(w, http.StatusOK, map[string]any{
			"tenant_discovery_endpoint": base + "/" + Tenant + "/v2.0/.well-known/openid-configuration",
			"metadata":                  []any{map[string]any{"preferred_network": q.Host, "preferred_cache": q.Host, "aliases": []string{q.Host}}},
		})
	case strings.HasSuffix(q.URL.Path, "/.well-known/openid-configuration"):
		write(w, http.StatusOK, map[string]any{
			"authorization_endpoint": base + "/" + parts[0] + "/oauth2/v2.0/authorize", "token_endpoint": base + "/" + parts[0] + "/oauth2/v2.0/token",
			"issuer": base + "/" + parts[0] + "/v2.0",
		})
	case strings.HasSuffix(q.URL.Path, "/oauth2/v2.0/token"):
		s.exchange(w, q, parts[0])
	default:
		http.NotFound(w, q)
	}
}

func (s *login) exchange(w http.ResponseWriter, q *http.Request, tenant string) {
	if err := q.ParseForm(); err != nil {
		denied(w, "invalid_request", "AADSTS900144: The request body is invalid.")
		return
	}
	app := q.Form.Get("client_id")
	secret, known := s.secrets[app]
	scope := slices.DeleteFunc(strings.Fields(q.Form.Get("scope")), func(w string) bool { return !strings.HasSuffix(w, "/.default") })
	assertion := q.Form.Get("client_assertion")
	switch {
	case tenant != Tenant:
		denied(w, "invalid_request", fmt.Sprintf("AADSTS90002: Tenant '%s' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud.", tenant))
	case !known:
		denied(w, "unauthorized_client", fmt.Sprintf("AADSTS700016: Application with identifier '%s' was not found in the directory '%s'.", app, tenant))
	case assertion != "" && assertion != "assertion of "+app:
		denied(w, "invalid_client", "AADSTS700213: No matching federated identity record found for presented assertion subject.")
	case assertion == "" && q.Form.Get("client_secret") != secret:
		denied(w, "invalid_client", fmt.Sprintf("AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '%s'.", app))
	case len(scope) != 1:
		denied(w, "invalid_scope", "AADSTS70011: The provided value for the input parameter 'scope' is not valid.")
	default:
		audience := strings.TrimSuffix(scope[0], "/.default")
		write(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": s.issue(app, audience, tenant)})
	}
}

func (s *login) managed(w http.ResponseWriter, q *http.Request) {
	_, there := s.secrets[Managed]
	resource, err := url.QueryUnescape(q.URL.Query().Get("resource"))
	if q.Header.Get("Metadata") != "true" || err != nil || !there {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": "Identity not found"})
		return
	}
	write(w, http.StatusOK, map[string]any{
		"access_token": s.issue(Managed, resource, Tenant), "expires_on": fmt.Sprint(time.Now().Add(time.Hour).Unix()), "resource": resource, "token_type": "Bearer",
	})
}

// denied is how Entra refuses.
func denied(w http.ResponseWriter, code, description string) {
	write(w, http.StatusUnauthorized, map[string]any{
		"error": code, "error_description": description + " Trace ID: 6d0f Correlation ID: 1f2a Timestamp: 2026-01-02 03:04:05Z",
	})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to a recorder
}

// audiences are whom tokens for a cloud are made out to, by the host of its
// Resource Manager.
var audiences = map[string][]string{
	"management.azure.com":         {"https://management.core.windows.net", "https://management.azure.com"},
	"management.usgovcloudapi.net": {"https://management.core.usgovcloudapi.net", "https://management.usgovcloudapi.net"},
	"management.chinacloudapi.cn":  {"https://management.core.chinacloudapi.cn", "https://management.chinacloudapi.cn"},
}

// authorize refuses a request without a token for its host.
func (s *login) authorize(q *http.Request) *armemulator.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return armemulator.Errorf(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	t := s.tokens[text]
	wanted, cloud := audiences[strings.ToLower(q.Host)]
	if !cloud {
		wanted = []string{"https://" + q.Host}
	}
	switch {
	case t == nil:
		return armemulator.Errorf(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	case t.expires.Before(time.Now()):
		return armemulator.Errorf(http.StatusUnauthorized, "ExpiredAuthenticationToken", "The access token expiry UTC time is earlier than current UTC time.")
	case !slices.Contains(wanted, t.audience):
		return armemulator.Errorf(http.StatusUnauthorized, "InvalidAuthenticationTokenAudience",
			"The access token has been obtained for wrong audience or resource '%s'. It should exactly match with one of the allowed audiences '%s'.", t.audience, strings.Join(wanted, "','"))
	}
	return nil
}

// What the application of StartSignedIn signs in with, and its subscription.
const (
	App          = "11111111-0000-4000-8000-000000000001"
	Secret       = "s3cr3t-of-the-application"
	Subscription = "aaaaaaaa-0000-4000-8000-00000000000e"
)

// StartSignedIn starts an Azure with one cluster, and sets the variables with
// which an application signs in that may do all in its subscription.
func StartSignedIn(t *testing.T) (*Server, armapi.Cluster) {
	t.Helper()
	for name, value := range map[string]string{
		"AZURE_TENANT_ID": Tenant, "AZURE_CLIENT_ID": App, "AZURE_CLIENT_SECRET": Secret,
		"AZURE_CONFIG_DIR": t.TempDir(), "AZURE_SUBSCRIPTION_ID": Subscription, "KALYPSO_HOME": t.TempDir(),
		"AZURE_AUTHORITY_HOST": "", "AZURE_CLIENT_CERTIFICATE_PATH": "", "AZURE_FEDERATED_TOKEN_FILE": "", "KALYPSO_ARM_CLOUD": "", "AZURE_CLOUD_NAME": "",
	} {
		t.Setenv(name, value)
	}
	s := Start(t, Subscription)
	s.App(App, Secret)
	return s, s.Cluster(Subscription, "fleet", "drone")
}
