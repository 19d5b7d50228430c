// Package helm renders the chart of deploy/helm with Helm's own code, and decodes what comes out with the types of
// Kubernetes and of the Prometheus operator, strictly. It is a module of its own, which the workspace does not name:
// these libraries take minutes to build, and no program and no other test needs them. `make helm` runs it. No
// goroutine is started.
package helm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// object is one object that a chart renders.
type object struct {
	kind, name string
	fields     map[string]any
}

func (o object) key() string { return o.kind + "/" + o.name }

// load returns the chart in a folder.
func load(folder string) (*chart.Chart, error) { return loader.LoadDir(folder) }

// installed is a release in the namespace ns that is installed, not upgraded.
func installed(name string) chartutil.ReleaseOptions {
	return chartutil.ReleaseOptions{Name: name, Namespace: "ns", Revision: 1, IsInstall: true}
}

// upgraded is a release that was there.
func upgraded(name string) chartutil.ReleaseOptions {
	return chartutil.ReleaseOptions{Name: name, Namespace: "ns", Revision: 2, IsUpgrade: true}
}

// render returns the objects of a release, in the order of their keys.
func render(c *chart.Chart, release chartutil.ReleaseOptions, values map[string]any) ([]object, error) {
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return renderFiles(engine.Render(c, all))
}

// renderFiles returns the objects of the files of a chart.
func renderFiles(files map[string]string, err error) ([]object, error) {
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		for _, text := range strings.Split("\n"+files[name], "\n---") {
			fields := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(text), &fields); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
			}
			if len(fields) == 0 {
				continue
			}
			if err := strict(fields); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
			}
			o := object{fields: fields}
			o.kind, _ = fields["kind"].(string)
			metadata, _ := fields["metadata"].(map[string]any)
			o.name, _ = metadata["name"].(string)
			objects = append(objects, o)
		}
	}
	slices.SortFunc(objects, func(x, y object) int { return strings.Compare(x.key(), y.key()) })
	return objects, nil
}

// decoder knows the types of Kubernetes and of the Prometheus operator. An unknown field is an error for it.
var decoder = sync.OnceValues(func() (runtime.Decoder, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoringv1.AddToScheme} {
		if err := add(types); err != nil {
			return nil, err
		}
	}
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer(), nil
})

// certificate is what the chart uses of the type Certificate of cert-manager.
type certificate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretName string `json:"secretName"`
		IssuerRef  struct {
			Name  string `json:"name"`
			Kind  string `json:"kind"`
			Group string `json:"group"`
		} `json:"issuerRef"`
		Duration    metav1.Duration `json:"duration"`
		RenewBefore metav1.Duration `json:"renewBefore"`
		CommonName  string          `json:"commonName"`
		DNSNames    []string        `json:"dnsNames"`
		IPAddresses []string        `json:"ipAddresses"`
		Usages      []string        `json:"usages"`
		PrivateKey  struct {
			RotationPolicy string `json:"rotationPolicy"`
		} `json:"privateKey"`
	} `json:"spec"`
}

// strict decodes an object with the types of its API.
func strict(fields map[string]any) error {
	text, err := yaml.Marshal(fields)
	if err != nil {
		return err
	}
	if fields["apiVersion"] == "cert-manager.io/v1" {
		return yaml.UnmarshalStrict(text, &certificate{})
	}
	d, err := decoder()
	if err != nil {
		return err
	}
	_, err = runtime.Decode(d, text)
	return err
}
