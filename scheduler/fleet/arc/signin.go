package arc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// SignInError is that there is no token for Azure.
type SignInError struct {
	// Denied is whether credentials are missing or refused; else the login
	// endpoint could not be asked, which may pass.
	Denied  bool
	Message string
	Hint    string
}

// NonRetriable keeps azcore from trying again: azidentity has done so.
func (e *SignInError) NonRetriable() {}

func (e *SignInError) Error() string { return "log in to Azure: " + e.Message + ": " + e.Hint }

// attempted finds the credentials that azidentity has tried in its error: each
// has a line, further ones of it are indented more.
var attempted = regexp.MustCompile(`(?m)^\t(\w+)(?:: |[ .(])(.*)$`)

// signInError is an error of azidentity in short. Its own text is a page, with the
// whole answer of the login endpoint; nothing in it is secret.
func signInError(err error, where Cloud) error {
	tried := attempted.FindAllStringSubmatch(err.Error(), -1)
	name := "the credential"
	if len(tried) > 0 {
		name = tried[len(tried)-1][1]
	}
	var failed *azidentity.AuthenticationFailedError
	if !errors.As(err, &failed) {
		return &SignInError{Denied: true, Message: "no credential was found, tried were" + listed(tried, err), Hint: noCredential(where)}
	}
	if failed.RawResponse == nil {
		return &SignInError{Message: name + " got no answer: " + lastLine(err), Hint: "check the network and the proxies on the way to the login endpoint"}
	}
	status := failed.RawResponse.StatusCode
	text := entra(failed.RawResponse)
	if text == "" && status < http.StatusInternalServerError && strings.HasPrefix(name, "ManagedIdentity") {
		// the address is also that of other clouds, whose machines are not Azure's
		return &SignInError{
			Denied: true, Message: fmt.Sprintf("%s got http status %d from what answers on this machine in place of Azure's", name, status),
			Hint: "this machine has no managed identity: choose the credential that it has with AZURE_TOKEN_CREDENTIALS, such as AzureCLICredential or EnvironmentCredential",
		}
	}
	if status >= http.StatusInternalServerError || text == "" {
		return &SignInError{
			Message: fmt.Sprintf("%s got http status %d", name, status),
			Hint:    "the login endpoint has a problem, or a proxy answers in its place: check HTTPS_PROXY and azure.status.microsoft, and run this again",
		}
	}
	return &SignInError{Denied: true, Message: name + " was refused: " + text, Hint: refused(name, text)}
}

func listed(tried [][]string, err error) string {
	if len(tried) == 0 {
		return " all: " + lastLine(err)
	}
	var b strings.Builder
	for _, t := range tried {
		reason, _, _ := strings.Cut(t[2], " To troubleshoot, visit ")
		fmt.Fprintf(&b, "\n  %s: %s", t[1], strings.TrimRight(reason, ". "))
	}
	return b.String() + "\n"
}

func noCredential(where Cloud) string {
	login := "log in with `az login`"
	if where.CLI != "" && where.CLI != "AzureCloud" {
		login = "log in with `az cloud set --name " + where.CLI + "` and `az login`"
	}
	return login + ", use azure/login in a workflow, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and one of AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH and AZURE_FEDERATED_TOKEN_FILE"
}

// refused is what to do about a credential that Entra refuses
// (learn.microsoft.com/entra/identity-platform/reference-error-codes).
func refused(name, text string) string {
	for code, advice := range map[string]string{
		"AADSTS7000215": "AZURE_CLIENT_SECRET is wrong: make a new secret for the application",
		"AADSTS7000222": "AZURE_CLIENT_SECRET has expired: make a new secret for the application",
		"AADSTS700016":  "check AZURE_CLIENT_ID, AZURE_TENANT_ID and the cloud",
		"AADSTS90002":   "check AZURE_TENANT_ID and the cloud",
		"AADSTS700213":  "the application's federated credential must name this repository, branch or environment as its subject",
		"AADSTS70021":   "the application's federated credential must name this repository, branch or environment as its subject",
		"AADSTS700024":  "the workflow's token is no longer good: log in again just ahead of this step",
	} {
		if strings.Contains(text, code+":") {
			return advice
		}
	}
	if strings.Contains(name, "CLI") {
		return "run `az login` again"
	}
	return "check the credential in the variables AZURE_TENANT_ID, AZURE_CLIENT_ID and their like, or choose another one with AZURE_TOKEN_CREDENTIALS"
}

// entra is the description of the error in an answer of the login endpoint,
// without IDs for its makers.
func entra(answer *http.Response) string {
	var body struct {
		Description string `json:"error_description"`
		Error       any    `json:"error"`
	}
	b, err := runtime.Payload(answer)
	if err != nil || json.Unmarshal(b, &body) != nil {
		return ""
	}
	text, _, _ := strings.Cut(body.Description, " Trace ID:")
	text, _, _ = strings.Cut(text, "\r\n")
	if text == "" {
		text, _ = body.Error.(string)
	}
	return strings.TrimRight(strings.TrimSpace(text), ".")
}

func lastLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
