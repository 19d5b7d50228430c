package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// manifests are the objects of deploy/kubernetes.
type manifests struct {
	config     configMap
	services   map[string]serviceSpec
	disruption disruptionSpec
	policy     policySpec
	set        setSpec
	setName    string
}

// readManifests decodes every file that kustomization.yaml names.
func readManifests(t *testing.T) (m manifests) {
	t.Helper()
	var kustomization struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Resources  []string `yaml:"resources"`
		Images     []struct {
			Name    string `yaml:"name"`
			NewName string `yaml:"newName"`
			NewTag  string `yaml:"newTag"`
		} `yaml:"images"`
	}
	decode(t, read(t, "kubernetes/kustomization.yaml"), &kustomization)
	m.services = map[string]serviceSpec{}
	for _, file := range kustomization.Resources {
		for _, text := range strings.Split(read(t, "kubernetes/"+file), "\n---\n") {
			var head struct {
				Kind string `yaml:"kind"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(text), &head))
			switch head.Kind {
			case "ConfigMap":
				decode(t, text, &m.config)
			case "Service":
				service := decodeObject[serviceSpec](t, text, "v1")
				m.services[service.Metadata.Name] = service.Spec
			case "PodDisruptionBudget":
				m.disruption = decodeObject[disruptionSpec](t, text, "policy/v1").Spec
			case "NetworkPolicy":
				m.policy = decodeObject[policySpec](t, text, "networking.k8s.io/v1").Spec
			case "StatefulSet":
				set := decodeObject[setSpec](t, text, "apps/v1")
				m.set, m.setName = set.Spec, set.Metadata.Name
			default:
				require.Fail(t, fmt.Sprintf("%s: kind %q is unknown to this test", file, head.Kind))
			}
		}
	}
	require.Equal(t, m.set.Template.Spec.Containers[0].Image, kustomization.Images[0].Name)
	files := must.Glob(t, "../../deploy/kubernetes/*.yaml")
	require.Len(t, files, len(kustomization.Resources)+1, "a file is not in kustomization.yaml")
	return m
}

func decodeObject[S any](t *testing.T, text, version string) (o object[S]) {
	t.Helper()
	decode(t, text, &o)
	require.Equal(t, version, o.APIVersion)
	return o
}

// decode refuses fields that into does not know, and keys that are given twice.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(into), "%s", text)
}

// Every selector finds the servers, and every port that is named exists.
func TestManifestsReferToEachOther(t *testing.T) {
	m := readManifests(t)
	labels := m.set.Template.Metadata.Labels
	require.NotEmpty(t, labels)
	require.Equal(t, labels, m.set.Selector.MatchLabels)
	require.Equal(t, labels, m.disruption.Selector.MatchLabels)
	require.Equal(t, labels, m.policy.PodSelector.MatchLabels)
	server := m.set.Template.Spec.Containers[0]
	ports := map[string]int{}
	for _, p := range server.Ports {
		ports[p.Name] = p.ContainerPort
	}
	require.Equal(t, map[string]int{"client": 2181, "quorum": 2888, "election": 3888, "admin": 8080}, ports)
	for name, service := range m.services {
		require.Equal(t, labels, service.Selector, name)
		for _, p := range service.Ports {
			require.Equal(t, ports[p.TargetPort], p.Port, "%s: %s", name, p.Name)
		}
	}
	headless := m.services[m.set.ServiceName]
	require.Equal(t, "None", headless.ClusterIP)
	require.True(t, headless.PublishNotReadyAddresses, "servers become ready through each other")

	claims := map[string]bool{}
	for _, c := range m.set.VolumeClaimTemplates {
		claims[c.Metadata.Name] = true
	}
	volumes := map[string]string{}
	for _, v := range m.set.Template.Spec.Volumes {
		volumes[v.Name] = v.ConfigMap.Name
	}
	for _, mount := range server.VolumeMounts {
		_, volume := volumes[mount.Name]
		require.True(t, volume || claims[mount.Name], mount.Name)
	}
	require.Equal(t, m.config.Metadata.Name, volumes["conf"])
	for _, s := range m.set.Template.Spec.TopologySpreadConstraints {
		require.Equal(t, labels, s.LabelSelector.MatchLabels)
	}
}

// The configuration names each pod under the name and with the id that it will have, and every id is told to its
// server.
func TestManifestsAreAnEnsemble(t *testing.T) {
	m := readManifests(t)
	server := m.set.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range server.Env {
		env[e.Name] = e.Value + e.ValueFrom.FieldRef.FieldPath
	}
	require.Equal(t, "metadata.labels['apps.kubernetes.io/pod-index']", env["ZOO_MY_ID"])
	require.Equal(t, []string{"warren", "server", "/conf/zoo.cfg"}, server.Command)

	dir := t.TempDir()
	mounts := map[string]string{}
	for _, mount := range server.VolumeMounts {
		mounts[mount.MountPath] = mount.Name
	}
	for ordinal := m.set.Ordinals.Start; ordinal < m.set.Ordinals.Start+m.set.Replicas; ordinal++ {
		text := m.config.Data["zoo.cfg"]
		for _, folder := range []string{"/datalog", "/data"} {
			require.Contains(t, mounts, folder)
			require.Contains(t, text, "="+folder+"\n")
			text = strings.ReplaceAll(text, "="+folder+"\n", "="+dir+"\n")
		}
		file := filepath.Join(dir, "zoo.cfg")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		report := config.Check(file, nil, []string{"ZOO_MY_ID=" + strconv.Itoa(ordinal)})
		require.Empty(t, report.Problems)
		require.Empty(t, report.Warnings)
		cfg := report.Config
		require.EqualValues(t, ordinal, cfg.ServerID)
		require.Len(t, cfg.Members, m.set.Replicas)
		own := cfg.Member(cfg.ServerID)
		require.Equal(t, fmt.Sprintf("%s-%d.%s", m.setName, ordinal, m.set.ServiceName), own.Addresses[0].Host)
		require.Equal(t, 2181, cfg.ClientPort)
		require.True(t, cfg.QuorumListenOnAllIPs, "the own name may not resolve yet")
	}
	quorum := m.set.Replicas/2 + 1
	require.LessOrEqual(t, m.disruption.MaxUnavailable, m.set.Replicas-quorum)
	require.Equal(t, "Parallel", m.set.PodManagementPolicy, "a first server alone never becomes ready")
}

// The image's environment makes zoo.cfg of the ConfigMap the file of the image, so that ZOO_MY_ID becomes myid.
func TestManifestsWithTheImage(t *testing.T) {
	m := readManifests(t)
	im := config.NewImage(append(readImage(t).env, "ZOO_MY_ID=2"))
	require.Equal(t, m.set.Template.Spec.Containers[0].Command[2], im.File)
	require.Equal(t, "/data/myid", im.MyIDFile)
	require.Equal(t, "2", im.MyID)
	require.Equal(t, readImage(t).user, fmt.Sprintf("%d:%d", m.set.Template.Spec.SecurityContext.RunAsUser,
		m.set.Template.Spec.SecurityContext.RunAsGroup))
}

func TestManifestsAreRestricted(t *testing.T) {
	m := readManifests(t)
	pod := m.set.Template.Spec
	server := pod.Containers[0]
	require.True(t, pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, "RuntimeDefault", pod.SecurityContext.SeccompProfile.Type)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.False(t, *pod.EnableServiceLinks)
	require.False(t, *server.SecurityContext.AllowPrivilegeEscalation)
	require.True(t, server.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []string{"ALL"}, server.SecurityContext.Capabilities.Drop)
	require.NotEmpty(t, server.Resources.Limits["memory"])
	require.Equal(t, "Retain", m.set.Retention.WhenDeleted)
	require.Equal(t, "Retain", m.set.Retention.WhenScaled)

	for path, p := range map[string]probe{"/healthz": server.LivenessProbe, "/readyz": server.ReadinessProbe} {
		require.Equal(t, path, p.HTTPGet.Path)
		require.Equal(t, "admin", p.HTTPGet.Port)
		require.Positive(t, p.PeriodSeconds*p.FailureThreshold)
	}
	require.Equal(t, "/healthz", server.StartupProbe.HTTPGet.Path)
}

// peer is a pod that connects: its labels, and those of its namespace, unless that is the namespace of the servers.
type peer struct {
	pod, namespace map[string]string
}

// has reports whether labels have those of the selector.
func (s *selector) has(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// admits reports whether a policy lets a pod connect to a port of the servers, as Kubernetes reads it: one rule is
// enough; a rule that names no peers is for all; a peer without a selector of namespaces is of the servers' namespace.
func (p *policySpec) admits(from peer, port string) bool {
	for _, rule := range p.Ingress {
		named := len(rule.Ports) == 0
		for _, one := range rule.Ports {
			named = named || one.Port == port && one.Protocol == "TCP"
		}
		if named && len(rule.From) == 0 {
			return true
		}
		for _, f := range rule.From {
			pods := f.PodSelector == nil || f.PodSelector.has(from.pod)
			here := f.NamespaceSelector == nil && from.namespace == nil
			there := f.NamespaceSelector != nil && from.namespace != nil && f.NamespaceSelector.has(from.namespace)
			if named && pods && (here || there) {
				return true
			}
		}
	}
	return false
}

// Clients come from everywhere, servers alone reach the ports between servers, and the admin port is reached with the
// label warren.admin=true alone, which the namespace of the pod has to have too if it is another one.
func TestNetworkPolicy(t *testing.T) {
	m := readManifests(t)
	require.Equal(t, []string{"Ingress"}, m.policy.PolicyTypes, "what is not admitted is refused")
	server, admin := m.set.Template.Metadata.Labels, map[string]string{"warren.admin": "true"}
	other := map[string]string{"app": "other"}
	for _, tc := range []struct {
		name string
		from peer
		want []string
	}{
		{"a server", peer{server, nil}, []string{"client", "quorum", "election"}},
		{"a pod of the namespace", peer{other, nil}, []string{"client"}},
		{"a pod with the label", peer{admin, nil}, []string{"client", "admin"}},
		{"a pod with another value", peer{map[string]string{"warren.admin": "false"}, nil}, []string{"client"}},
		{"a pod elsewhere", peer{other, other}, []string{"client"}},
		{"a pod elsewhere that calls itself a server", peer{server, other}, []string{"client"}},
		{"a pod with the label elsewhere", peer{admin, other}, []string{"client"}},
		{"a pod without the label in a namespace that has it", peer{other, admin}, []string{"client"}},
		{"a pod with the label in a namespace that has it", peer{admin, admin}, []string{"client", "admin"}},
	} {
		var got []string
		for _, p := range m.set.Template.Spec.Containers[0].Ports {
			if m.policy.admits(tc.from, p.Name) {
				got = append(got, p.Name)
			}
		}
		require.Equal(t, tc.want, got, tc.name)
	}
}
