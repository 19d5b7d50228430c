package flow

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// The window that is kept while the log is replayed costs the same for each txn, however long the log is.
func TestRecentTxnsOfALongLog(t *testing.T) {
	for _, v := range []struct {
		name    string
		n       int
		payload int
		atLeast int    // txns kept
		copied  uint64 // bytes for each txn, at most
	}{
		{"small txns", 40_000, 10, WindowTxns, 1000},
		{"large txns", 10_000, 40_000, recentBytesMax / 2 / 40_000, 50_000},
	} {
		t.Run(v.name, func(t *testing.T) {
			payload := make([]byte, v.payload)
			r := NewRecentTxns(WindowTxns)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for z := proto.Zxid(1); z <= proto.Zxid(v.n); z++ {
				r.Add(z, payload)
				if len(r.txns) > 2*WindowTxns || r.bytes > recentBytesMax {
					t.Fatalf("%d txns, %d bytes are kept", len(r.txns), r.bytes)
				}
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(v.n)*v.copied)

			window, first := r.Take(proto.Zxid(v.n))
			require.GreaterOrEqual(t, len(window), v.atLeast-1)
			require.Equal(t, proto.Zxid(v.n), window[len(window)-1].Zxid)
			require.Equal(t, first+1, window[0].Zxid)
		})
	}
}
