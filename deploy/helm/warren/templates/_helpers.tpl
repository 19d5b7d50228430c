{{- /* Names. They are those of bitnami/zookeeper, so that a release is upgraded in place and clients find it. */ -}}

{{- define "warren.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "warren.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $release := regexReplaceAll "(-?[^a-z\\d\\-])+-?" (lower .Release.Name) "-" -}}
{{- $full := ternary $release (printf "%s-%s" $release $name) (contains $name $release) -}}
{{ .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "warren.headless" -}}
{{ printf "%s-%s" (include "warren.fullname" .) (.Values.service.headless.servicenameOverride | default "headless")
    | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "warren.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end -}}

{{- define "warren.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "warren.fullname" .) "default"
    .Values.serviceAccount.create) }}
{{- end -}}

{{- /* A value as YAML, in which templates count: dict "value" "context". */ -}}
{{- define "warren.render" -}}
{{- $text := .value -}}
{{- if not (kindIs "string" .value) -}}{{- $text = toYaml .value -}}{{- end -}}
{{- if contains "{{" $text -}}{{ tpl $text .context }}{{- else -}}{{ $text }}{{- end -}}
{{- end -}}

{{- /* Several maps as one, of which the first has precedence: dict "maps" "context". */ -}}
{{- define "warren.merged" -}}
{{- $all := dict -}}
{{- range .maps -}}
{{- $all = merge $all (include "warren.render" (dict "value" (. | default dict) "context" $.context) | fromYaml) -}}
{{- end -}}
{{ toYaml $all }}
{{- end -}}

{{- /* Labels of an object, without its component: dict "extra" "context". */ -}}
{{- define "warren.labels" -}}
{{- $c := .context -}}
{{- $chart := printf "%s-%s" $c.Chart.Name $c.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- $own := dict "app.kubernetes.io/name" (include "warren.name" $c) "app.kubernetes.io/instance" $c.Release.Name
  "app.kubernetes.io/managed-by" $c.Release.Service "app.kubernetes.io/version" $c.Chart.AppVersion "helm.sh/chart" $chart -}}
{{ include "warren.merged" (dict "maps" (list .extra $own) "context" $c) }}
{{- end -}}

{{- /* Labels that select: dict "extra" "context". Of the extra labels only those two count: a selector cannot be
    changed. */ -}}
{{- define "warren.selector" -}}
{{- $c := .context -}}
{{- $own := dict "app.kubernetes.io/name" (include "warren.name" $c) "app.kubernetes.io/instance" $c.Release.Name -}}
{{- $extra := include "warren.render" (dict "value" (.extra | default dict) "context" $c) | fromYaml -}}
{{ toYaml (merge (pick $extra "app.kubernetes.io/name" "app.kubernetes.io/instance") $own) }}
{{- end -}}

{{- /* Labels of the pods, without those of the chart. */ -}}
{{- define "warren.podLabels" -}}
{{ include "warren.merged" (dict "maps" (list .Values.podLabels .Values.commonLabels) "context" .) }}
{{- end -}}

{{- /* The selector of the pods of servers. */ -}}
{{- define "warren.pods" -}}
{{ include "warren.selector" (dict "extra" (include "warren.podLabels" . | fromYaml) "context" .) }}
app.kubernetes.io/component: zookeeper
{{- end -}}

{{- /* The metadata of an object: dict "name" "component" "labels" "annotations" "namespace" "context". */ -}}
{{- define "warren.metadata" -}}
{{- $c := .context -}}
name: {{ .name }}
namespace: {{ .namespace | default (include "warren.namespace" $c) | quote }}
labels:
  {{- include "warren.labels" (dict "extra" $c.Values.commonLabels "context" $c) | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .labels }}
  {{- include "warren.render" (dict "value" . "context" $c) | nindent 2 }}
  {{- end }}
{{- $annotations := include "warren.merged" (dict "maps" (list .annotations $c.Values.commonAnnotations) "context" $c)
    | fromYaml }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* An image: dict "image" "context". */ -}}
{{- define "warren.image" -}}
{{- $registry := (.context.Values.global).imageRegistry | default .image.registry -}}
{{- with $registry }}{{ . }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .context.Chart.AppVersion }}{{ end }}
{{- end -}}

