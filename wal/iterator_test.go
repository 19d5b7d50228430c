package wal

import (
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// drain reads all that is there now.
func drain(t testing.TB, it *Iterator) (zxids []proto.Zxid) {
	t.Helper()
	for {
		r, err := it.Next()
		if err == io.EOF {
			return zxids
		}
		require.NoError(t, err)
		require.Equal(t, payload(r.Zxid, len(r.Payload)-payloadMin), r.Payload)
		zxids = append(zxids, r.Zxid)
	}
}

func records(t testing.TB, l *Log, from proto.Zxid) *Iterator {
	t.Helper()
	it := must.Do(l.Records(from))(t)
	return it
}

func TestRecordsReadsWhatIsSynced(t *testing.T) {
	for _, prealloc := range []int64{0, 4000} {
		m := newMem(t)
		l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: prealloc}, 1)
		it := records(t, l, 1)
		require.Empty(t, drain(t, it))
		add(t, l, 1, 2, 100)
		require.Empty(t, drain(t, it), "not synced")
		require.NoError(t, l.Sync())
		require.Equal(t, span(1, 2), drain(t, it))
		require.Empty(t, drain(t, it))
		add(t, l, 3, 3, 9000)
		require.NoError(t, l.Roll())
		add(t, l, 4, 5, 10)
		require.Equal(t, span(3, 3), drain(t, it))
		require.NoError(t, l.Sync())
		require.Equal(t, span(4, 5), drain(t, it))

		later := records(t, l, 4)
		require.Equal(t, span(4, 5), drain(t, later))
		future := records(t, l, 7)
		require.Empty(t, drain(t, future))
		add(t, l, 6, 8, 10)
		require.NoError(t, l.Sync())
		require.Equal(t, span(6, 8), drain(t, later))
		require.Equal(t, span(7, 8), drain(t, future))
		for _, it := range []*Iterator{it, later, future} {
			require.NoError(t, it.Close())
			require.NoError(t, it.Close())
		}
		require.NoError(t, l.Close())
		require.Empty(t, m.OpenFiles())

		l, _ = open(t, Options{FS: m, Dir: dir}, 6)
		it = records(t, l, 2)
		require.Equal(t, span(2, 8), drain(t, it), "also what Replay did not read")
		require.NoError(t, it.Close())
		require.NoError(t, l.Close())
		require.Empty(t, m.OpenFiles())
	}
}

func TestRecordsThatAreGone(t *testing.T) {
	m := newMem(t)
	l := rolled(t, Options{FS: m, Dir: dir})
	purge(t, l, 5)
	require.ErrorIs(t, must.Err(l.Records(3)), ErrGap)
	it := records(t, l, 4)
	require.NoError(t, l.Sync())
	require.Equal(t, span(4, 9), drain(t, it))
	require.NoError(t, it.Close())
	require.NoError(t, l.Reset(100))
	require.ErrorIs(t, must.Err(l.Records(9)), ErrGap)
	it = records(t, l, 101)
	add(t, l, 101, 102, 1)
	require.NoError(t, l.Sync())
	require.Equal(t, span(101, 102), drain(t, it))
	require.NoError(t, it.Close())
	require.ErrorIs(t, must.Err(it.Next()), ErrClosed)
	require.NoError(t, l.Close())
}

// TestRecordsOverAGap checks that a hole which a snapshot once covered is not passed over.
func TestRecordsOverAGap(t *testing.T) {
	m := newMem(t)
	writeFile(t, m, "log.1", logFile(batch(1, 3, 1)))
	writeFile(t, m, "log.9", logFile(batch(9, 10, 1)))
	l, _ := open(t, Options{FS: m, Dir: dir}, 9)
	it := records(t, l, 2)
	for z := proto.Zxid(2); z <= 3; z++ {
		require.Equal(t, z, must.Do(it.Next())(t).Zxid)
	}
	require.ErrorIs(t, must.Err(it.Next()), ErrGap)
	require.NoError(t, it.Close())
	require.NoError(t, l.Close())
}

func TestPurgeWaitsForIterators(t *testing.T) {
	m := newMem(t)
	l := rolled(t, Options{FS: m, Dir: dir})
	require.NoError(t, l.Sync())
	it := records(t, l, 2)
	must.Do(it.Next())(t)
	require.Empty(t, purge(t, l, 9))
	require.Equal(t, span(3, 9), drain(t, it))
	require.Equal(t, []string{"log.1", "log.4"}, purge(t, l, 9))
	require.NoError(t, it.Close())
	require.NoError(t, l.Close())
}

func TestTruncateEndsIterators(t *testing.T) {
	m := newMem(t)
	l := rolled(t, Options{FS: m, Dir: dir})
	require.NoError(t, l.Sync())
	it := records(t, l, 2)
	must.Do(it.Next())(t)
	require.NoError(t, l.Truncate(8))
	require.ErrorIs(t, must.Err(it.Next()), ErrTruncated)
	require.NoError(t, it.Close())
	require.NoError(t, l.Close())
}

// TestConcurrentUse has readers and a purger beside the logger; the race detector is the judge of
// half of it.
func TestConcurrentUse(t *testing.T) {
	const last = 2000
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: 20 << 10}, 1)
	add(t, l, 1, 1, 10)
	require.NoError(t, l.Sync())
	var wg sync.WaitGroup
	started := make(chan struct{}, 2)
	for range 2 {
		wg.Go(func() {
			it, err := l.Records(1)
			if err != nil {
				t.Error(err)
			}
			started <- struct{}{}
			defer it.Close()
			for next := proto.Zxid(1); next <= last; {
				r, err := it.Next()
				if err == io.EOF {
					continue
				}
				if err != nil || r.Zxid != next {
					t.Errorf("got %v, %v; want %v", r, err, next)
					return
				}
				next++
			}
		})
	}
	<-started
	<-started
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := l.Purge(l.LastZxid()); err != nil {
				t.Error(err)
			}
			if _, err := l.Files(); err != nil && !isNotExist(err) {
				t.Error(err)
			}
			if l.Size() < 0 {
				t.Error("negative")
			}
		}
	})
	for z := proto.Zxid(2); z <= last; z++ {
		add(t, l, z, z, int(z%100))
		if z%7 == 0 || z == last {
			require.NoError(t, l.Sync())
		}
		if z%100 == 0 {
			require.NoError(t, l.Roll())
		}
	}
	close(done)
	wg.Wait()
	require.NoError(t, l.Close())
	require.Empty(t, m.OpenFiles())
}
