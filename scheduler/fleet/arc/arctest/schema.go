package arctest

import (
	"fmt"
	"slices"
)

// schema is the type of a value in a request, as the specification has it
// (github.com/Azure/azure-rest-api-specs, kubernetesconfiguration,
// fluxConfigurations, stable/2025-04-01).
type schema struct {
	kind     string // string, integer, boolean, strings, object
	nullable bool
	readOnly bool
	values   []string          // of an enumeration
	fields   map[string]schema // of an object
	each     *schema           // of an object with any keys
}

// check returns what is wrong with a value, "" when nothing is.
func (s schema) check(at string, v any) string {
	if s.readOnly {
		return fmt.Sprintf("The property '%s' is read-only.", at)
	}
	if v == nil {
		if s.nullable {
			return ""
		}
		return fmt.Sprintf("Error converting value {null} to type '%s'. Path '%s'.", s.kind, at)
	}
	fine := false
	switch v := v.(type) {
	case string:
		fine = s.kind == "string" && (s.values == nil || slices.Contains(s.values, v))
	case bool:
		fine = s.kind == "boolean"
	case float64:
		fine = s.kind == "integer" && v == float64(int64(v))
	case []any:
		fine = s.kind == "strings" && !slices.ContainsFunc(v, func(one any) bool { _, text := one.(string); return !text })
	case object:
		if s.kind == "object" {
			return s.checkFields(at, v)
		}
	}
	if !fine {
		return fmt.Sprintf("Error converting value '%v' to type '%s'. Path '%s'.", v, s.kind, at)
	}
	return ""
}

func (s schema) checkFields(at string, v object) string {
	for k, one := range v {
		field, known := s.fields[k]
		if s.each != nil {
			field, known = *s.each, true
		}
		if !known {
			return fmt.Sprintf("Could not find member '%s' on object of type '%s'.", k, at)
		}
		if wrong := field.check(at+"."+k, one); wrong != "" {
			return wrong
		}
	}
	return ""
}

var (
	text   = schema{kind: "string"}
	truth  = schema{kind: "boolean"}
	number = schema{kind: "integer", nullable: true}
	shown  = schema{readOnly: true}
	list   = schema{kind: "strings", nullable: true}

	reference = schema{kind: "object", fields: map[string]schema{
		"branch": text.orNull(), "tag": text.orNull(), "semver": text.orNull(), "commit": text.orNull(),
	}}
	repository = schema{kind: "object", fields: map[string]schema{
		"url": text.orNull(), "timeoutInSeconds": number, "syncIntervalInSeconds": number, "repositoryRef": reference, "sshKnownHosts": text.orNull(),
		"httpsUser": text.orNull(), "httpsCACert": text.orNull(), "localAuthRef": text.orNull(),
		"provider": {kind: "string", nullable: true, values: []string{"Azure", "GitHub", "Generic"}},
	}}
	postBuild = schema{kind: "object", nullable: true, fields: map[string]schema{
		"substitute": {kind: "object", nullable: true, each: &text},
	}}
	settings = schema{kind: "object", nullable: true, each: &text}

	putSchema   = properties(kustomization(truth, text), true)
	patchSchema = properties(kustomization(truth.orNull(), text.orNull()), false)
)

func (s schema) orNull() schema { s.nullable = true; return s }

// kustomization has a name that is its key; Azure lets it pass when it is.
func kustomization(truth, path schema) schema {
	return schema{kind: "object", fields: map[string]schema{
		"name": text, "path": path, "dependsOn": list, "timeoutInSeconds": number, "syncIntervalInSeconds": number, "retryIntervalInSeconds": number,
		"prune": truth, "force": truth, "wait": truth, "postBuild": postBuild,
	}}
}

func properties(kustomization schema, create bool) schema {
	s := schema{kind: "object", fields: map[string]schema{
		"sourceKind": {kind: "string", values: []string{"GitRepository", "Bucket", "AzureBlob", "OCIRepository"}}, "suspend": truth, "gitRepository": repository,
		"kustomizations": {kind: "object", nullable: true, each: &kustomization}, "configurationProtectedSettings": settings,
		"statuses": shown, "repositoryPublicKey": shown, "sourceSyncedCommitId": shown, "sourceUpdatedAt": shown, "statusUpdatedAt": shown,
		"complianceState": shown, "provisioningState": shown, "errorMessage": shown,
	}}
	if create {
		s.fields["scope"], s.fields["namespace"] = schema{kind: "string", values: []string{"cluster", "namespace"}}, text
	}
	return s
}
