package helm

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/seed94657493/warren/test/must"
)

// The comparison reads charts of others, which are not in this repository. `make helm BITNAMI=... DEPENDENT=...`
// names them. BITNAMI is a checkout of github.com/bitnami/charts. DEPENDENT is a list of values.yaml of dependent
// charts, each with the key that has the values of the chart zookeeper in it:
// signoz/values.yaml:clickhouse.zookeeper. Both are absolute paths.
const (
	bitnamiFolder  = "BITNAMI"
	dependentFiles = "DEPENDENT"
)

// theirs returns the chart bitnami/zookeeper.
func theirs(t *testing.T) *chart.Chart {
	t.Helper()
	folder := os.Getenv(bitnamiFolder)
	if folder == "" {
		t.Skip(bitnamiFolder + " names no checkout of github.com/bitnami/charts")
	}
	c := must.Do(load(filepath.Join(folder, "bitnami", "zookeeper")))(t)
	common := must.Do(load(filepath.Join(folder, "bitnami", "common")))(t)
	c.AddDependency(common)
	return c
}

// accepted are the differences, by the path of a field, and why each is right. A star stands for any part.
var accepted = []struct{ path, why string }{
	{"*.metadata.labels.helm.sh/chart", "the version of the chart"},
	{"*.metadata.labels.app.kubernetes.io/version", "the version of Warren, not of ZooKeeper"},
	{"*.spec.template.metadata.labels.helm.sh/chart", "the version of the chart"},
	{"*.spec.template.metadata.labels.app.kubernetes.io/version", "the version of Warren, not of ZooKeeper"},
	{"*.spec.template.metadata.annotations.checksum/*", "checksums of different text"},
	{"ConfigMap/*-scripts", "there is no shell in the image: the binary does what the scripts do"},
	{"Job/*-join", "reconfig changes the servers of the ensemble"},
	{"Job/*-leave", "reconfig changes the servers of the ensemble"},
	{"Pod/*-status", "helm test asks the servers how the ensemble is"},
	{"Secret/*-super", "the super user, who may reconfigure"},
	{"Secret/*-ca", "what signs the certificates, so that others can be signed later"},
	{"Secret/*.data.*", "passwords and certificates are new each time"},
	{"StatefulSet/*.spec.template.spec.initContainers.init-certs", "the secret's PEM files are used as they are"},
	{"StatefulSet/*.spec.template.spec.initContainers.volume-permissions.*",
		"the image needs chown, but no shell"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.image", "the image"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.command", "the binary, instead of a script"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.*Probe.exec", "warren health, instead of a script"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.volumeMounts.scripts *", "there are no scripts"},
	{"StatefulSet/*.spec.template.spec.volumes.scripts", "there are no scripts"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.volumeMounts.*-certificates *",
		"the secret's PEM files are used as they are"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.volumeMounts.*-shared-certs *",
		"the secret's PEM files are used as they are"},
	{"StatefulSet/*.spec.template.spec.volumes.*-shared-certs", "the secret's PEM files are used as they are"},
	{"StatefulSet/*.spec.template.spec.volumes.*-certificates.secret.defaultMode",
		"the server does not own the files, but is in their group"},
	{"StatefulSet/*.spec.template.spec.volumes.zookeeper-secrets*", "the password of the super user is among them"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.volumeMounts.zookeeper-secrets *",
		"the password of the super user is among them"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.env.WARREN_*",
		"Warren's own: the id of the pod, and the super user"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.env.ZOO_ENABLE_ADMIN_SERVER*",
		"the probes ask the admin port, on 127.0.0.1"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.env.ZOO_RECONFIG_ENABLED*",
		"reconfig changes the servers of the ensemble"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.env.ZOO_CFG_standaloneEnabled*",
		"reconfig changes the servers of the ensemble"},
	{"StatefulSet/zk.spec.template.spec.containers.zookeeper.env.ZOO_SERVERS.value",
		"servicenameOverride also applies to the names of servers; otherwise they would not resolve"},
	{"StatefulSet/*.spec.template.spec.containers.zookeeper.env.ZOO_LOG_LEVEL.value",
		"the log has findings that are warnings"},
	{"NetworkPolicy/*.spec.egress.1.ports.2", "servers ask each other how the ensemble is, on the client port"},
	{"NetworkPolicy/*.spec.ingress.0.ports.*", "the TLS port is open too; the original leaves it out"},
}

