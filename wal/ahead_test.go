package wal

import (
	"errors"
	"io/fs"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// await waits for a condition that the background goroutine brings about.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for %s", what)
		}
	}
}

// TestZerosAreWrittenAhead follows a log of 1 MiB files: an idle one takes little space, one in use
// has blocks ahead, and the next file is ready when it is needed.
func TestZerosAreWrittenAhead(t *testing.T) {
	const size = 1 << 20
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: size}, 1)
	require.Zero(t, l.Room())
	add(t, l, 1, 1, 100)
	await(t, "the first chunk", func() bool { return l.Room() >= zeroChunkMin })
	require.Less(t, m.Used(), int64(3*zeroChunkMin), "an idle log is small")
	require.Equal(t, []string{"log.1"}, names(t, m))

	last := proto.Zxid(1)
	for l.Size() < size/2 {
		last++
		add(t, l, last, last, 5000)
	}
	await(t, "blocks ahead", func() bool { return l.Room() >= size/4 })
	require.Less(t, l.Room(), int64(size/4+zeroChunk+1), "no more than is needed")
	await(t, "the next file", func() bool { return len(names(t, m)) == 2 })
	require.Equal(t, []string{"log.1", tempNext}, names(t, m))
	await(t, "as much of the next file", func() bool { return int64(len(readFile(t, m, tempNext))) >= l.Size() })
	require.Less(t, int64(len(readFile(t, m, tempNext))), l.Size()+zeroChunk+1, "no more than the current one has")
	require.Equal(t, fileHeader(), readFile(t, m, tempNext)[:headerSize])

	require.NoError(t, l.Roll())
	await(t, "the last chunk", func() bool { return l.Room() >= size/2 })
	require.Equal(t, headerSize+l.batchSize(last), int64(len(readFile(t, m, "log.1"))), "zeros are given back")
	room := l.Room()
	add(t, l, last+1, last+1, 100)
	require.Equal(t, room-int64(recordMin+100), l.Room())
	requireJavaReads(t, m)
	require.NoError(t, l.Close())
	require.Len(t, names(t, m), 2, "no temporary file is left")
}

// batchSize is the size of the records that TestZerosAreWrittenAhead writes.
func (l *Log) batchSize(last proto.Zxid) int64 {
	return int64(recordMin+100) + int64(last-1)*(recordMin+5000)
}

// TestSyncIsEnoughInPreparedBlocks checks what zeros ahead are for: appends into them change neither
// the size of the file nor any name.
func TestSyncIsEnoughInPreparedBlocks(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: 256 << 10}, 1)
	add(t, l, 1, 1, 10)
	await(t, "blocks ahead", func() bool { return l.Room() >= zeroChunkMin })
	size := len(readFile(t, m, "log.1"))
	add(t, l, 2, 20, 100)
	require.NoError(t, l.Sync())
	require.GreaterOrEqual(t, size, int(l.Size()))
	require.Zero(t, len(readFile(t, m, "log.1"))%zeroChunkMin)
	require.NoError(t, l.Close())
}

// TestLargeSyncsGoWithoutZeros counts what is written: large batches would be written twice. Small ones that
// follow get their zeros again.
func TestLargeSyncsGoWithoutZeros(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: 64 << 20}, 1)
	var written atomic.Int64
	last := proto.Zxid(0)
	some := func(n, size int) {
		for range n {
			last++
			add(t, l, last, last, size)
			require.NoError(t, l.Sync())
		}
	}
	some(20, 1<<20) // it has noticed
	room := l.Room()
	m.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite {
			written.Add(int64(op.Len))
		}
		return nil
	})
	some(20, 1<<20)
	require.Less(t, written.Load(), int64(20<<20+zeroChunk+zeroChunkMin), "of the records, and what was under way")
	require.LessOrEqual(t, l.Room(), room+zeroChunk)
	some(100, 100)
	await(t, "zeros", func() bool { return l.Room() > zeroChunk })
	require.NoError(t, l.Close())
}

// TestAppendDoesNotWaitForTheNextFile lets the disk hang while the next file is prepared.
func TestAppendDoesNotWaitForTheNextFile(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: 64 << 10}, 1)
	release, hangs := make(chan struct{}), make(chan struct{}, 100)
	m.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && op.Name == dir+"/"+tempNext && op.Offset > 0 {
			hangs <- struct{}{}
			<-release
		}
		return nil
	})
	add(t, l, 1, 9, 1000)
	<-hangs
	for z := proto.Zxid(10); z < 200; z++ {
		add(t, l, z, z, 1000)
		require.NoError(t, l.Sync())
	}
	close(release)
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, m, 1)
	require.Equal(t, span(1, 199), zxids)
}

// TestFullDiskStopsPreparationOnly checks that Append works when only the preparation found the disk
// full, and that preparation goes on when there is room again.
func TestFullDiskStopsPreparationOnly(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: 1 << 20}, 1)
	add(t, l, 1, 1, 10)
	await(t, "blocks ahead", func() bool { return l.Room() >= zeroChunkMin })
	m.SetCapacity(m.Used())
	last := proto.Zxid(1)
	for l.Room() > 2000 {
		last++
		add(t, l, last, last, 1000)
		require.NoError(t, l.Sync())
	}
	for {
		if err := l.Append(batch(last+1, last+1, 1000), last+1, last+1); err != nil {
			require.ErrorIs(t, err, vfs.ErrNoSpace)
			break
		}
		last++
	}
	requireJavaReads(t, m)
	m.SetCapacity(0)
	last++
	add(t, l, last, last, 1000)
	await(t, "blocks ahead", func() bool { return l.Room() >= zeroChunkMin })
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, m, 1)
	require.Equal(t, span(1, last), zxids)
}

// TestFreshLogAppendsAtOnce checks on a real disk that the first append does not wait for the 64
// MiB of a file.
func TestFreshLogAppendsAtOnce(t *testing.T) {
	best := time.Hour
	for tries := 1; best >= time.Second; tries++ { // the disk may be busy
		require.LessOrEqual(t, tries, 20, "%v was the best", best)
		dir := t.TempDir()
		l := must.Do(Open(Options{FS: vfs.OS(), Dir: dir, PreallocSize: zookeeperPrealloc}))(t)
		must.Do(l.Replay(1, nil))(t)
		began := time.Now()
		add(t, l, 1, 1, 100)
		require.NoError(t, l.Sync())
		best = min(best, time.Since(began))
		require.NoError(t, l.Close())
		require.Equal(t, []string{"log.1"}, must.Do(vfs.OS().List(dir))(t))
	}
	t.Logf("first append and sync took %v", best)
}
