{{- define "posthouse.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "posthouse.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "posthouse.labels" -}}
{{ include "posthouse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "posthouse.image" -}}
{{- $tag := .Values.image.tag | default (.Chart.AppVersion | replace "+" "_") }}
{{- if eq $tag "0.0.0" }}{{ fail "image.tag is empty, and this chart is not of a release: say which version to run" }}{{ end -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end }}