// flatten adds the leaves of a value to all, by their paths. Elements of a list that have a name have it in the path,
// so that their order does not matter.
func flatten(all map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, x := range v {
			flatten(all, path+"."+key, x)
		}
	case []any:
		for i, x := range v {
			key := strconv.Itoa(i)
			if m, ok := x.(map[string]any); ok && m["name"] != nil {
				key = fmt.Sprint(m["name"])
				if m["mountPath"] != nil {
					key += " " + fmt.Sprint(m["mountPath"])
				}
			} else if metadata, ok := m["metadata"].(map[string]any); ok {
				key = fmt.Sprint(metadata["name"])
			}
			flatten(all, path+"."+key, x)
		}
	case nil:
	default:
		all[path] = strings.TrimSpace(fmt.Sprint(v))
	}
}

func leaves(objects []object) map[string]string {
	all := map[string]string{}
	for _, o := range objects {
		flatten(all, o.key(), o.fields)
	}
	return all
}

// matches reports whether a path is of a pattern: the pattern, or below it.
func matches(pattern, path string) bool {
	parts := strings.Split(pattern, "*")
	rest, found := strings.CutPrefix(path, parts[0])
	if !found {
		return false
	}
	for i, part := range parts[1:] {
		if i == len(parts)-2 && part == "" {
			return true
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return rest == "" || rest[0] == '.'
}

// compare renders both charts with the same values, and returns the differences that are not accepted.
func compare(t *testing.T, release string, values map[string]any, used map[string]bool) (differences []string) {
	t.Helper()
	text := must.Do(yaml.Marshal(values))(t)
	rendered := func(c *chart.Chart) map[string]string {
		var own map[string]any
		require.NoError(t, yaml.Unmarshal(text, &own))
		return leaves(must.Do(render(c, installed(release), own))(t))
	}
	our := must.Do(load(ours))(t)
	x, y := rendered(theirs(t)), rendered(our)
	paths := maps.Clone(x)
	maps.Copy(paths, y)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if x[path] == y[path] {
			continue
		}
		known := false
		for _, a := range accepted {
			if matches(a.path, path) {
				known, used[a.path] = true, true
			}
		}
		if !known {
			differences = append(differences,
				fmt.Sprintf("%s\n    theirs: %q\n    ours:   %q", path, x[path], y[path]))
		}
	}
	return differences
}

// valueSets are values that switch on what the chart has.
var valueSets = map[string]string{
	"defaults": "",
	"three":    "replicaCount: 3",
	"auth": `
replicaCount: 3
auth:
  client: { enabled: true, clientUser: a, clientPassword: x, serverUsers: "a,b", serverPasswords: "x,y" }
  quorum: { enabled: true, learnerUser: q, learnerPassword: p, serverUsers: q, serverPasswords: p }`,
	"auth by variables": `
usePasswordFiles: false
auth:
  client: { enabled: true, clientUser: a, serverUsers: a, existingSecret: "{{ .Release.Name }}-mine" }`,
	"tls": `
replicaCount: 3
tls:
  client: { enabled: true, autoGenerated: true, auth: need }
  quorum: { enabled: true, existingSecret: mine, passwordsSecretName: passwords, passwordsSecretKeystoreKey: k }`,
	"metrics": `
metrics:
  enabled: true
  serviceMonitor: { enabled: true, namespace: monitoring, interval: 10s, scrapeTimeout: 5s, additionalLabels: { release: p }, honorLabels: true,
    relabelings: [{ sourceLabels: [a], targetLabel: b }], tlsConfig: { insecureSkipVerify: true } }
  prometheusRule: { enabled: true, rules: [{ alert: A, expr: up == 0 }] }`,
	"storage": `
global: { defaultStorageClass: fast }
dataLogDir: /bitnami/zookeeper/dataLog
persistence: { size: 20Gi, annotations: { a: b }, labels: { c: d }, selector: { matchLabels: { e: f } }, dataLogDir: { size: 1Gi } }
volumePermissions: { enabled: true }`,
	"no storage": "persistence: { enabled: false }\ndataLogDir: /log",
	"claims":     "persistence: { existingClaim: c, dataLogDir: { existingClaim: d } }\ndataLogDir: /log",
	"names": `
nameOverride: keeper
namespaceOverride: elsewhere
commonLabels: { team: x, app.kubernetes.io/name: other }
commonAnnotations: { note: "{{ .Release.Name }}" }
podLabels: { tier: data }
podAnnotations: { a: "b" }
clusterDomain: example.org
minServerId: 5
replicaCount: 2`,
	"full name":     "fullnameOverride: zk\nservice: { headless: { servicenameOverride: hl } }",
	"configuration": "configuration: |-\n  dataDir=/bitnami/zookeeper/data\n  clientPort=2181",
	"config map":    "existingConfigmap: mine",
	"pods": `
affinity: { nodeAffinity: {} }
nodeSelector: { disk: ssd }
tolerations: [{ key: a, operator: Exists }]
topologySpreadConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway }]
priorityClassName: high
schedulerName: mine
hostAliases: [{ ip: 127.0.0.1, hostnames: [a] }]
dnsPolicy: None
dnsConfig: { nameservers: [192.0.2.1] }
extraEnvVars: [{ name: A, value: "{{ .Release.Name }}" }]
extraEnvVarsCM: cm
extraEnvVarsSecret: sec
extraVolumes: [{ name: v, emptyDir: {} }]
extraVolumeMounts: [{ name: v, mountPath: /v }]
sidecars: [{ name: s, image: s }]
initContainers: [{ name: i, image: i }]
lifecycleHooks: { preStop: { exec: { command: [a] } } }
resources: { requests: { cpu: 1 } }
startupProbe: { enabled: true }
customReadinessProbe: { tcpSocket: { port: 1 } }
updateStrategy: { type: OnDelete }
pdb: { minAvailable: 2 }
image: { pullSecrets: [p], digest: "sha256:aa" }
global: { imageRegistry: reg, imagePullSecrets: [q], security: { allowInsecureImages: true } }
serviceAccount: { create: false }
extraDeploy: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: "{{ .Release.Name }}-extra" } }]`,
	"presets": "podAffinityPreset: hard\npodAntiAffinityPreset: hard\nnodeAffinityPreset: { type: soft, key: k, " +
		"values: [v] }\nresourcesPreset: 2xlarge",
	"service": `
service: { type: LoadBalancer, loadBalancerIP: 192.0.2.1, nodePorts: { client: 30000 }, annotations: { a: b }, sessionAffinity: ClientIP,
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } }, extraPorts: [{ name: e, port: 1 }] }
networkPolicy: { allowExternal: false, allowExternalEgress: false, ingressNSMatchLabels: { a: b }, ingressNSPodMatchLabels: { c: d },
  extraIngress: [{ ports: [{ port: 1 }] }] }`,
}

// TestLikeBitnami compares the objects of both charts, field by field.
func TestLikeBitnami(t *testing.T) {
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(valueSets)) {
		values := must.Do(chartutil.ReadValues([]byte(valueSets[name])))(t, name)
		for _, release := range []string{"rel", "my-zookeeper"} {
			for _, d := range compare(t, release, values, used) {
				t.Errorf("%s: %s: %s", name, release, d)
			}
		}
	}
	for _, a := range accepted {
		if !used[a.path] {
			t.Errorf("no difference is %s (%s)", a.path, a.why)
		}
	}
}

