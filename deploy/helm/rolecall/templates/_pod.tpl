{{/* What the pods of the API, the worker and the migration have in common. */}}
{{- define "rolecall.labels" -}}
app.kubernetes.io/name: rolecall
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rolecall.pod" -}}
automountServiceAccountToken: false
securityContext: {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
terminationGracePeriodSeconds: 40
volumes:
  - name: tmp
    emptyDir: {}
  - name: data
    {{- if .Values.files.url }}
    emptyDir: {}
    {{- else }}
    persistentVolumeClaim: {claimName: {{ .Release.Name }}-files}
    {{- end }}
{{- end }}

{{- define "rolecall.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: data, mountPath: /data}
env:
  - name: ROLECALL_DATABASE_URL
    valueFrom: {secretKeyRef: {name: {{ .Values.existingSecret }}, key: database-url}}
  - name: ROLECALL_SECRET_KEY
    valueFrom: {secretKeyRef: {name: {{ .Values.existingSecret }}, key: secret-key}}
  - {name: ROLECALL_BASE_URL, value: {{ .Values.baseUrl | quote }}}
  - {name: ROLECALL_TIMEZONE, value: {{ .Values.timezone | quote }}}
  {{- with .Values.files.url }}
  - {name: ROLECALL_FILES_URL, value: {{ . | quote }}}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
{{- end }}
