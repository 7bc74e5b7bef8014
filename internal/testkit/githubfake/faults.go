package githubfake

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
)

// Fault makes requests fail. Its zero value but for Answer hits the next API
// request.
type Fault = httpfault.Fault[Call]

// Answer is what a request gets instead of its answer.
type Answer = httpfault.Answer

// Outcome is an answer on its way out.
type Outcome = httpfault.Outcome

// Fail makes requests fail until the fault is used up. It returns what ends it.
func (s *Server) Fail(f Fault) (end func()) {
	if f.On == nil {
		f.On = func(c Call) bool { return c.API }
	}
	return s.faults.Add(f)
}

// Kinds matches requests of the API by the beginning of their kind, or of git
// by their kind.
func Kinds(kinds ...string) func(Call) bool {
	return func(c Call) bool {
		for _, k := range kinds {
			if strings.HasPrefix(c.Kind, k) {
				return true
			}
		}
		return false
	}
}

// Status answers with a status and GitHub's words.
func Status(code int, message string, header ...string) Answer {
	return httpfault.Text(code, "application/json; charset=utf-8", string(must(json.Marshal(refuse(code, message).body()))), header...)
}

// PrimaryLimit says that the budget is used up until a time (docs: using-the-
// rest-api/rate-limits-for-the-rest-api, "Exceeding the rate limit").
func PrimaryLimit(reset time.Time) Answer {
	return Status(http.StatusForbidden, "API rate limit exceeded for user ID 1.",
		"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Resource", "core",
		"X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}

// SecondaryLimit says that requests come too fast. Without seconds it does not
// say for how long.
func SecondaryLimit(seconds int) Answer {
	header := []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4000"}
	if seconds > 0 {
		header = append(header, "Retry-After", strconv.Itoa(seconds))
	}
	return Status(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", header...)
}

// GraphQL answers as the GraphQL API does where it refuses or fails: with status
// 200. Where a service behind it fails, the error has no kind.
func GraphQL(kind, message string, header ...string) Answer {
	e := object{"message": message}
	if kind != "" {
		e["type"] = kind
	}
	return httpfault.Text(http.StatusOK, "application/json; charset=utf-8",
		string(must(json.Marshal(object{"data": nil, "errors": []object{e}}))), header...)
}

// BadGateway answers as the proxies before GitHub do, not in JSON.
func BadGateway() Answer {
	return httpfault.Text(http.StatusBadGateway, "text/html", "<html><title>Unicorn!</title></html>")
}

// Reset breaks the connection without an answer.
func Reset() Answer { return httpfault.Reset() }

// Half carries the request out, answers with half of the answer and breaks the
// connection.
func Half() Answer { return httpfault.Half() }

// Slow carries the request out and lets its answer trickle for a while.
func Slow(d time.Duration) Answer { return httpfault.Slow(d) }
