package wal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func TestMarks(t *testing.T) {
	var m marks
	m.add(1, headerSize)
	m.add(5, markEvery)
	require.Empty(t, m, "too close to the beginning")
	m.add(7, headerSize+markEvery)
	m.add(8, headerSize+markEvery+100)
	m.add(9, headerSize+3*markEvery)
	require.Equal(t, marks{{7, headerSize + markEvery}, {9, headerSize + 3*markEvery}}, m)
	for z, offset := range map[proto.Zxid]int64{1: headerSize, 6: headerSize, 7: m[0].offset, 8: m[0].offset,
		9: m[1].offset, 99: m[1].offset} {
		require.Equal(t, offset, m.before(z), z)
	}
	held := m
	m.cut(m[1].offset)
	m.add(10, headerSize+2*markEvery)
	require.Equal(t, []proto.Zxid{7, 10}, []proto.Zxid{m[0].zxid, m[1].zxid})
	require.Equal(t, proto.Zxid(9), held[1].zxid)
}

// A txn is found behind whatever mark it is: in a file that was written, replayed, or cut.
func TestLocateBehindMarks(t *testing.T) {
	const size, last = 10_000, 500
	o := Options{FS: newMem(t), Dir: dir}
	l, _ := open(t, o, 1)
	check := func(last proto.Zxid) {
		require.Greater(t, len(l.mu.segments[0].marks), 2)
		for z := proto.Zxid(1); z <= last; z++ {
			p, ok := locate(t, l, z)
			require.True(t, ok)
			require.Equal(t, z, p.At)
			require.NotEmpty(t, p.Txn)
			if z < last {
				require.Equal(t, z+1, p.Next)
			}
		}
	}
	for z := proto.Zxid(1); z <= last; z += 5 {
		add(t, l, z, z+4, size)
	}
	require.NoError(t, l.Sync())
	check(last)
	require.NoError(t, l.Close())
	l, _ = open(t, o, 1)
	check(last)
	require.NoError(t, l.Truncate(last-50))
	check(last - 50)
	add(t, l, last-49, last, size)
	require.NoError(t, l.Sync())
	check(last)
	require.NoError(t, l.Truncate(last-120))
	check(last - 120)
	require.NoError(t, l.Close())
}

// Repeated txns, which ZooKeeper leaves, do not hide what is behind a mark.
func TestMarksAmongRepeatedTxns(t *testing.T) {
	const size = 100_000
	e := proto.MakeZxid(2, 0)
	o := Options{FS: newMem(t), Dir: dir}
	writeFile(t, o.FS, fileName(e+1), logFile(batch(e+1, e+30, size), batch(e+5, e+40, size)))
	l, _ := open(t, o, e+1)
	require.Greater(t, len(l.mu.segments[0].marks), 2)
	for z := e + 1; z <= e+40; z++ {
		p, ok := locate(t, l, z)
		require.True(t, ok)
		require.Equal(t, z, p.At)
	}
	require.NoError(t, l.Truncate(e+33))
	require.Equal(t, e+33, l.LastZxid())
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, o.FS, e+1)
	require.Len(t, zxids, 33)
}