{{- define "warren.pullSecrets" -}}
{{- $names := list -}}
{{- range concat ((.Values.global).imagePullSecrets | default list) (.Values.image.pullSecrets | default list)
    (.Values.volumePermissions.image.pullSecrets | default list) -}}
{{- if kindIs "map" . }}{{ $names = append $names .name }}{{ else }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- with $names | uniq -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* A security context without its switch, and without users and groups where OpenShift gives them: dict "value"
    "context". */ -}}
{{- define "warren.security" -}}
{{- $value := omit .value "enabled" -}}
{{- $adapt := (((.context.Values.global).compatibility).openshift).adaptSecurityContext -}}
{{- if or (eq $adapt "force") (and (eq $adapt "auto") (.context.Capabilities.APIVersions.Has "security.openshift.io/v1")) -}}
{{- $value = omit $value "fsGroup" "runAsUser" "runAsGroup" -}}
{{- if not $value.seLinuxOptions }}{{ $value = omit $value "seLinuxOptions" }}{{ end -}}
{{- end -}}
{{ toYaml $value }}
{{- end -}}

{{- /* Requests and limits: dict "resources" "preset". */ -}}
{{- define "warren.resources" -}}
{{- $presets := dict
  "nano" (list "100m" "128Mi" "150m" "192Mi") "micro" (list "250m" "256Mi" "375m" "384Mi")
  "small" (list "500m" "512Mi" "750m" "768Mi") "medium" (list "500m" "1024Mi" "750m" "1536Mi")
  "large" (list "1.0" "2048Mi" "1.5" "3072Mi") "xlarge" (list "1.0" "3072Mi" "3.0" "6144Mi")
  "2xlarge" (list "1.0" "3072Mi" "6.0" "12288Mi") -}}
{{- if .resources -}}
resources:
  {{- toYaml .resources | nindent 2 }}
{{- else if and .preset (ne .preset "none") -}}
{{- $p := get $presets .preset | required (printf "the preset %s of resources is none of %s" .preset
    (keys $presets | sortAlpha | join ", ")) -}}
resources:
  requests: { cpu: {{ index $p 0 | quote }}, memory: {{ index $p 1 | quote }}, ephemeral-storage: 50Mi }
  limits: { cpu: {{ index $p 2 | quote }}, memory: {{ index $p 3 | quote }}, ephemeral-storage: 2Gi }
{{- end -}}
{{- end -}}

