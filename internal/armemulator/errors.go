package armemulator

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Error is an error as ARM reports it
// (github.com/Azure/azure-resource-manager-rpc, "Error response content").
type Error struct {
	Status        int // http status
	Code, Message string
}

// Errorf makes an error with a formatted message.
func Errorf(status int, code, format string, args ...any) *Error {
	return &Error{status, code, fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) body() map[string]any { return map[string]any{"code": e.Code, "message": e.Message} }

// Write answers a request with the error.
func (e *Error) Write(w http.ResponseWriter) {
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	(&answer{status: e.Status, body: map[string]any{"error": e.body()}}).write(w)
}

func invalid(format string, args ...any) *Error {
	return Errorf(http.StatusBadRequest, "ValidationFailed", format, args...)
}

func wrongMethod(r *http.Request) *Error {
	return Errorf(http.StatusMethodNotAllowed, "MethodNotAllowed", "The method '%s' is not supported on this resource.", r.Method)
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   any // nil for none
}

func ok(body any) *answer { return &answer{status: http.StatusOK, body: body} }

// list is a list that is complete: there is no link to more.
func list[T any](all []T) *answer {
	return ok(map[string]any{"value": append([]T{}, all...)})
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
	// fails only when the caller no longer listens
	_ = json.NewEncoder(w).Encode(a.body)
}

func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return Errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err)
	}
	return nil
}
