package durable

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// A learner is sent txns of the log only if nothing is missing behind those that it has: a purge may have come since
// the leader decided to send them, and at the beginning of an epoch no zxid tells what it has taken.
func TestTxnsOfTheLogAfterAPurge(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("/log"))
	log := must.Do(wal.Open(wal.Options{FS: fs, Dir: "/log"}))(t)
	must.Do(log.Replay(1, func(*wal.Record) error { return nil }))(t)
	defer log.Close()
	disk := &Disk{WAL: log}
	e := proto.MakeZxid
	add := func(first, last proto.Zxid) {
		t.Helper()
		var framed []byte
		for z := first; z <= last; z++ {
			h := proto.TxnHeader{Zxid: z, Type: proto.OpSetData}
			framed = wal.AppendRecord(framed, h.AppendTo(nil))
		}
		require.NoError(t, log.Append(framed, first, last))
		require.NoError(t, log.Sync())
	}
	add(e(1, 1), e(1, 3))
	require.NoError(t, log.Roll())
	add(e(1, 4), e(1, 6))
	require.NoError(t, log.Roll())
	add(e(2, 1), e(2, 3))
	sent := func(after, upTo proto.Zxid) (int, error) {
		n, last := 0, after
		err := disk.Txns(after, upTo, func(z proto.Zxid, payload []byte) error {
			h := proto.TxnHeader{Zxid: z, Type: proto.OpSetData}
			require.Equal(t, h.AppendTo(nil), payload)
			require.Greater(t, z, last)
			n, last = n+1, z
			return nil
		})
		return n, err
	}
	all := map[proto.Zxid]int{0: 9, e(1, 2): 7, e(1, 3): 6, e(1, 6): 3, e(2, 0): 3, e(2, 2): 1}
	for after, want := range all {
		n, err := sent(after, e(2, 3))
		require.NoError(t, err, after)
		require.Equal(t, want, n, after)
	}
	must.Do(log.Purge(e(1, 4)))(t)
	for after, want := range map[proto.Zxid]int{e(1, 2): 0, e(1, 3): 6, e(1, 4): 5, e(1, 6): 3} {
		n, err := sent(after, e(2, 3))
		require.Equal(t, want, n, after)
		require.Equal(t, want == 0, errors.Is(err, errPurged), "%v: %v", after, err)
	}
	must.Do(log.Purge(e(2, 1)))(t)
	for after, want := range map[proto.Zxid]int{e(1, 2): 0, e(1, 4): 0, e(1, 6): 0, e(2, 0): 3, e(2, 1): 2} {
		n, err := sent(after, e(2, 3))
		require.Equal(t, want, n, after)
		require.Equal(t, want == 0, errors.Is(err, errPurged), "%v: %v", after, err)
		require.NotContains(t, fmt.Sprint(err), "version-2", "nothing is wrong with the log")
	}
}
