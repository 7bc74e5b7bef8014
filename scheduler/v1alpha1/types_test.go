package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestListsAreSorted(t *testing.T) {
	for _, list := range [][]string{Kinds(), IgnoredMetadata()} {
		if !slices.IsSorted(list) {
			t.Errorf("not sorted: %v", list)
		}
	}
}

// TestFieldNames proves that every field says how documents spell it.
func TestFieldNames(t *testing.T) {
	for _, spec := range []any{
		Metadata{}, EnvironmentSpec{}, BaseRepoSpec{}, GitOpsRepoSpec{}, ClusterTypeSpec{}, SchedulingPolicySpec{},
		DeploymentTargetSelector{}, ClusterTypeSelector{}, ConfigSchemaSpec{}, TemplateSpec{}, Manifest{},
		WorkloadRegistrationSpec{}, WorkloadSpec{}, DeploymentTarget{}, RepositoryFolder{},
		RolloutSpec{}, RolloutWave{}, RolloutWindow{},
	} {
		for field := range reflect.TypeOf(spec).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			want := strings.ToLower(field.Name[:1]) + field.Name[1:]
			if strings.ToUpper(field.Name) == field.Name { // an abbreviation
				want = strings.ToLower(field.Name)
			}
			if name != want && !field.Anonymous {
				t.Errorf("%T.%s is spelled %q", spec, field.Name, name)
			}
		}
	}
}
