package abuse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestEndOfALargeSession ends a session with very many ephemerals. The good clients go on, and in an ensemble the same
// server leads.
func TestEndOfALargeSession(t *testing.T) {
	counts := []int{100_000}
	if *fullFlag {
		counts = []int{1_000_000, 2_000_000}
	}
	for name, members := range map[string]int{"alone": 1, "ensemble": 3} {
		for _, count := range counts {
			for _, parents := range []int{1, 40} {
				for _, how := range []string{"closed", "expired"} {
					if !*fullFlag && (parents == 1) != (how == "expired") {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d/below-%d/%s", name, count, parents, how), func(t *testing.T) {
						endLarge(t, members, count, parents, how == "expired")
					})
				}
			}
		}
	}
}

// endLarge ends a session of so many ephemerals below some parents.
func endLarge(t *testing.T, members, count, parents int, expired bool) {
	tg := startTarget(t, members, nil)
	a := &attack{t: witness{}, site: tg.site(t)}
	defer a.closeAll()
	owner := must.Do(wire.Dial(a.site.Client, wire.Options{TimeoutMs: 5000, Reply: time.Minute}))(t)
	defer owner.Close()
	for i := range parents {
		a.fill(fmt.Sprintf("/many%d", i), count/parents, proto.ModeEphemeral, owner)
	}
	require.EqualValues(t, count, tg.most(t, "ephemerals_count"))
	connected := time.Now()
	l := startLoad(t, cluster.Addrs(tg.nodes)...)
	before, began := epoch(l), time.Now()
	if expired {
		owner.Close()
	} else {
		require.NoError(t, owner.CloseSession())
	}
	gone := func() bool { return tg.most(t, "ephemerals_count") == 0 }
	cluster.Eventually(t, gone, 3*time.Minute, "the ephemerals are still there")
	took := time.Since(began)
	time.Sleep(time.Second) // an election that the end has caused would begin by now
	var worst time.Duration
	for i, of := range slices.Collect(slices.Chunk(l.clients, len(l.clients)/members)) {
		// A request that was sent before the end may wait, too.
		during, err := (&load{clients: of}).between(connected, time.Now())
		require.NoError(t, err, "a good client of server %d", i+1)
		worst = max(worst, during.readMax, during.writeMax)
		mode := wire.MustFourLetter(t, tg.nodes[i].Addr(), "srvr", time.Minute)
		_, mode, _ = strings.Cut(mode, "Mode: ")
		mode, _, _ = strings.Cut(mode, "\n")
		t.Logf("%-10s longest read %v, longest write %v", mode, during.readMax, during.writeMax)
	}
	t.Logf("gone after %v", took)
	require.Equal(t, before, epoch(l), "another server was elected")
	require.Less(t, worst, stallMax, "longest wait of a good client")
}

// most is the largest value of a line of mntr among the servers.
func (tg *target) most(t *testing.T, name string) (most int64) {
	all := must.Do(tg.held())(t)
	for _, h := range all {
		most = max(most, h[name])
	}
	return most
}

// epoch is that of the newest txn that the good clients have seen.
func epoch(l *load) (newest int64) {
	for _, c := range l.clients {
		newest = max(newest, c.conn.LastZxid().Epoch())
	}
	return newest
}
