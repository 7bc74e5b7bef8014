{{/* The name of an object of a part, such as kalypso-hub. Call with (list . "hub"). */}}
{{- define "kalypso.name" -}}
{{- $root := index . 0 -}}
{{- if contains "kalypso" $root.Release.Name -}}
{{ printf "%s-%s" ($root.Release.Name | trunc 50 | trimSuffix "-") (index . 1) }}
{{- else -}}
{{ printf "%s-kalypso-%s" ($root.Release.Name | trunc 42 | trimSuffix "-") (index . 1) }}
{{- end -}}
{{- end }}

{{/* What the pods of a part are selected by. */}}
{{- define "kalypso.selector" -}}
app.kubernetes.io/name: kalypso-{{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end }}

{{- define "kalypso.labels" -}}
{{ include "kalypso.selector" . }}
{{- $root := index . 0 }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: kalypso
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_") }}
{{- end }}

{{- define "kalypso.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end }}

{{/* What all pods have in common: a user without rights, where they run. */}}
{{- define "kalypso.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector:
{{ toYaml . | indent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{ toYaml . }}
{{- end }}
{{- with .Values.affinity }}
affinity:
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{- define "kalypso.container" -}}
image: {{ include "kalypso.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* The scheduler's configuration, which the hub reads, too. */}}
{{- define "kalypso.schedulerConfig" -}}
{{- $config := deepCopy .Values.scheduler.config -}}
{{- $_ := set $config "listen" "0.0.0.0:8765" -}}
{{- $_ := set $config "webhookSecretFile" "/etc/kalypso/secrets/webhook-secret" -}}
{{- if gt (int .Values.scheduler.replicas) 1 -}}
{{- $_ := set $config "leaderElection" (dict "lease" (include "kalypso.name" (list . "scheduler"))) -}}
{{- end -}}
{{ toYaml $config }}
{{- end }}
