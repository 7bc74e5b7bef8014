package arc

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Error is a request that Azure Resource Manager refused, or an operation that
// failed there.
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

// NoAnswerError is a request that Azure did not answer: nothing came, or
// something that is not JSON.
type NoAnswerError struct {
	Message string
	Err     error
}

func (e *NoAnswerError) Error() string { return e.Message }

// Unwrap returns the cause, nil for an answer that was read.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// noAnswer makes the error of a request without an answer.
func noAnswer(q *http.Request, err error) error {
	var denied *SignInError
	switch {
	case q.Context().Err() != nil:
		return context.Cause(q.Context())
	case errors.As(err, &denied):
		return denied
	}
	hint := "check the network and the proxies on the way; how Azure is doing is at azure.status.microsoft"
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		hint = "a proxy may be on the way: let this machine trust its certificate (SSL_CERT_FILE)"
	}
	err = withoutURL(err)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("none within %s: %w", tryTimeout, err)
	}
	return &NoAnswerError{fmt.Sprintf("%s %s: no answer: %v (%s)", q.Method, q.URL.Host, err, hint), err}
}

// withoutURL is an error of package http without the URL, which may be long.
func withoutURL(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// notJSON makes the error of an answer with a good status that is not what was
// asked for.
func notJSON(answer *http.Response, err error) error {
	what := answer.Header.Get("Content-Type")
	if what == "" || strings.HasPrefix(what, "application/json") {
		what = "something else"
	}
	return &NoAnswerError{fmt.Sprintf("%s answers with %s instead of the JSON that was asked for: a proxy or a login page may be on the way, check HTTPS_PROXY and the endpoint", answer.Request.URL.Host, what), err}
}

// OperationError is that Azure has not finished a write in time. The write goes
// on.
type OperationError struct {
	What  string
	After time.Duration
	Last  string // its last known state
}

func (e *OperationError) Error() string {
	return fmt.Sprintf("%s: not done after %s, and Azure goes on with it: %s", e.What, e.After.Round(time.Second), e.Last)
}

// IsNotFound is whether ARM knows no such resource. A proxy's page about
// something that it does not find is not that.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsDenied is whether ARM refused the credential, or there is none.
func IsDenied(err error) bool {
	var s *SignInError
	return hasStatus(err, http.StatusUnauthorized, http.StatusForbidden) || errors.As(err, &s) && s.Denied
}

func hasStatus(err error, codes ...int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code != "" && slices.Contains(codes, e.Status)
}

// isTransient is whether an error says nothing about what was asked for, so that
// asking again later may help.
func isTransient(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Code == "" || e.Status >= http.StatusInternalServerError
	}
	return errors.As(err, new(*NoAnswerError)) || errors.As(err, new(*LimitError))
}

// Message is an error without its hint, in Azure's own words where it is
// Azure's.
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

// Hint is what to do about an error of Azure's, "" when that is in its message.
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
	if e.Code, e.Message = errorOf(r.RawResponse); e.Code == "" {
		e.Code = r.ErrorCode
	}
	e.Hint = c.hint(e)
	return e
}

// errorOf is ARM's code and message in an answer, the innermost ones: outer ones
// of some services only say that something failed.
func errorOf(answer *http.Response) (code, message string) {
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
