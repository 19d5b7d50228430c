package wal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func TestLocate(t *testing.T) {
	o := Options{FS: newMem(t), Dir: dir}
	l := rolled(t, o) // files from 1, 4 and 7
	defer l.Close()
	require.NoError(t, l.Sync())
	last := l.LastZxid()
	for z := proto.Zxid(1); z <= last; z++ {
		p, ok, err := l.Locate(z)
		require.NoError(t, err)
		require.True(t, ok, z)
		require.Equal(t, z, p.At)
		next := z + 1
		if z == last {
			next = 0
		}
		require.Equal(t, next, p.Next, z)
		require.Positive(t, p.Rest)
	}
	p, ok, err := l.Locate(last + 100)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, Place{At: last, Rest: p.Rest}, p)
	_, ok, err = l.Locate(0)
	require.NoError(t, err)
	require.False(t, ok, "the log does not reach down to it")
}

func TestLocateBetweenEpochs(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	defer l.Close()
	_, ok, err := l.Locate(1)
	require.NoError(t, err)
	require.False(t, ok, "the log is empty")
	add(t, l, 0x100000001, 0x100000003, 20)
	add(t, l, 0x300000001, 0x300000002, 20)
	require.NoError(t, l.Sync())
	p, ok, err := l.Locate(0x100000007)
	require.NoError(t, err)
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
	_, ok, err := l.Locate(1)
	require.NoError(t, err)
	require.False(t, ok)
}