{{- /* The affinity of pods to pods of a preset: dict "preset" "context". */ -}}
{{- define "warren.podAffinity" -}}
{{- if .preset -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector"
    (dict "matchLabels" (include "warren.pods" .context | fromYaml)) -}}
{{- if eq .preset "hard" -}}
{{ toYaml (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) }}
{{- else -}}
{{ toYaml (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 1 "podAffinityTerm" $term))) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "warren.nodeAffinity" -}}
{{- $p := .Values.nodeAffinityPreset -}}
{{- $term := dict "matchExpressions" (list (dict "key" $p.key "operator" "In" "values" $p.values)) -}}
{{- if eq $p.type "hard" -}}
{{ toYaml (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" (list $term))) }}
{{- else if eq $p.type "soft" -}}
{{ toYaml (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 1 "preference" $term))) }}
{{- end -}}
{{- end -}}

{{- define "warren.storageClass" -}}
{{- $class := (.Values.global).storageClass | default .Values.persistence.storageClass
    | default (.Values.global).defaultStorageClass -}}
{{- if eq ($class | default "") "-" -}}
storageClassName: ""
{{- else if $class -}}
storageClassName: {{ $class }}
{{- end -}}
{{- end -}}

{{- /* The name of a secret that the values may name: dict "given" "suffix" "context". */ -}}
{{- define "warren.secret" -}}
{{- if .given -}}{{ tpl .given .context }}{{- else -}}{{ include "warren.fullname" .context }}-{{ .suffix }}{{- end -}}
{{- end -}}

{{- /* A password in base64, for a secret: the given one, or that of the cluster, or a new one: dict "secret" "key"
    "given" "context". */ -}}
{{- define "warren.password" -}}
{{- $there := (lookup "v1" "Secret" (include "warren.namespace" .context) .secret).data | default dict -}}
{{- if .given -}}
{{ .given | toString | b64enc | quote }}
{{- else -}}
{{ get $there .key | default (randAlphaNum 16 | b64enc) | quote }}
{{- end -}}
{{- end -}}

{{- /* The client port and the metrics port of a container. */ -}}
{{- define "warren.metricsPort" -}}
{{ coalesce .Values.metrics.containerPort .Values.containerPorts.metrics }}
{{- end -}}

{{- /* The list of servers, as ZOO_SERVERS has it. */ -}}
{{- define "warren.servers" -}}
{{- if .Values.zooServers -}}
{{ include "warren.render" (dict "value" .Values.zooServers "context" .) }}
{{- else -}}
{{- range $i := until (int .Values.replicaCount) -}}
{{ include "warren.fullname" $ }}-{{ $i }}.{{ include "warren.headless" $ }}.{{ include "warren.namespace" $ -}}
.svc.{{ $.Values.clusterDomain }}:
{{- $.Values.containerPorts.follower }}:{{ $.Values.containerPorts.election }}::
{{- add $i $.Values.minServerId }}{{ " " }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A variable with a secret's value, or with the file that has it: dict "name" "secret" "key" "context"
    "optional". */ -}}
{{- define "warren.secretVariable" -}}
{{- if .context.Values.usePasswordFiles }}
- name: {{ .name }}_FILE
  value: {{ printf "/opt/bitnami/zookeeper/secrets/%s" .key | quote }}
{{- else }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}
{{- end -}}

{{- /* Of tls.client or tls.quorum: whether their stores have passwords: dict "tls". */ -}}
{{- define "warren.tlsPasswords" -}}
{{- if and .tls.enabled (or .tls.keystorePassword .tls.truststorePassword .tls.passwordsSecretName
    .tls.autoGenerated) -}}true{{- end -}}
{{- end -}}

{{- /* The variables of tls.client or tls.quorum: dict "tls" "kind" "auth" "context". */ -}}
{{- define "warren.tlsVariables" -}}
{{- $upper := upper .kind -}}
{{- $secret := include "warren.secret" (dict "given" .tls.passwordsSecretName "suffix" (printf "%s-tls-pass" .kind)
    "context" .context) }}
- name: ZOO_TLS_{{ $upper }}_ENABLE
  value: "true"
- name: {{ .auth }}
  value: {{ .tls.auth | quote }}
- name: ZOO_TLS_{{ $upper }}_KEYSTORE_FILE
  value: {{ include "warren.storePath" (dict "path" .tls.keystorePath "key" .tls.existingSecretKeystoreKey "tls" .tls)
      | quote }}
- name: ZOO_TLS_{{ $upper }}_TRUSTSTORE_FILE
  value: {{ include "warren.storePath" (dict "path" .tls.truststorePath "key" .tls.existingSecretTruststoreKey
      "tls" .tls) | quote }}
{{- if or .tls.keystorePassword .tls.passwordsSecretName .tls.autoGenerated }}
{{- include "warren.secretVariable" (dict "name" (printf "ZOO_TLS_%s_KEYSTORE_PASSWORD" $upper) "secret" $secret
    "key" (.tls.passwordsSecretKeystoreKey | default "keystore-password") "context" .context) }}
{{- end }}
{{- if or .tls.truststorePassword .tls.passwordsSecretName .tls.autoGenerated }}
{{- include "warren.secretVariable" (dict "name" (printf "ZOO_TLS_%s_TRUSTSTORE_PASSWORD" $upper) "secret" $secret
    "key" (.tls.passwordsSecretTruststoreKey | default "truststore-password") "context" .context) }}
{{- end }}
{{- end -}}

