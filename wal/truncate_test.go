package wal

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// rolled returns a log of the files log.1 (1 to 3), log.4 (4 to 6) and log.7 (7 to 9).
func rolled(t testing.TB, o Options) *Log {
	t.Helper()
	l, _ := open(t, o, 1)
	add(t, l, 1, 3, 20)
	require.NoError(t, l.Roll())
	add(t, l, 4, 6, 20)
	require.NoError(t, l.Roll())
	add(t, l, 7, 9, 20)
	return l
}

func TestTruncateIsExact(t *testing.T) {
	for _, prealloc := range []int64{0, 5000} {
		for last := proto.Zxid(0); last <= 9; last++ {
			m := newMem(t)
			o := Options{FS: m, Dir: dir, PreallocSize: prealloc}
			l := rolled(t, o)
			require.NoError(t, l.Truncate(last))
			require.Equal(t, last, l.LastZxid())
			require.NoError(t, l.Truncate(last), "again")
			require.ErrorIs(t, l.Append(batch(last+2, last+2, 1), last+2, last+2), ErrOrder)
			add(t, l, last+1, last+1, 33)
			require.NoError(t, l.Close())
			l, zxids := open(t, o, 1)
			require.Equal(t, span(1, last+1), zxids)
			require.NoError(t, l.Close())
			require.Empty(t, m.OpenFiles())
		}
	}
}

func TestTruncateToWhatIsNotThere(t *testing.T) {
	m := newMem(t)
	e1, e2 := proto.MakeZxid(1, 0), proto.MakeZxid(2, 0)
	writeFile(t, m, "log.100000003", logFile(batch(e1+3, e1+5, 1), batch(e2+1, e2+2, 1)))
	l, _ := open(t, Options{FS: m, Dir: dir}, e1+4)
	for _, z := range []proto.Zxid{1, e1 + 2, e1 + 6, e2, e2 + 3, proto.MakeZxid(3, 0)} {
		require.ErrorIs(t, l.Truncate(z), ErrNotFound, "%v", z)
		require.Equal(t, e2+2, l.LastZxid())
	}
	require.NoError(t, l.Truncate(e1+5))
	require.NoError(t, l.Truncate(e1+3), "in the file, though before the snapshot")
	require.NoError(t, l.Close())
	require.Equal(t, logFile(batch(e1+3, e1+3, 1)), readFile(t, m, "log.100000003"))
}

func TestTruncateToTheSnapshot(t *testing.T) {
	m := newMem(t)
	writeFile(t, m, "log.5", logFile(batch(5, 9, 1)))
	l, _ := open(t, Options{FS: m, Dir: dir}, 5)
	require.NoError(t, l.Truncate(4))
	require.Empty(t, names(t, m))
	add(t, l, 5, 5, 1)
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, m, 5)
	require.Equal(t, span(5, 5), zxids)
}

func TestResetForgetsEverything(t *testing.T) {
	for _, z := range []proto.Zxid{2, 9, 50} {
		m := newMem(t)
		l := rolled(t, Options{FS: m, Dir: dir})
		require.NoError(t, l.Reset(z))
		require.Empty(t, names(t, m))
		require.Equal(t, z, l.LastZxid())
		add(t, l, z+1, z+2, 1)
		require.NoError(t, l.Truncate(z))
		add(t, l, z+1, z+1, 1)
		require.NoError(t, l.Close())
		_, zxids := openAndClose(t, m, z+1)
		require.Equal(t, span(z+1, z+1), zxids)
	}
}

// TestPurge holds the example of storage 9.
func TestPurge(t *testing.T) {
	m := newMem(t)
	starts := []proto.Zxid{1, 0x90, 0x150, 0x190, 0x260, 0x390}
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	for i, first := range starts {
		last := first
		if i+1 < len(starts) {
			last = starts[i+1] - 1
		}
		add(t, l, first, last, 0)
		require.NoError(t, l.Roll())
	}
	require.Equal(t, []string{"log.1", "log.90", "log.150"}, purge(t, l, 0x200))
	require.Equal(t, []string{"log.190", "log.260", "log.390"}, names(t, m))
	require.Empty(t, purge(t, l, 0x200))
	require.Equal(t, []string{"log.190"}, purge(t, l, 0x38f))
	require.Equal(t, []string{"log.260"}, purge(t, l, 1<<40), "the last file stays")
	add(t, l, 0x391, 0x391, 0)
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, m, 0x390)
	require.Equal(t, span(0x390, 0x391), zxids)
}

// A file that cannot be removed stays known, and is removed later. A file that another process has removed is no
// error.
func TestPurgeTriesAgain(t *testing.T) {
	m := newMem(t)
	l := rolled(t, Options{FS: m, Dir: dir})
	all := names(t, m)
	require.Len(t, all, 3)
	refused := errors.New("read-only")
	m.FailNth(vfs.OpRemove, 1, refused)
	removed, err := l.Purge(1 << 40)
	require.ErrorIs(t, err, refused)
	require.Equal(t, all[:1], removed)
	require.NoError(t, m.Remove(filepath.Join(dir, all[1])))
	require.Equal(t, all[1:len(all)-1], purge(t, l, 1<<40))
	require.Equal(t, all[len(all)-1:], names(t, m))
	require.NoError(t, l.Close())
}

func TestPurgeLeavesOtherFiles(t *testing.T) {
	m := newMem(t)
	l := rolled(t, Options{FS: m, Dir: dir})
	for _, name := range []string{"log.xyz", "log.1.bak", "snapshot.1", "acceptedEpoch"} {
		writeFile(t, m, name, nil)
	}
	purge(t, l, 8)
	require.NoError(t, l.Close())
	require.Equal(t, []string{"acceptedEpoch", "log.1.bak", "log.7", "log.xyz", "snapshot.1"}, names(t, m))
	_, zxids := openAndClose(t, m, 8)
	require.Equal(t, span(8, 9), zxids)
}
