package wal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestLocate(t *testing.T) {
	o := Options{FS: newMem(t), Dir: dir}
	l := rolled(t, o) // files from 1, 4 and 7
	defer l.Close()
	require.NoError(t, l.Sync())
	last := l.LastZxid()
	for z := proto.Zxid(1); z <= last; z++ {
		p, ok := locate(t, l, z)
		require.True(t, ok, z)
		require.Equal(t, z, p.At)
		next := z + 1
		if z == last {
			next = 0
		}
		require.Equal(t, next, p.Next, z)
		require.Positive(t, p.Rest)
		it := must.Do(l.Records(z))(t)
		require.Equal(t, must.Do(it.Next())(t).Payload, p.Txn)
		it.Close()
	}
	p, ok := locate(t, l, last+100)
	require.True(t, ok)
	require.Equal(t, Place{At: last, Rest: p.Rest}, p)
	_, ok = locate(t, l, 0)
	require.False(t, ok, "the log does not reach down to it")
}

func TestLocateBetweenEpochs(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	defer l.Close()
	_, ok := locate(t, l, 1)
	require.False(t, ok, "the log is empty")
	add(t, l, 0x100000001, 0x100000003, 20)
	add(t, l, 0x300000001, 0x300000002, 20)
	require.NoError(t, l.Sync())
	p, ok := locate(t, l, 0x100000007)
	require.True(t, ok)
	require.Equal(t, proto.Zxid(0x100000003), p.At)
	require.Equal(t, proto.Zxid(0x300000001), p.Next)
}

func TestLocateStopsAtWhatWasNotVerified(t *testing.T) {
	o := Options{FS: newMem(t), Dir: dir}
	l := rolled(t, o)
	last := l.LastZxid()
	require.NoError(t, l.Close())
	l, _ = open(t, o, last+1) // a snapshot at the end: older files are not read
	defer l.Close()
	_, ok := locate(t, l, 1)
	require.False(t, ok)
}

// TestLocateDoesNotReachOverAGap has files from before a snapshot was installed, in front of what was logged
// after it.
func TestLocateDoesNotReachOverAGap(t *testing.T) {
	e := func(epoch int64, counter uint32) proto.Zxid { return proto.MakeZxid(epoch, counter) }
	for name, c := range map[string]struct {
		before   proto.Zxid // end of the old file, which begins with 1.1
		snapshot proto.Zxid
		first    proto.Zxid // of what is logged after it
		z        proto.Zxid
		ok       bool
	}{
		"alien txns of an epoch that has ended":  {e(1, 9), e(2, 3), e(3, 1), e(1, 7), false},
		"a hole in one epoch":                    {e(1, 4), e(1, 8), e(1, 9), e(1, 3), false},
		"the snapshot itself":                    {e(1, 4), e(1, 8), e(1, 9), e(1, 8), false},
		"after the hole":                         {e(1, 4), e(1, 8), e(1, 9), e(1, 10), true},
		"a snapshot of what is in the log":       {e(1, 9), e(1, 8), e(1, 10), e(1, 3), true},
		"a snapshot at the end of the log":       {e(1, 9), e(1, 9), e(1, 10), e(1, 3), true},
		"between the snapshot and the next one":  {e(1, 9), e(1, 9), e(2, 1), e(1, 30), true},
		"above a snapshot at the end of the log": {e(1, 9), e(1, 9), e(2, 1), e(2, 2), true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMem(t)
			writeFile(t, m, fileName(e(1, 1)), logFile(batch(e(1, 1), c.before, 9)))
			l, zxids := open(t, Options{FS: m, Dir: dir}, c.snapshot+1)
			defer l.Close()
			require.Equal(t, c.before < c.snapshot, l.Detached())
			first := c.first
			if len(zxids) == 0 || first > zxids[len(zxids)-1] {
				add(t, l, first, first+3, 9)
			}
			require.NoError(t, l.Sync())
			p, ok := locate(t, l, c.z)
			require.Equal(t, c.ok, ok, "%+v", p)
			if ok {
				require.LessOrEqual(t, p.At, c.z)
				require.Greater(t, p.Next, c.z)
			}
		})
	}
}
