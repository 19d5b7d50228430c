package helm

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	yamlnode "go.yaml.in/yaml/v3"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/seed94657493/warren/server/config"
)

const ours = "../../deploy/helm/warren"

var update = flag.Bool("update", false, "write the table of README.md")

func TestLint(t *testing.T) {
	for name, text := range valueSets {
		values, err := chartutil.ReadValues([]byte(text))
		require.NoError(t, err, name)
		for _, m := range lint.All(ours, values, "ns", true).Messages {
			require.Less(t, m.Severity, support.WarningSev, "%s: %s", name, m)
		}
	}
}

// renderSet renders our chart with one of valueSets.
func renderSet(t *testing.T, values string) []object {
	t.Helper()
	c, err := load(ours)
	require.NoError(t, err)
	own, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	objects, err := render(c, "rel", own)
	require.NoError(t, err)
	return objects
}

// as returns the only object of a kind, whose name has an ending, with Kubernetes' own type.
func as[T any](t *testing.T, objects []object, kind, ending string) (into T) {
	t.Helper()
	found := 0
	for _, o := range objects {
		if o.kind != kind || !strings.HasSuffix(o.name, ending) {
			continue
		}
		text, err := yaml.Marshal(o.fields)
		require.NoError(t, err)
		require.NoError(t, yaml.UnmarshalStrict(text, &into))
		found++
	}
	require.Equal(t, 1, found, "objects %s/*%s", kind, ending)
	return into
}

// Every selector finds the servers and nothing else, every volume that is mounted exists, and each port has a name
// that services and probes use.
func TestObjectsReferToEachOther(t *testing.T) {
	for name, text := range valueSets {
		objects := renderSet(t, text)
		set := as[appsv1.StatefulSet](t, objects, "StatefulSet", "")
		labels := set.Spec.Template.Labels
		subset := func(selector map[string]string) {
			for key, value := range selector {
				require.Equal(t, value, labels[key], "%s: selector %s", name, key)
			}
		}
		subset(set.Spec.Selector.MatchLabels)
		pod := set.Spec.Template.Spec
		ports, volumes := map[string]bool{}, map[string]bool{}
		for _, p := range pod.Containers[0].Ports {
			ports[p.Name] = true
		}
		for _, v := range pod.Volumes {
			volumes[v.Name] = true
		}
		for _, c := range set.Spec.VolumeClaimTemplates {
			volumes[c.Name] = true
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			for _, m := range c.VolumeMounts {
				require.True(t, volumes[m.Name], "%s: %s mounts %s", name, c.Name, m.Name)
			}
		}
		services := map[string]bool{}
		for _, o := range objects {
			switch o.kind {
			case "Service":
				s := as[corev1.Service](t, objects, o.kind, o.name)
				services[s.Name] = true
				subset(s.Spec.Selector)
				for _, p := range s.Spec.Ports {
					target := p.TargetPort.StrVal
					// The headless service of one server has ports for servers all the same.
					alone := s.Spec.ClusterIP == corev1.ClusterIPNone && *set.Spec.Replicas == 1
					require.True(t, target == "" || ports[target] || alone, "%s: service %s has the port %s", name, s.Name, target)
				}
			case "PodDisruptionBudget":
				subset(as[policyv1.PodDisruptionBudget](t, objects, o.kind, o.name).Spec.Selector.MatchLabels)
			case "NetworkPolicy":
				subset(as[networkingv1.NetworkPolicy](t, objects, o.kind, o.name).Spec.PodSelector.MatchLabels)
			case "Job":
				job := as[batchv1.Job](t, objects, o.kind, o.name)
				require.Empty(t, job.Spec.Template.Labels["app.kubernetes.io/name"], "%s: a service or policy of the servers finds the job", name)
				require.NotContains(t, job.Spec.Template.Spec.ServiceAccountName, "rel", "%s: no account is there before the first release", name)
			}
		}
		require.True(t, services[set.Spec.ServiceName], "%s: the service of the pods", name)
	}
}

// The variables of each container are ones that the binary reads, and make the configuration that the values mean.
func TestEnvironmentIsAConfiguration(t *testing.T) {
	pods := func(values string) (cfg *config.Config, im config.Image, env []string) {
		set := as[appsv1.StatefulSet](t, renderSet(t, values), "StatefulSet", "")
		for _, e := range set.Spec.Template.Spec.Containers[0].Env {
			switch {
			case e.Name == "POD_NAME":
				require.Equal(t, "metadata.name", e.ValueFrom.FieldRef.FieldPath)
				e.Value = set.Name + "-1"
			case e.ValueFrom != nil:
				e.Value = "x,y"
			case strings.HasSuffix(e.Name, "_PASSWORD_FILE"), strings.HasSuffix(e.Name, "_PASSWORDS_FILE"):
				file := filepath.Join(t.TempDir(), "password")
				require.NoError(t, os.WriteFile(file, []byte("x,y\n"), 0o600))
				e.Value = file
			}
			env = append(env, e.Name+"="+e.Value)
		}
		im = config.NewImage(env)
		cfg, _, err := config.Parse(strings.NewReader(im.Text), "zoo.cfg")
		require.NoError(t, err)
		return cfg, im, env
	}
	cfg, im, _ := pods(valueSets["defaults"])
	require.Equal(t, "/opt/bitnami/zookeeper/conf/zoo.cfg", im.File)
	require.Equal(t, "/bitnami/zookeeper/data", cfg.DataDir)
	require.True(t, cfg.Distributed(), "an ensemble of one, which others can join")
	require.Len(t, cfg.Members, 1)
	require.Equal(t, 2181, cfg.ClientPort)
	require.True(t, cfg.Admin.Enabled)
	require.Equal(t, "127.0.0.1", cfg.Admin.Address)

	cfg, im, _ = pods(valueSets["names"])
	require.Equal(t, "6", im.MyID, "minServerId and the number of the pod")
	require.Len(t, cfg.Members, 2)
	require.Equal(t, "rel-keeper-1.rel-keeper-headless.elsewhere.svc.example.org", cfg.Member(6).Addresses[0].Host)
	require.True(t, cfg.ReconfigEnabled)
	require.False(t, cfg.StandaloneEnabled)
	require.NotEmpty(t, cfg.SuperDigest)

	cfg, im, _ = pods(valueSets["auth"])
	require.True(t, cfg.SessionRequireClientSASLAuth)
	require.True(t, cfg.QuorumAuth.ServerRequireSASL)
	require.Contains(t, im.Login, `user_b="y"`)

	cfg, _, _ = pods(valueSets["tls"])
	require.True(t, cfg.SSLQuorum)
	require.Equal(t, 3181, cfg.SecureClientPort)
	require.Equal(t, "need", cfg.TLS.ClientAuth)

	cfg, _, _ = pods(valueSets["metrics"])
	require.Equal(t, 9141, cfg.Metrics.Port)
}

