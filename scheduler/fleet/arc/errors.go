package arc

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Error is a request that Azure Resource Manager has turned down, or an
// operation that has failed there.
type Error struct {
	Status  int    // http status; below 300 for an operation that was begun and failed
	Code    string // ARM's; "" when something else has answered in its place
	Message string // ARM's
	Hint    string // what to do
	err     *azcore.ResponseError
}

func (e *Error) Error() string {
	text := fmt.Sprintf("Azure says (%s) %s (http status %d)", e.Code, strings.TrimRight(e.Message, ". "), e.Status)
	if e.Status < http.StatusMultipleChoices {
		text = fmt.Sprintf("the operation has failed on Azure: (%s) %s", e.Code, strings.TrimRight(e.Message, ". "))
	}
	if e.Code == "" {
		text = fmt.Sprintf("http status %d with an answer that is not Azure's", e.Status)
	}
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Unwrap returns azcore's error.
func (e *Error) Unwrap() error { return e.err }

// NetworkError is a request without an answer.
type NetworkError struct {
	Method, Host string
	Err          error
}

func (e *NetworkError) Error() string {
	advice := "check the network and the proxies on the way; how Azure is doing is at azure.status.microsoft"
	if e.certificate() {
		advice = "a proxy may be on the way: let this machine trust its certificate (SSL_CERT_FILE)"
	}
	return fmt.Sprintf("%s %s: no answer: %v (%s)", e.Method, e.Host, e.Err, advice)
}

// Unwrap returns what has happened.
func (e *NetworkError) Unwrap() error { return e.Err }

// certificate tells whether the server was not believed to be who it says.
func (e *NetworkError) certificate() bool {
	return errors.As(e.Err, new(*tls.CertificateVerificationError))
}

// NotJSONError is an answer that says it is fine, and is not what was asked for.
type NotJSONError struct {
	Host, Type string
	Err        error
}

func (e *NotJSONError) Error() string {
	what := e.Type
	if what == "" || strings.HasPrefix(what, "application/json") {
		what = "something else"
	}
	return fmt.Sprintf("%s answers with %s instead of the JSON that was asked for: a proxy or a login page may be on the way, check HTTPS_PROXY and the endpoint", e.Host, what)
}

// Unwrap returns why it could not be read.
func (e *NotJSONError) Unwrap() error { return e.Err }

// IsNotFound tells whether ARM knows no such resource. A proxy's page about
// something that it does not find is not that.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsDenied tells whether ARM refused the credential, or there is none.
func IsDenied(err error) bool {
	var s *SignInError
	return hasStatus(err, http.StatusUnauthorized, http.StatusForbidden) || errors.As(err, &s) && s.Denied
}

func hasStatus(err error, codes ...int) bool {
	var e *Error
	if !errors.As(err, &e) || e.Code == "" {
		return false
	}
	for _, code := range codes {
		if e.Status == code {
			return true
		}
	}
	return false
}

// Message is an error without what to do about it, in Azure's own words where it
// has said something.
func Message(err error) string {
	var e *Error
	var s *SignInError
	switch {
	case errors.As(err, &e) && e.Code != "":
		return fmt.Sprintf("(%s) %s", e.Code, e.Message)
	case errors.As(err, &s):
		return "log in to Azure: " + s.Message
	}
	return err.Error()
}

// Hint is what to do about an error of Azure's, "" when that is in its text.
func Hint(err error) string {
	var e *Error
	var s *SignInError
	switch {
	case errors.As(err, &e) && e.Code != "":
		return e.Hint
	case errors.As(err, &s):
		return s.Hint
	}
	return ""
}

// failure makes an error of azcore's one of ours; others stay.
func (c *Client) failure(err error) error {
	var r *azcore.ResponseError
	if err == nil || !errors.As(err, &r) {
		return err
	}
	e := &Error{Status: r.StatusCode, err: r}
	e.Code, e.Message = told(r.RawResponse)
	if e.Code == "" {
		e.Code = r.ErrorCode
	}
	e.Hint = c.advice(e)
	return e
}

// told is ARM's code and message in an answer, the innermost ones: outer ones of
// some services say that something has gone wrong.
func told(answer *http.Response) (code, message string) {
	type part struct {
		Code, Message string
		Details       []part
	}
	var envelope struct{ Error part }
	body, err := runtime.Payload(answer)
	if err != nil || json.Unmarshal(body, &envelope) != nil {
		return "", ""
	}
	e := envelope.Error
	code, message = e.Code, e.Message
	for len(e.Details) == 1 && e.Details[0].Message != "" {
		e = e.Details[0]
		code, message = e.Code, e.Message
	}
	if code == "" {
		code = envelope.Error.Code
	}
	return code, message
}

// code is ARM's code in an answer, "" when there is none.
func code(answer *http.Response) string {
	c, _ := told(answer)
	return c
}

// codeOf is ARM's code of an error, "" when it is none of ARM's.
func codeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
