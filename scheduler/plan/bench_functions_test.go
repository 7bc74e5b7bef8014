package plan_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// functionTemplates are templates that call functions with each of the data.
var functionTemplates = map[string]string{
	"default": `kind: Template
metadata: {name: default}
spec:
  type: namespace
  manifests:
    - |
      {{- $name := printf "%s-%s" .Environment .Namespace | lower | trunc 63 | trimSuffix "-" }}
      apiVersion: v1
      kind: Namespace
      metadata:
        name: {{ $name }}
        labels:
          environment: {{ .Environment | upper | quote }}
          workspace: {{ .Workspace | title }}
          workload: {{ .Workload | replace "-" "_" }}
          clusterType: {{ .ClusterType | trimPrefix "type-" | quote }}
          deploymentTarget: {{ .DeploymentTargetName | trunc 20 | trimSuffix "-" }}
          {{- if hasPrefix "g" .Labels.group }}
          group: {{ .Labels.group | upper }}
          {{- end }}
        annotations:
          hash: {{ .Namespace | sha256sum | trunc 8 | quote }}
          length: {{ len $name | quote }}
`,
	"configmap": `kind: Template
metadata: {name: configmap}
spec:
  type: config
  manifests:
    - |
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: {{ printf "platform-config-%s" (.Namespace | sha256sum | trunc 8) }}
        namespace: {{ .Namespace | lower }}
        labels:
          region: {{ .ConfigData.REGION | default "none" | upper }}
          level: {{ if eq .ConfigData.LOG_LEVEL "info" }}quiet{{ else }}loud{{ end }}
      {{- if .ConfigData }}
      data:
      {{ stringify .ConfigData | indent 2 }}
      {{- end }}
`,
	"flux": strings.NewReplacer(
		`{{ .Environment }}.{{ .Workload }}.{{ .DeploymentTargetName }}`, `{{ printf "%s.%s" .Environment (.DeploymentTargetName | trimSuffix "-test") }}`,
		`"{{ .Manifests.repo }}"`, `{{ .Manifests.repo | trimSuffix ".git" | quote }}`,
		`"{{ .Manifests.path }}"`, `{{ printf "%s/%s" (.Manifests.path | trimPrefix "./") .ClusterType | quote }}`,
		`"{{ .Namespace }}"`, `{{ .Namespace | replace "." "-" }}`,
	).Replace(fleetTemplates["flux"]),
}

// BenchmarkFunctions plans the largest fleet for the first time with templates
// that call functions with all of their data.
func BenchmarkFunctions(b *testing.B) {
	f := fleets[len(fleets)-1]
	repos := fleet(f.clusterTypes, f.targets, f.policies)
	for name, text := range functionTemplates {
		repos.Write("control", "main", "templates/"+name+".yaml", []byte(head+text))
	}
	env, err := model.LoadEnvironment(b.Context(), repos, "dev", fleetBranch)
	if err != nil {
		b.Fatal(err)
	}
	assignments := f.clusterTypes * f.targets / f.policies
	runtime.GC()
	resetPeak(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		expected(b, newPlan(b, env, nil), assignments, 3*assignments+f.clusterTypes)
	}
	b.StopTimer()
	if peak := peakMemory(b); peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	}
}

// resetPeak makes the system measure the peak of this process's memory anew, where
// it can.
func resetPeak(b *testing.B) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Logf("the peak is that since the beginning: %v", err)
	}
}

// peakMemory returns the most memory that this process has had, in bytes, 0 where
// the system does not say.
func peakMemory(b *testing.B) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib << 10
		}
	}
	return 0
}
