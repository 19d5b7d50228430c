package backup

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
)

// A leader was ahead by an hour. A time that comes before the hour and after it is refused with the txns that it may
// mean, and each of them can be restored.
func TestTimesThatGoBack(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	const begin = 1_900_000_000_000 // later than all of the fixture
	log := logHeader()
	for i, second := range []int64{10, 20, 3630, 3640, 30, 40, 3700} {
		h := proto.TxnHeader{ClientID: 1, Cxid: 1, Zxid: proto.Zxid(0x100000001 + i), Time: begin + second*1000,
			Type: proto.OpError}
		e := proto.ErrorTxn{Err: proto.ErrNoNode}
		log = wal.AppendRecord(log, e.AppendTo(h.AppendTo(nil)))
	}
	put(t, mem, "/s/log.100000001", log)
	mustAdd(t, mem, src, Options{})
	b := opened(t, mem, "/b")
	restore := func(target Target) (proto.Zxid, error) {
		r, err := b.Restore(Destination{FS: mem, SnapDir: "/r", LogDir: "/r", Replace: true}, target)
		return r.Zxid, err
	}
	for second, want := range map[int64]proto.Zxid{
		10: 0x100000001, 15: 0x100000001, 3645: 0x100000006, 3700: 0x100000007, 9000: 0x100000007,
	} {
		got, err := restore(Target{TimeMs: begin + second*1000})
		require.NoError(t, err, second)
		require.Equal(t, want, got, second)
	}

	_, err := restore(Target{TimeMs: begin + 35_000})
	require.ErrorIs(t, err, errClockWentBack)
	require.ErrorContains(t, err,
		"; --zxid 0x100000002, made at 2030-03-17T17:47:00.000Z, is followed by 0x100000003 of "+
			"2030-03-17T18:47:10.000Z; --zxid 0x100000005, made at 2030-03-17T17:47:10.000Z, is followed by ")
	for _, zxid := range []proto.Zxid{0x100000002, 0x100000005} {
		require.Equal(t, zxid, must.Do(restore(Target{Zxid: zxid}))(t))
	}
	_, err = restore(Target{TimeMs: begin + 3_635_000})
	require.ErrorContains(t, err, "; --zxid 0x100000003, ")
	require.ErrorContains(t, err, "; --zxid 0x100000006, ")
}
