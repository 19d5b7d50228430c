package wal

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// FuzzReplay replays arbitrary bytes as the last file of a log. For any bytes, Replay does not
// panic, allocates no more than a buffer and a multiple of the input, and either refuses with file
// and offset or leaves a log that yields the same records again and can be appended to.
func FuzzReplay(f *testing.F) {
	f.Add(logFile(batch(1, 3, 9)))
	f.Add(logFile(batch(1, 3, 9), pad(100)))
	f.Add(logFile(batch(1, 3, 9), batch(4, 4, 50)[:40], pad(100)))
	f.Add(logFile(batch(1, 1, 9), pad(60), batch(3, 3, 9)))
	f.Add(logFile(batch(1, 1, 9))[:10])
	for _, name := range []string{
		"zookeeper-3.8/11-tiny/version-2/log.1", "zookeeper-3.8/04-torn-tail-truncated/version-2/log.1",
	} {
		b := must.ReadFile(f, filepath.Join(fixtures, name))
		f.Add(b[:min(len(b), 4096)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := newMem(t)
		writeFile(t, m, "log.1", b)
		o := Options{FS: m, Dir: dir}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, verifyErr := Verify(o, 1, nil)
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10+8*len(b)))

		l := must.Do(Open(o))(t)
		var zxids []proto.Zxid
		last, err := l.Replay(1, func(r *Record) error {
			zxids = append(zxids, r.Zxid)
			return nil
		})
		require.Equal(t, verifyErr, err)
		if e, ok := errors.AsType[*Error](err); ok {
			require.Equal(t, dir+"/log.1", e.File)
			require.LessOrEqual(t, e.Offset, int64(len(b)))
			require.NoError(t, l.Close())
			require.Empty(t, m.OpenFiles())
			return
		}
		if errors.Is(err, ErrName) { // it holds no txn but 0, which no server writes
			require.ErrorContains(t, err, "rename it to log.0")
			require.NoError(t, l.Close())
			require.Empty(t, m.OpenFiles())
			return
		}
		require.NoError(t, err)
		if last+1 > last && Follows(last, last+1) {
			require.NoError(t, l.Append(batch(last+1, last+1, 5), last+1, last+1))
			zxids = append(zxids, last+1)
		}
		require.NoError(t, l.Close())
		require.Empty(t, m.OpenFiles())
		var again []proto.Zxid
		r, err := Verify(o, 1, func(r *Record) error {
			again = append(again, r.Zxid)
			return nil
		})
		require.NoError(t, err)
		require.Empty(t, r.Repairs)
		require.Equal(t, zxids, again)
	})
}
