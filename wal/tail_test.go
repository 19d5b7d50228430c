package wal

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// emptyTail returns a log whose first Append found the disk full after the file got its name.
func emptyTail(t *testing.T, prealloc int64) (*vfs.Mem, *Log) {
	m := newMem(t)
	writeFile(t, m, "log.1", logFile(batch(1, 4, 9)))
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: prealloc}, 1)
	m.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && op.Len > headerSize {
			return &vfs.ShortWrite{N: op.Len / 2, Err: vfs.ErrNoSpace}
		}
		return nil
	})
	require.ErrorIs(t, l.Append(batch(5, 6, 400), 5, 6), vfs.ErrNoSpace)
	m.Hook(nil)
	require.Equal(t, logFile(), readFile(t, m, "log.5")[:headerSize])
	require.Empty(t, javaReads(t, readFile(t, m, "log.5")))
	return m, l
}

func TestEmptyTailIsUsedRenamedOrRemoved(t *testing.T) {
	e1 := proto.MakeZxid(1, 1)
	for name, c := range map[string]struct {
		do   func(l *Log) error
		want []proto.Zxid
		file string
	}{
		"same batch": {func(l *Log) error { return l.Append(batch(5, 6, 400), 5, 6) }, span(1, 6), "log.5"},
		"another epoch": {func(l *Log) error { return l.Append(batch(e1, e1, 4), e1, e1) }, append(span(1, 4), e1),
			"log.100000001"},
		"rolled and used": {func(l *Log) error { _ = l.Roll(); return l.Append(batch(5, 5, 4), 5, 5) },
			span(1, 5), "log.5"},
		"truncated":         {func(l *Log) error { return l.Truncate(2) }, span(1, 2), ""},
		"truncated to last": {func(l *Log) error { return l.Truncate(4) }, span(1, 4), ""},
		"reset":             {func(l *Log) error { return l.Reset(0) }, nil, ""},
		"closed":            {func(l *Log) error { return nil }, span(1, 4), ""},
	} {
		for _, prealloc := range []int64{0, 5000} {
			t.Run(name, func(t *testing.T) {
				m, l := emptyTail(t, prealloc)
				require.NoError(t, c.do(l))
				require.NoError(t, l.Sync())
				requireJavaReads(t, m)
				strict := m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{})
				_, zxids := openAndClose(t, strict, 1)
				require.Equal(t, c.want, zxids)
				require.NoError(t, l.Close())
				require.Empty(t, m.OpenFiles())
				if c.file != "" {
					require.Contains(t, names(t, m), c.file)
				}
				_, zxids = openAndClose(t, m, 1)
				require.Equal(t, c.want, zxids)
				require.LessOrEqual(t, len(names(t, m)), 2)
			})
		}
	}
}

// TestNothingIsLeftOfARefusedAppend lets half of a large batch reach blocks that exist, and blocks
// that do not, and then appends a small one: only zeros may follow it.
func TestNothingIsLeftOfARefusedAppend(t *testing.T) {
	for _, size := range []int{5_000, zeroChunkMin - 3_000, 100_000} {
		m := newMem(t)
		l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: zeroChunkMin}, 1)
		add(t, l, 1, 1, 700)
		await(t, "blocks ahead", func() bool { return l.Room() >= zeroChunkMin })
		m.Hook(func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite && op.Len > size {
				return &vfs.ShortWrite{N: op.Len - 100, Err: vfs.ErrNoSpace}
			}
			return nil
		})
		require.ErrorIs(t, l.Append(batch(2, 2, size), 2, 2), vfs.ErrNoSpace)
		m.Hook(nil)
		add(t, l, 2, 2, 9)
		want := logFile(batch(1, 1, 700), batch(2, 2, 9))
		got := readFile(t, m, "log.1")
		require.Equal(t, want, got[:len(want)])
		require.True(t, isZero(got[len(want):]), "size %d", size)
		require.NoError(t, l.Close())
	}
}

// TestDamageFarBehind checks that a record is found behind megabytes of zeros, wherever it lies in
// the window that is searched, and that zeros alone are no record.
func TestDamageFarBehind(t *testing.T) {
	good := logFile(batch(1, 2, 9))
	for _, n := range []int{scanBuffer - 40, scanBuffer - 30, scanBuffer - 1, scanBuffer, 3<<20 + 17} {
		m := newMem(t)
		writeFile(t, m, "log.1", join(good, []byte{1}, pad(n), batch(4, 4, 300)))
		_, err := Verify(Options{FS: m, Dir: dir}, 1, nil)
		require.ErrorIs(t, err, ErrCorrupt, n)
		require.ErrorContains(t, err, "txn 0x4 stands behind it")

		writeFile(t, m, "log.1", join(good, []byte{1}, pad(n)))
		require.Len(t, must.Do(Verify(Options{FS: m, Dir: dir}, 1, nil))(t).Repairs, 1)
	}
}

// TestSearchBehindATornRecordIsBounded has a torn record whose payload is full of possible beginnings of large
// records. To check them all would take hours, so the search gives up and the log is refused.
func TestSearchBehindATornRecordIsBounded(t *testing.T) {
	body := bytes.Repeat([]byte{endByte}, 1<<20)
	for i := 0; i < len(body); i += 64 {
		copy(body[i:], []byte{0, 0, 0, 0, 1, 1, 1, 1, 0, 8, 0, 0})
		binary.BigEndian.PutUint64(body[i+zxidInRecord:], 3)
	}
	m := newMem(t)
	writeFile(t, m, "log.1", join(logFile(batch(1, 2, 9)), []byte{0, 0, 0, 0, 9, 9, 9, 9, 0, 32, 0, 0}, body))
	_, err := Verify(Options{FS: m, Dir: dir}, 1, nil)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "too many records")
}
