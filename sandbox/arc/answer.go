package arc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const maxBody = 4 << 20

// armError is an error as ARM tells it.
type armError struct {
	status  int
	code    string
	message string
}

func (e *armError) Error() string { return e.code + ": " + e.message }

func errorf(status int, code, format string, args ...any) *armError {
	return &armError{status, code, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *armError {
	return errorf(http.StatusBadRequest, "ValidationFailed", format, args...)
}

func wrongMethod(r *http.Request) *armError {
	return errorf(http.StatusMethodNotAllowed, "MethodNotAllowed", "The method '%s' is not supported on this resource.", r.Method)
}

func writeError(w http.ResponseWriter, err error) {
	var e *armError
	if !errors.As(err, &e) {
		e = errorf(http.StatusInternalServerError, "InternalServerError", "%s", err)
	}
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	(&answer{status: e.status, body: map[string]any{"error": map[string]any{"code": e.code, "message": e.message}}}).write(w)
}

// answer is what a request is answered with.
type answer struct {
	status int
	header http.Header
	body   any // nil for none
}

func ok(body any) *answer { return &answer{status: http.StatusOK, body: body} }

// value is a list that is complete.
func value[T any](all []T) *answer {
	if all == nil {
		all = []T{}
	}
	return ok(map[string]any{"value": all, "nextLink": nil})
}

func (a *answer) write(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	// a caller that has gone away is nobody's problem
	_ = json.NewEncoder(w).Encode(a.body)
}

func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err)
	}
	return nil
}

// base is where the caller reached us; links in answers lead there.
func base(r *http.Request) string { return "http://" + strings.TrimSuffix(r.Host, "/") }