{{- /* The file of a store: the secret is mounted in its folder: dict "path" "key" "tls". */ -}}
{{- define "warren.storePath" -}}
{{- if and .tls.existingSecret .key -}}{{ dir .path }}/{{ .key }}{{- else -}}{{ .path }}{{- end -}}
{{- end -}}

{{- /* Whether the chart changes the servers of the ensemble itself. */ -}}
{{- define "warren.reconfigures" -}}
{{- if and .Values.reconfig.enabled (gt (int .Values.replicaCount) 0) (not .Values.zooServers)
    (not .Values.configuration) (not .Values.existingConfigmap) -}}true{{- end -}}
{{- end -}}

{{- /* Whether the servers of this release begin with a backup. A volume that is lost later is not restored: its server has
     forgotten what it has acknowledged, and takes the state from the leader before it votes. Until the first upgrade
     --once sees to that: the number is another one for each installation. */ -}}
{{- define "warren.restores" -}}
{{- if and .Values.restore.from .Release.IsInstall -}}true{{- end -}}
{{- end -}}

{{- /* The flags, variables and mounts of a container that uses the store, and the volumes of its pod. */ -}}
{{- define "warren.s3.flags" -}}
{{- with .Values.s3 -}}
{{- if .pathStyle }}
- --s3-path-style
{{- end }}
{{- if .existingCASecret }}
- --s3-ca=/etc/warren/s3-ca/ca.crt
{{- end }}
- --scratch=/tmp
{{- end -}}
{{- end -}}

{{- define "warren.s3.environment" -}}
env:
  {{- include "warren.s3.variables" . | nindent 2 }}
{{- include "warren.s3.secret" . }}
{{- end -}}

{{- define "warren.s3.variables" -}}
- { name: HOME, value: /tmp }
{{- with .Values.s3.endpoint }}
- { name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }} }
{{- end }}
{{- with .Values.s3.region }}
- { name: AWS_REGION, value: {{ . | quote }} }
{{- end }}
{{- end -}}

{{- define "warren.s3.secret" -}}
{{- with .Values.s3.existingSecret }}
envFrom:
  - secretRef: { name: {{ tpl . $ | quote }} }
{{- end }}
{{- end -}}

{{- define "warren.s3.mounts" -}}
{{- if .Values.s3.existingCASecret }}
- { name: s3-ca, mountPath: /etc/warren/s3-ca, readOnly: true }
{{- end }}
{{- end -}}

{{- define "warren.s3.volumes" -}}
{{- with .Values.s3.existingCASecret }}
- name: s3-ca
  secret: { secretName: {{ tpl . $ | quote }} }
{{- end }}
{{- end -}}