// TestLikeBitnamiForDependents compares with the values of dependent charts.
func TestLikeBitnamiForDependents(t *testing.T) {
	list := os.Getenv(dependentFiles)
	if list == "" {
		t.Skip(dependentFiles + " names no values of dependent charts")
	}
	for _, one := range strings.Split(list, ",") {
		file, key, found := strings.Cut(one, ":")
		require.True(t, found, "%s names no key", one)
		values := must.Do(chartutil.ReadValuesFile(file))(t)
		own := must.Do(values.Table(key))(t)
		require.NotEmpty(t, own)
		withoutNulls(own)                           // their chart does not render without a registry
		global, _ := own["global"].(map[string]any) // nor with images that are not its own
		own["global"] = chartutil.CoalesceTables(
			map[string]any{"security": map[string]any{"allowInsecureImages": true}}, global)
		for _, d := range compare(t, "rel", own, map[string]bool{}) {
			t.Errorf("%s: %s", one, d)
		}
	}
}

// withoutNulls removes what is null, so that the default counts.
func withoutNulls(values map[string]any) {
	for key, value := range values {
		if m, isMap := value.(map[string]any); isMap {
			withoutNulls(m)
		} else if value == nil {
			delete(values, key)
		}
	}
}

// TestHasEveryValue finds keys of their values that ours do not have.
func TestHasEveryValue(t *testing.T) {
	our := must.Do(load(ours))(t)
	var missing func(path string, theirs, ours map[string]any)
	missing = func(path string, theirs, ours map[string]any) {
		for key, value := range theirs {
			own, ok := ours[key]
			if !ok {
				t.Errorf("%s.%s is no value of ours", path, key)
			}
			m, isMap := value.(map[string]any)
			if o, isOurs := own.(map[string]any); isMap && isOurs {
				missing(path+"."+key, m, o)
			}
		}
	}
	missing("", theirs(t).Values, our.Values)
}
