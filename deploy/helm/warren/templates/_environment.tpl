{{- /* The variables of a server, which are those of bitnami/zookeeper's image. */ -}}

{{- define "warren.environment" -}}
{{- $v := .Values -}}
{{- $plain := list
  (list "BITNAMI_DEBUG" (or $v.image.debug $v.diagnosticMode.enabled))
  (list "ZOO_DATA_LOG_DIR" $v.dataLogDir)
  (list "ZOO_PORT_NUMBER" $v.containerPorts.client)
  (list "ZOO_TICK_TIME" $v.tickTime)
  (list "ZOO_INIT_LIMIT" $v.initLimit)
  (list "ZOO_SYNC_LIMIT" $v.syncLimit)
  (list "ZOO_PRE_ALLOC_SIZE" $v.preAllocSize)
  (list "ZOO_SNAPCOUNT" $v.snapCount)
  (list "ZOO_MAX_CLIENT_CNXNS" $v.maxClientCnxns)
  (list "ZOO_4LW_COMMANDS_WHITELIST" $v.fourlwCommandsWhitelist)
  (list "ZOO_LISTEN_ALLIPS_ENABLED" (ternary "yes" "no" $v.listenOnAllIPs))
  (list "ZOO_AUTOPURGE_INTERVAL" $v.autopurge.purgeInterval)
  (list "ZOO_AUTOPURGE_RETAIN_COUNT" $v.autopurge.snapRetainCount)
  (list "ZOO_MAX_SESSION_TIMEOUT" $v.maxSessionTimeout)
  (list "ZOO_SERVERS" (include "warren.servers" .))
  (list "ZOO_HEAP_SIZE" $v.heapSize)
  (list "ZOO_LOG_LEVEL" $v.logLevel)
  (list "ZOO_ADMIN_SERVER_PORT_NUMBER" $v.containerPorts.adminServer)
  (list "ZOO_ENABLE_ADMIN_SERVER" "yes")
  (list "WARREN_MIN_SERVER_ID" $v.minServerId)
-}}
{{- if $v.jvmFlags }}{{ $plain = append $plain (list "JVMFLAGS" $v.jvmFlags) }}{{ end -}}
{{- if $v.metrics.enabled -}}
{{- $plain = concat $plain (list (list "ZOO_ENABLE_PROMETHEUS_METRICS" "yes") (list "ZOO_PROMETHEUS_METRICS_PORT_NUMBER" (include "warren.metricsPort" .))) -}}
{{- end -}}
{{- if $v.tls.client.enabled }}{{ $plain = append $plain (list "ZOO_TLS_PORT_NUMBER" $v.containerPorts.tls) }}{{ end -}}
{{- if include "warren.reconfigures" . -}}
{{- $plain = concat $plain (list (list "ZOO_RECONFIG_ENABLED" "yes") (list "ZOO_CFG_standaloneEnabled" "false")) -}}
{{- end -}}
{{- range $plain }}
- name: {{ index . 0 }}
  value: {{ index . 1 | toString | quote }}
{{- end }}
- name: POD_NAME
  valueFrom:
    fieldRef: { apiVersion: v1, fieldPath: metadata.name }
{{- include "warren.authentication" . }}
- name: ZOO_ENABLE_QUORUM_AUTH
  value: {{ ternary "yes" "no" $v.auth.quorum.enabled | quote }}
{{- if $v.auth.quorum.enabled }}
{{- $secret := include "warren.secret" (dict "given" $v.auth.quorum.existingSecret "suffix" "quorum-auth" "context" .) }}
- name: ZOO_QUORUM_LEARNER_USER
  value: {{ $v.auth.quorum.learnerUser | quote }}
{{- include "warren.secretVariable" (dict "name" "ZOO_QUORUM_LEARNER_PASSWORD" "secret" $secret "key" "quorum-learner-password" "context" .) }}
- name: ZOO_QUORUM_SERVER_USERS
  value: {{ $v.auth.quorum.serverUsers | quote }}
{{- include "warren.secretVariable" (dict "name" "ZOO_QUORUM_SERVER_PASSWORDS" "secret" $secret "key" "quorum-server-password" "context" .) }}
{{- end }}
{{- if $v.tls.client.enabled }}
{{- include "warren.tlsVariables" (dict "tls" $v.tls.client "kind" "client" "auth" "ZOO_TLS_CLIENT_AUTH" "context" .) }}
{{- end }}
{{- if $v.tls.quorum.enabled }}
{{- include "warren.tlsVariables" (dict "tls" $v.tls.quorum "kind" "quorum" "auth" "ZOO_TLS_QUORUM_CLIENT_AUTH" "context" .) }}
{{- end }}
{{- if include "warren.reconfigures" . }}
{{- include "warren.superVariable" . }}
{{- end }}
{{- with $v.extraEnvVars }}
{{ include "warren.render" (dict "value" . "context" $) }}
{{- end }}
{{- end -}}

{{- /* The variables for clients that authenticate. */ -}}
{{- define "warren.authentication" -}}
{{- $client := .Values.auth.client }}
- name: ALLOW_ANONYMOUS_LOGIN
  value: {{ ternary "no" "yes" $client.enabled | quote }}
- name: ZOO_ENABLE_AUTH
  value: {{ ternary "yes" "no" $client.enabled | quote }}
{{- if $client.enabled }}
{{- $secret := include "warren.secret" (dict "given" $client.existingSecret "suffix" "client-auth" "context" .) }}
- name: ZOO_CLIENT_USER
  value: {{ $client.clientUser | quote }}
{{- include "warren.secretVariable" (dict "name" "ZOO_CLIENT_PASSWORD" "secret" $secret "key" "client-password" "context" .) }}
- name: ZOO_SERVER_USERS
  value: {{ $client.serverUsers | quote }}
{{- include "warren.secretVariable" (dict "name" "ZOO_SERVER_PASSWORDS" "secret" $secret "key" "server-password" "context" .) }}
{{- end }}
{{- end -}}

{{- define "warren.superVariable" -}}
{{- include "warren.secretVariable" (dict "name" "WARREN_SUPER_PASSWORD" "secret" (include "warren.secret" (dict "given" .Values.reconfig.existingSecret "suffix" "super" "context" .)) "key" "super-password" "optional" true "context" .) }}
{{- end -}}
