package githubapi

import "fmt"

// errata are where the description is known to say less than GitHub does.
var errata = []struct {
	at     string // what is changed
	why    string
	change func(schema object)
}{
	{
		pointer("", "paths", "/repos/{owner}/{repo}/issues/{issue_number}/labels", "post", "requestBody", "content", "application/json", "schema"),
		"its words allow the list alone: You can also pass an array of labels directly",
		func(schema object) {
			schema["oneOf"] = append(schema["oneOf"].([]any), object{"type": "array", "items": object{"type": "string"}})
		},
	},
	{
		pointer("", "components", "schemas", "pull-request-simple", "properties", "labels", "items", "properties", "description"),
		"a label without a description has null there in a list, too, as the schemas label and pull-request say",
		func(schema object) { schema["nullable"] = true },
	},
	{
		pointer("", "paths", "/orgs/{org}/repos", "post", "requestBody", "content", "application/json", "schema", "properties", "visibility"),
		"internal is for the organisations of enterprises, which have a description of their own",
		func(schema object) { schema["enum"] = append(schema["enum"].([]any), "internal") },
	},
	{
		pointer("", "paths", "/app/installations/{installation_id}/access_tokens", "post", "requestBody", "content", "application/json", "schema"),
		"without options ghinstallation, which most programs in Go have their tokens from, sends null",
		func(schema object) { schema["nullable"] = true },
	},
}

// correct carries the errata out.
func (d *Description) correct() error {
	for _, e := range errata {
		schema, _ := d.follow(e.at)
		if schema == nil {
			return fmt.Errorf("there is no %s, where %s", e.at, e.why)
		}
		e.change(schema)
	}
	return nil
}
