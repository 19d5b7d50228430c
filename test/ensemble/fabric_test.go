package ensemble

import (
	"net/netip"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

// fabric is a network in which packets can be made late.
type fabric struct {
	*cluster.Fabric
	t    testing.TB
	n    int
	late []*delayLine // where the kernel has no netem
}

// newFabric makes n namespaces, or returns nil if this process may not.
func newFabric(t testing.TB, n int) *fabric {
	t.Helper()
	network := cluster.NewFabric(t, n)
	if network == nil {
		return nil
	}
	f := &fabric{Fabric: network, t: t, n: n}
	t.Cleanup(f.endDelays)
	return f
}

// heal ends all that Drop and slow have done.
func (f *fabric) heal() {
	f.Heal()
	for i := 1; i <= f.n; i++ {
		_ = cluster.Run("tc", "-n", f.Namespace(i), "qdisc", "del", "dev", "eth0", "root")
	}
	f.endDelays()
}

// slow adds a delay to all that i sends. It reports false if this machine cannot.
func (f *fabric) slow(i int, delay time.Duration) bool {
	f.t.Helper()
	if cluster.Run("tc", "-n", f.Namespace(i), "qdisc", "replace", "dev", "eth0", "root", "netem", "delay",
		delay.String()) == nil {
		return true
	}
	l, err := startDelayLine(f.Namespace(i), netip.MustParseAddr(f.Addr(i)), delay)
	if err != nil {
		f.t.Logf("nothing can be made late: %v", err)
		return false
	}
	f.late = append(f.late, l)
	return true
}

func (f *fabric) endDelays() {
	for _, l := range f.late {
		l.end()
	}
	f.late = nil
}
