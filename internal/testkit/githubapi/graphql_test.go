package githubapi_test

import (
	"net/http"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubapi"
)

func TestGraphQL(t *testing.T) {
	const (
		mutation = `mutation($id:ID!){done:convertPullRequestToDraft(input:{pullRequestId:$id}){pullRequest{isDraft}}}`
		state    = `query($id:ID!){node(id:$id){id}rateLimit{cost}}`
	)
	id := object{"id": "PR_1"}
	done := func(pull any) object { return object{"data": object{"done": pull}} }
	for name, test := range map[string]struct {
		query     string
		variables object
		answer    object
		right     bool
	}{
		"right":                      {mutation, id, done(object{"pullRequest": object{"isDraft": true}}), true},
		"null where it may be":       {mutation, id, done(object{"pullRequest": nil}), true},
		"refused":                    {mutation, id, object{"data": nil, "errors": []object{{"type": "FORBIDDEN", "message": "no"}}}, true},
		"error without a message":    {mutation, id, object{"data": nil, "errors": []object{{"type": "FORBIDDEN"}}}, false},
		"no such mutation":           {`mutation($id:ID!){done:convert(input:{id:$id}){id}}`, id, done(nil), false},
		"no such input":              {`mutation($id:ID!){done:convertPullRequestToDraft(input:{id:$id}){pullRequest{isDraft}}}`, id, done(nil), false},
		"variable is missing":        {mutation, nil, done(nil), false},
		"field is missing":           {mutation, id, done(object{"pullRequest": object{}}), false},
		"field was not asked for":    {mutation, id, done(object{"pullRequest": object{"isDraft": true, "title": "x"}}), false},
		"null where it may not be":   {mutation, id, done(object{"pullRequest": object{"isDraft": nil}}), false},
		"of another type":            {mutation, id, done(object{"pullRequest": object{"isDraft": "true"}}), false},
		"neither data nor an error":  {mutation, id, object{}, false},
		"two fields, one is missing": {state, id, object{"data": object{"node": nil}}, false},
		"two fields":                 {state, id, object{"data": object{"node": nil, "rateLimit": object{"cost": 1}}}, true},
	} {
		body := object{"query": test.query, "variables": test.variables}
		err := githubapi.CheckGraphQL(exchange(t, "POST", "/graphql", body, http.StatusOK, test.answer))
		if (err == nil) != test.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}
