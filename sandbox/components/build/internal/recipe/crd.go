package recipe

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// oldVersion is the API version that the tutorials' manifests are written in.
// Flux serves it no longer. What they use of it is unchanged in its successor.
const oldVersion = "v1beta2"

// serveOldVersion adds oldVersion to a resource definition: served, not
// stored, deprecated, with the schema of the stored version. Objects are
// converted by changing their apiVersion, so a field that only the old version
// had is unknown here, as it is to the controller.
func serveOldVersion(definition []byte) ([]byte, error) {
	var crd map[string]any
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return nil, err
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	names, _ := spec["names"].(map[string]any)
	if len(versions) == 0 || names["kind"] == nil {
		return nil, errors.New("not a definition with kind and versions")
	}
	if conversion, ok := spec["conversion"].(map[string]any); ok && conversion["strategy"] != "None" {
		return nil, fmt.Errorf("conversion strategy is %v, must be None", conversion["strategy"])
	}
	var stored map[string]any
	for _, v := range versions {
		v, _ := v.(map[string]any)
		if v["name"] == oldVersion {
			if v["served"] == true {
				return definition, nil
			}
			return nil, fmt.Errorf("%s is defined, but not served", oldVersion)
		}
		if v["storage"] == true {
			stored = v
		}
	}
	if stored == nil {
		return nil, errors.New("no version is stored")
	}
	old := make(map[string]any, len(stored)+2)
	for k, v := range stored {
		old[k] = v
	}
	old["name"] = oldVersion
	old["served"] = true
	old["storage"] = false
	old["deprecated"] = true
	old["deprecationWarning"] = fmt.Sprintf("%v/%s %v is served here for old manifests only, and is gone from Flux; use %v/%v",
		spec["group"], oldVersion, names["kind"], spec["group"], stored["name"])
	spec["versions"] = append(versions, old)
	spec["conversion"] = map[string]any{"strategy": "None"}
	return yaml.Marshal(crd)
}
