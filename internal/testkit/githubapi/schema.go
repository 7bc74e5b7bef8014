package githubapi

import "strings"

// object is a JSON object.
type object = map[string]any

// translate makes JSON Schema of what OpenAPI 3.0 writes in another way, and
// closes objects: a property that the description does not have is refused, so
// that nothing relies on one that GitHub does not send. open are the schemas
// that others add properties to.
func translate(v any, open map[string]bool, self string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = translate(v[i], open, "")
		}
	case object:
		for key, value := range v {
			switch key {
			case "default", "enum":
			case "example", "examples", "description", "externalDocs": // nothing is held to them, and they are most of it
				delete(v, key)
			case "properties", "schemas", "responses", "parameters", "requestBodies", "headers":
				if named, ok := value.(object); ok { // its keys are names, "example" and "nullable" too
					for name := range named {
						named[name] = translate(named[name], open, name)
					}
					continue
				}
				v[key] = translate(value, open, "")
			case "allOf":
				for _, part := range value.([]any) {
					translateOpen(part.(object), open)
				}
			default:
				v[key] = translate(value, open, "")
			}
		}
		_, objects := v["properties"].(object)
		_, composed := v["allOf"]
		if _, said := v["additionalProperties"]; (objects || composed) && !said && !open[self] && !isError(v) {
			v["unevaluatedProperties"] = false
		}
		if v["nullable"] == true {
			delete(v, "nullable")
			return object{"anyOf": []any{object{"type": "null"}, v}}
		}
	}
	return v
}

// translateOpen translates a part of an allOf, which is not closed itself.
func translateOpen(part object, open map[string]bool) {
	if closed, ok := translate(part, open, "").(object); ok {
		delete(closed, "unevaluatedProperties")
	}
}

// isError reports whether a schema is one of refusals. GitHub sends more in
// them than it describes, as the status.
func isError(schema object) bool {
	properties, _ := schema["properties"].(object)
	_, message := properties["message"]
	_, page := properties["documentation_url"]
	return message && page
}

// extended returns the names of the schemas that are a part of others.
func extended(v any, found map[string]bool) map[string]bool {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			extended(one, found)
		}
	case object:
		for key, value := range v {
			if parts, ok := value.([]any); ok && key == "allOf" {
				for _, part := range parts {
					if ref, ok := part.(object)["$ref"].(string); ok {
						found[ref[strings.LastIndex(ref, "/")+1:]] = true
					}
				}
			}
			extended(value, found)
		}
	}
	return found
}
