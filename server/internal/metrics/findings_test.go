package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/test/must"
)

// several is a collector of findings.
type several []findings.Finding

func (several) Describe(chan<- *prometheus.Desc) {}

func (s several) Collect(ch chan<- prometheus.Metric) { sender(ch).findings(s) }

// Two findings of one check at one server are one series; those that differ in a label are several.
func TestFindingsAreSeries(t *testing.T) {
	all := several{
		{Check: "certificate", Severity: findings.Critical, Server: 2, What: "of the client ports"},
		{Check: "certificate", Severity: findings.Critical, Server: 2, What: "for the other servers"},
		{Check: "certificate", Severity: findings.Warning, Server: 2},
		{Check: "certificate", Severity: findings.Critical, Server: 3},
		{Check: "no-spare", Severity: findings.Error, Server: findings.NoServer},
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(all)
	must.Do(registry.Gather())(t)
	require.Equal(t, 4, testutil.CollectAndCount(all, "warren_finding"))
}