{{- /* The beginning of the spec of a pod that asks the servers, up to its containers. */ -}}
{{- define "warren.client" -}}
restartPolicy: Never
automountServiceAccountToken: false
serviceAccountName: {{ if .Values.serviceAccount.create }}default{{ else }}{{ include "warren.serviceAccount" . }}{{ end }}
{{- include "warren.pullSecrets" . | nindent 0 }}
{{- range $key := list "nodeSelector" "tolerations" "priorityClassName" }}
{{- with get $.Values $key }}
{{- include "warren.render" (dict "value" (dict $key .) "context" $) | nindent 0 }}
{{- end }}
{{- end }}
{{- if .Values.podSecurityContext.enabled }}
securityContext:
  {{- include "warren.security" (dict "value" .Values.podSecurityContext "context" .) | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The beginning of a CronJob of the backup, up to its containers: dict "name" "component" "job" "client"
    "context". Of the values of the job "schedule" and "activeDeadlineSeconds" are its own. */ -}}
{{- define "warren.backup.job" -}}
{{- $v := .context.Values -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  {{- include "warren.metadata" (dict "name" .name "component" .component "context" .context) | nindent 2 }}
spec:
  schedule: {{ .job.schedule | quote }}
  suspend: {{ $v.backup.suspend }}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 600
  successfulJobsHistoryLimit: {{ $v.backup.successfulJobsHistoryLimit }}
  failedJobsHistoryLimit: {{ $v.backup.failedJobsHistoryLimit }}
  jobTemplate:
    spec:
      backoffLimit: {{ $v.backup.backoffLimit }}
      activeDeadlineSeconds: {{ .job.activeDeadlineSeconds }}
      template:
        metadata:
          labels: # neither the selector of the servers nor their network policy may find this pod
            app.kubernetes.io/component: {{ .component }}
            {{- if .client }}
            {{ include "warren.fullname" .context }}-client: "true"
            {{- end }}
        spec:
          restartPolicy: Never
          automountServiceAccountToken: false
          serviceAccountName: {{ $v.s3.serviceAccountName }}
          {{- include "warren.pullSecrets" .context | nindent 10 }}
          {{- range $key := list "tolerations" "priorityClassName" }}
          {{- with get $v $key }}
          {{- include "warren.render" (dict "value" (dict $key .) "context" $.context) | nindent 10 }}
          {{- end }}
          {{- end }}
          {{- if $v.podSecurityContext.enabled }}
          securityContext:
            {{- include "warren.security" (dict "value" $v.podSecurityContext "context" .context) | nindent 12 }}
          {{- end }}
{{- end -}}

{{- /* The beginning of a container that runs this image: dict "name" "context". */ -}}
{{- define "warren.container" -}}
{{- $v := .context.Values -}}
- name: {{ .name }}
  image: {{ include "warren.image" (dict "image" $v.image "context" .context) }}
  imagePullPolicy: {{ $v.image.pullPolicy | quote }}
  {{- if $v.containerSecurityContext.enabled }}
  securityContext:
    {{- include "warren.security" (dict "value" $v.containerSecurityContext "context" .context) | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* The init container that restores. */ -}}
{{- define "warren.restore" -}}
{{- $v := .Values -}}
{{ include "warren.container" (dict "name" "restore" "context" .) }}
  command:
    - warren
    - restore
    - {{ tpl $v.restore.from . | quote }}
    - /bitnami/zookeeper/data
    - --if-empty
    {{- if $v.restore.once }}
    - --once=$(POD_NAME).{{ randAlphaNum 16 }}
    {{- end }}
    {{- if not $v.service.disableBaseClientPort }}
    - --unless-served={{ range $i := until (int $v.replicaCount) }}{{ if $i }},{{ end }}
      {{- include "warren.fullname" $ }}-{{ $i }}.{{ include "warren.headless" $ }}:{{ $v.containerPorts.client }}{{ end }}
    {{- end }}
    {{- with $v.dataLogDir }}
    - --dataLogDir={{ . }}
    {{- end }}
    {{- with $v.restore.zxid }}
    - --zxid={{ . }}
    {{- end }}
    {{- with $v.restore.time }}
    - --time={{ . }}
    {{- end }}
    {{- if $v.restore.existingSecret }}
    - --identity=/etc/warren/identity/identity
    {{- end }}
    {{- include "warren.s3.flags" . | nindent 4 }}
  {{- include "warren.resources" (dict "resources" $v.restore.resources "preset" $v.restore.resourcesPreset)
      | nindent 2 }}
  env:
    - { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
    {{- include "warren.s3.variables" . | nindent 4 }}
  {{- include "warren.s3.secret" . | nindent 2 }}
  volumeMounts:
    - { name: empty-dir, mountPath: /tmp, subPath: tmp-dir }
    - { name: data, mountPath: /bitnami/zookeeper }
    {{- with $v.dataLogDir }}
    - { name: data-log, mountPath: {{ . }} }
    {{- end }}
    {{- if $v.restore.existingSecret }}
    - { name: identity, mountPath: /etc/warren/identity, readOnly: true }
    {{- end }}
    {{- include "warren.s3.mounts" . | nindent 4 }}
{{- end -}}

{{- /* Values that cannot be meant, as an error. */ -}}
{{- define "warren.validate" -}}
{{- $wrong := list -}}
{{- with .Values.auth.client }}{{ if and .enabled (not .existingSecret) (or (not .clientUser) (not .serverUsers)) }}
{{- $wrong = append $wrong "auth.client.enabled needs auth.client.clientUser and auth.client.serverUsers, or auth.client.existingSecret" }}{{ end }}{{ end }}
{{- with .Values.auth.quorum }}{{ if and .enabled (not .existingSecret) (or (not .learnerUser) (not .serverUsers)) }}
{{- $wrong = append $wrong "auth.quorum.enabled needs auth.quorum.learnerUser and auth.quorum.serverUsers, or auth.quorum.existingSecret" }}{{ end }}{{ end }}
{{- range $kind := list "client" "quorum" }}{{ with get $.Values.tls $kind }}{{ if .enabled }}
{{- if not (or .autoGenerated .certManager.enabled .existingSecret) }}
{{- $wrong = append $wrong (printf "tls.%s.enabled needs tls.%s.existingSecret, tls.%s.autoGenerated or tls.%s.certManager"
    $kind $kind $kind $kind) }}{{ end }}
{{- if and .certManager.enabled (or .autoGenerated .existingSecret) }}
{{- $wrong = append $wrong (printf "tls.%s.certManager goes with neither tls.%s.autoGenerated nor tls.%s.existingSecret"
    $kind $kind $kind) }}{{ end }}
{{- if and .certManager.enabled (not (get (.certManager.issuerRef | default dict) "name")) }}
{{- $wrong = append $wrong (printf "tls.%s.certManager needs tls.%s.certManager.issuerRef.name" $kind $kind) }}{{ end }}
{{- end }}{{ end }}{{ end }}
{{- with .Values.backup }}{{ if .enabled }}
{{- if not (hasPrefix "s3://" .to) }}{{ $wrong = append $wrong "backup.to is to be s3://BUCKET/PREFIX" }}{{ end }}
{{- if not $.Values.persistence.enabled }}{{ $wrong = append $wrong "backup.enabled needs persistence.enabled: it reads the volume of a server" }}{{ end }}
{{- if ge (int .server) (int $.Values.replicaCount) }}{{ $wrong = append $wrong "backup.server is not below replicaCount" }}{{ end }}
{{- if and .verify.enabled .encryptTo (not .verify.existingSecret) }}
{{- $wrong = append $wrong "backup.verify needs backup.verify.existingSecret to read what backup.encryptTo encrypts; without it set backup.verify.enabled=false" }}{{ end }}
{{- if eq .to $.Values.restore.from }}{{ $wrong = append $wrong "backup.to is restore.from: the new release needs a prefix of its own" }}{{ end }}
{{- end }}{{ end }}
{{- with .Values.restore }}{{ if .from }}
{{- if not (hasPrefix "s3://" .from) }}{{ $wrong = append $wrong "restore.from is to be s3://BUCKET/PREFIX" }}{{ end }}
{{- if not (or .zxid .time) }}{{ $wrong = append $wrong "restore.from needs restore.zxid or restore.time, so that all servers begin with the same moment" }}{{ end }}
{{- end }}{{ end }}
{{- with $wrong }}{{ fail (join "; " .) }}{{ end }}
{{- end -}}
