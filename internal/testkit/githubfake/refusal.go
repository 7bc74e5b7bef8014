package githubfake

import (
	"net/http"
	"strconv"
)

type object = map[string]any

// refusal is an answer that says no (docs: using-the-rest-api/
// troubleshooting-the-rest-api).
type refusal struct {
	status  int
	message string
	details []object
	header  http.Header
}

func (r *refusal) Error() string { return r.message }

func (r *refusal) body() object {
	b := object{"message": r.message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(r.status)}
	if len(r.details) > 0 {
		b["errors"] = r.details
	}
	return b
}

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

func notFound() *refusal { return refuse(http.StatusNotFound, "Not Found") }

// invalid is a 422 that names a field, with one of the codes of the docs.
func invalid(resource, field, code string) *refusal {
	r := refuse(http.StatusUnprocessableEntity, "Validation Failed")
	r.details = []object{{"resource": resource, "field": field, "code": code}}
	return r
}

// custom is a 422 in words.
func custom(resource, field, message string) *refusal {
	r := invalid(resource, field, "custom")
	r.details[0]["message"] = message
	if field == "" {
		delete(r.details[0], "field")
	}
	return r
}

// unprocessable is a 422 without details, as the Git data API has them.
func unprocessable(message string) *refusal {
	return refuse(http.StatusUnprocessableEntity, message)
}

// emptyRepository is the Git data API's answer before the first commit
// (github.com/github/rest-api-description issue 637).
func emptyRepository() *refusal {
	return refuse(http.StatusConflict, "Git Repository is empty.")
}

// created, accepted and nothing are answers other than 200; answered is one
// with a header.
type (
	answered struct {
		body   any
		header http.Header
	}
	created struct{ body any }
	nothing struct{}
	raw     struct {
		kind string
		data []byte
	}
)
