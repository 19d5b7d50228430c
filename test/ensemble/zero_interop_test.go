//go:build interop

package ensemble

import (
	"fmt"
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

// TestNumberedFromZeroMixed is TestNumberedFromZero with servers in Java among the three, and with those alone.
func TestNumberedFromZeroMixed(t *testing.T) {
	const ours, java = cluster.Warren, cluster.ZooKeeper
	for _, kinds := range [][]cluster.Kind{{ours, java, java}, {java, ours, ours}, {java, java, java}} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) { numberedFromZero(t, kinds...) })
	}
}
