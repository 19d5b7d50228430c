package abuse

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// TestEndOfALargeSession ends a session with very many ephemerals. The good clients go on, and in an ensemble the same
// server leads.
func TestEndOfALargeSession(t *testing.T) {
	count := 100_000
	if *fullFlag {
		count = 1_000_000
	}
	for name, members := range map[string]int{"alone": 1, "ensemble": 3} {
		t.Run(name, func(t *testing.T) {
			tg := startTarget(t, members, nil)
			a := &attack{t: witness{}, site: tg.site(t)}
			defer a.closeAll()
			owner := a.helper()
			a.fill("/many", count, proto.ModeEphemeral, owner)
			l := startLoad(t, tg.addrs()...)
			before := epoch(l)
			during := l.measure(t, func() {
				_, err := owner.Do(wire.Request{Op: proto.OpCloseSession})
				require.NoError(t, err)
				time.Sleep(time.Second) // what is measured here is time itself
			})
			t.Logf("%+v", during)
			require.Less(t, max(during.readMax, during.writeMax), stallMax, "longest wait of a good client")
			require.Equal(t, before, epoch(l), "another server was elected")
		})
	}
}

// epoch is that of the newest txn that the good clients have seen.
func epoch(l *load) (newest int64) {
	for _, c := range l.clients {
		newest = max(newest, c.conn.LastZxid().Epoch())
	}
	return newest
}