// The jobs change the servers of an ensemble before and after an upgrade, and only if there is an ensemble whose
// servers are the pods.
func TestReconfigJobs(t *testing.T) {
	objects := renderSet(t, valueSets["auth"])
	leave, join := as[batchv1.Job](t, objects, "Job", "-leave"), as[batchv1.Job](t, objects, "Job", "-join")
	require.Equal(t, "pre-upgrade", leave.Annotations["helm.sh/hook"])
	require.Equal(t, "post-upgrade", join.Annotations["helm.sh/hook"])
	require.Equal(t, []string{"warren", "reconfig", "--leave-only", "--wait", "5m"}, leave.Spec.Template.Spec.Containers[0].Command)
	require.Equal(t, []string{"warren", "reconfig", "--wait", "5m"}, join.Spec.Template.Spec.Containers[0].Command)
	set := as[appsv1.StatefulSet](t, objects, "StatefulSet", "")
	ofServers := map[string]string{}
	for _, e := range set.Spec.Template.Spec.Containers[0].Env {
		ofServers[e.Name] = e.Value
	}
	for _, e := range join.Spec.Template.Spec.Containers[0].Env {
		require.Equal(t, ofServers[e.Name], e.Value, e.Name)
	}
	for _, without := range []string{"replicaCount: 3\nreconfig: { enabled: false }", "replicaCount: 3\nzooServers: a:1:2 b:1:2",
		"replicaCount: 3\nconfiguration: a=b", "replicaCount: 3\nexistingConfigmap: mine"} {
		for _, o := range renderSet(t, without) {
			require.NotEqual(t, "Job", o.kind, without)
		}
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	c, err := load(ours)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"auth: { client: { enabled: true } }": "auth.client.enabled needs auth.client.clientUser",
		"auth: { quorum: { enabled: true } }": "auth.quorum.enabled needs auth.quorum.learnerUser",
		"tls: { client: { enabled: true } }":  "tls.client.enabled needs tls.client.existingSecret",
		"resourcesPreset: huge":               "the preset huge of resources is none of",
	} {
		values, err := chartutil.ReadValues([]byte(text))
		require.NoError(t, err)
		_, err = render(c, "rel", values)
		require.ErrorContains(t, err, want)
	}
}

// TestReadmeHasEveryValue compares the table of the README with values.yaml and the comments there.
func TestReadmeHasEveryValue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(ours, "values.yaml"))
	require.NoError(t, err)
	var document yamlnode.Node
	require.NoError(t, yamlnode.Unmarshal(text, &document))
	var table strings.Builder
	table.WriteString("| value | default | meaning |\n| --- | --- | --- |\n")
	var walk func(path string, m *yamlnode.Node)
	walk = func(path string, m *yamlnode.Node) {
		for i := 0; i < len(m.Content); i += 2 {
			key, value := m.Content[i], m.Content[i+1]
			name := strings.TrimPrefix(path+"."+key.Value, ".")
			if value.Kind == yamlnode.MappingNode && len(value.Content) > 0 && value.Style&yamlnode.FlowStyle == 0 && name != "metrics.service.annotations" {
				walk(name, value)
				continue
			}
			shown := *value
			shown.LineComment, shown.HeadComment, shown.FootComment = "", "", ""
			shown.Style |= yamlnode.FlowStyle
			out, err := yamlnode.Marshal(&shown)
			require.NoError(t, err)
			meaning := value.LineComment
			if meaning == "" {
				meaning = key.LineComment
			}
			fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", name, strings.TrimSpace(string(out)), strings.TrimPrefix(meaning, "# "))
		}
	}
	walk("", document.Content[0])

	file := filepath.Join(ours, "README.md")
	readme, err := os.ReadFile(file)
	require.NoError(t, err)
	before, _, found := bytes.Cut(readme, []byte("| value | default | meaning |\n"))
	require.True(t, found)
	whole := string(before) + table.String()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(whole), 0o644))
	}
	require.True(t, whole == string(readme) || *update, "the table is old: go test -run Readme -update")
	require.Greater(t, strings.Count(table.String(), "\n"), 200)
}

// Each difference from the original chart that TestLikeBitnami accepts is told in the README.
func TestReadmeHasDifferences(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(ours, "README.md"))
	require.NoError(t, err)
	reasons := map[string]bool{}
	for _, a := range accepted {
		reasons[a.why] = true
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		require.Contains(t, strings.Join(strings.Fields(string(readme)), " "), why)
	}
}
