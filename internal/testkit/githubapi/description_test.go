package githubapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubapi"
)

type object = map[string]any

func label() object {
	return object{"id": 1, "node_id": "x", "url": "https://api.example/labels/bug", "name": "bug", "description": nil, "color": "ffffff", "default": false}
}

// exchange is one that is as GitHub describes it, but for what change does.
func exchange(t *testing.T, method, target string, body any, status int, answer any) githubapi.Exchange {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	x := githubapi.Exchange{Method: method, URL: u, Status: status, Header: http.Header{"Content-Type": {"application/json"}}, AnswerHeader: http.Header{"Content-Type": {"application/json; charset=utf-8"}}}
	for to, v := range map[*[]byte]any{&x.Body: body, &x.Answer: answer} {
		if v == nil {
			continue
		}
		if *to, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func load(t *testing.T) *githubapi.Description {
	t.Helper()
	d, err := githubapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAnswers(t *testing.T) {
	d := load(t)
	check := func(change func(object)) error {
		answer := label()
		change(answer)
		return d.Check(exchange(t, "GET", "/repos/o/r/labels/bug", nil, http.StatusOK, answer))
	}
	if err := check(func(object) {}); err != nil {
		t.Errorf("a whole label: %v", err)
	}
	for _, field := range slices.Sorted(maps.Keys(label())) {
		err := check(func(answer object) { delete(answer, field) })
		if err == nil || !strings.Contains(err.Error(), "'"+field+"'") {
			t.Errorf("a label without %s: %v", field, err)
		}
	}
	for name, wrong := range map[string]func(object){
		"one more field": func(answer object) { answer["hue"] = "red" },
		"null":           func(answer object) { answer["name"] = nil },
		"another type":   func(answer object) { answer["id"] = "1" },
		"no address":     func(answer object) { answer["url"] = "not one" },
	} {
		if check(wrong) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestExchanges(t *testing.T) {
	d := load(t)
	labels := []object{label()}
	refused := object{"message": "no", "documentation_url": "https://docs.example"}
	for _, test := range []struct {
		name, method, target string
		body                 any
		status               int
		answer               any
		says                 string // "" when it is as described
	}{
		{"a query", "GET", "/repos/o/r/labels?per_page=100&page=2", nil, 200, labels, ""},
		{"a parameter that is none", "GET", "/repos/o/r/labels?per=1", nil, 200, labels, "parameter per"},
		{"a number that is none", "GET", "/repos/o/r/labels?per_page=all", nil, 200, labels, "per_page"},
		{"a word that is none", "GET", "/repos/o/r/pulls?state=merged", nil, 200, []object{}, "state"},
		{"a number in the path", "GET", "/repos/o/r/issues/x/labels", nil, 200, labels, "issue_number"},
		{"a segment", "GET", "/repos/o/r/labels/kind%2Fbug", nil, 200, label(), ""},
		{"two segments", "GET", "/repos/o/r/labels/kind/bug", nil, 200, label(), "no such operation"},
		{"a parameter of segments", "DELETE", "/repos/o/r/git/refs/heads/kalypso/dev", nil, 204, nil, ""},
		{"a body", "POST", "/repos/o/r/labels", object{"name": "bug"}, 201, label(), ""},
		{"a body with more", "POST", "/repos/o/r/labels", object{"name": "bug", "hue": "red"}, 201, label(), "hue"},
		{"a body with less", "POST", "/repos/o/r/labels", object{"color": "ffffff"}, 201, label(), "name"},
		{"no body", "POST", "/repos/o/r/labels", nil, 201, label(), "lacks its body"},
		{"a body too many", "GET", "/repos/o/r/labels", object{"name": "bug"}, 200, labels, "may have none"},
		{"an answer too many", "DELETE", "/repos/o/r/labels/bug", nil, 204, label(), "has a body"},
		{"another status", "POST", "/repos/o/r/labels", object{"name": "bug"}, 200, label(), "status 200"},
		{"a refusal", "POST", "/repos/o/r/labels", object{"name": 1}, 422, refused, ""},
		{"a refusal without a reason", "POST", "/repos/o/r/labels", object{"name": 1}, 422, object{}, "message"},
		{"no operation", "GET", "/repos/o/r/tags/x/y", nil, 200, labels, "no such operation"},
		{"no operation, refused", "GET", "/repos/o/r/tags/x/y", nil, 404, refused, ""},
	} {
		err := d.Check(exchange(t, test.method, test.target, test.body, test.status, test.answer))
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.name, err, test.says)
		}
	}
}
