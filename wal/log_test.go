package wal

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestAppendedTxnsAreReplayed(t *testing.T) {
	for _, prealloc := range []int64{0, 1 << 10, 64 << 10, 4 << 20} {
		m := newMem(t)
		o := Options{FS: m, Dir: dir, PreallocSize: prealloc}
		l, zxids := open(t, o, 1)
		require.Empty(t, zxids)
		add(t, l, 1, 3, 20)
		require.NoError(t, l.Sync())
		add(t, l, 4, 4, 5000)
		require.NoError(t, l.Roll())
		add(t, l, 5, 9, 0)
		require.EqualValues(t, 5*recordMin, l.Size())
		require.EqualValues(t, 9, l.LastZxid())
		require.NoError(t, l.Close())
		require.Empty(t, m.OpenFiles())
		require.Equal(t, []string{"log.1", "log.5"}, names(t, m))
		require.Equal(t, logFile(batch(1, 3, 20), batch(4, 4, 5000)), readFile(t, m, "log.1"))
		require.Equal(t, logFile(batch(5, 9, 0)), readFile(t, m, "log.5"))

		l, zxids = open(t, o, 1)
		require.Equal(t, span(1, 9), zxids)
		add(t, l, 10, 10, 1)
		require.NoError(t, l.Close())
		l, zxids = open(t, o, 7)
		require.Equal(t, span(7, 10), zxids)
		require.NoError(t, l.Close())
		l, zxids = open(t, o, 11)
		require.Empty(t, zxids)
		require.EqualValues(t, 10, l.LastZxid())
		require.NoError(t, l.Close())
	}
}

func TestAppendRefusesWhatDoesNotContinueTheLog(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	add(t, l, 1, 2, 8)
	e1 := proto.MakeZxid(1, 0)
	for name, c := range map[string]struct {
		framed      []byte
		first, last proto.Zxid
		want        error
	}{
		"repeated":              {batch(2, 2, 8), 2, 2, ErrOrder},
		"gap":                   {batch(4, 4, 8), 4, 4, ErrOrder},
		"earlier":               {batch(1, 1, 8), 1, 1, ErrOrder},
		"first is not first":    {batch(4, 4, 8), 3, 4, ErrOrder},
		"last is not last":      {batch(3, 4, 8), 3, 5, ErrOrder},
		"gap inside":            {append(batch(3, 3, 8), batch(5, 5, 8)...), 3, 5, ErrOrder},
		"epoch begins too late": {batch(e1+2, e1+2, 8), e1 + 2, e1 + 2, ErrOrder},
		"empty":                 {nil, 3, 3, ErrRecord},
		"half a record":         {batch(3, 3, 8)[:30], 3, 3, ErrRecord},
		"no end":                {batch(3, 3, 8)[:recordMin+7], 3, 3, ErrRecord},
		"rest":                  {append(batch(3, 3, 8), 0), 3, 3, ErrRecord},
	} {
		require.ErrorIs(t, l.Append(c.framed, c.first, c.last), c.want, name)
	}
	require.NoError(t, l.Append(batch(3, 3, 8), 3, 3), "what was refused changed nothing")
	add(t, l, e1+1, e1+2, 8)
	e2 := proto.MakeZxid(2, 0)
	add(t, l, e2, e2, 8)
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, m, 1)
	require.Equal(t, []proto.Zxid{1, 2, 3, e1 + 1, e1 + 2, e2}, zxids)
}

func openAndClose(t testing.TB, m vfs.FS, from proto.Zxid) (last proto.Zxid, zxids []proto.Zxid) {
	t.Helper()
	l, zxids := open(t, Options{FS: m, Dir: dir}, from)
	last = l.LastZxid()
	require.NoError(t, l.Close())
	return last, zxids
}

func TestEndRecordPanicsWithoutPayload(t *testing.T) {
	b := BeginRecord([]byte("before"))
	require.Panics(t, func() { EndRecord(b, 6) })
	b = append(b, payload(1, 3)...)
	b = EndRecord(b, 6)
	require.Equal(t, append([]byte("before"), batch(1, 1, 3)...), b)
}

func TestFailedSyncPoisonsTheLog(t *testing.T) {
	errDisk := errors.New("disk")
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	add(t, l, 1, 1, 8)
	m.FailNth(vfs.OpSync, 0, errDisk)
	err := l.Sync()
	require.ErrorIs(t, err, errDisk)
	require.Equal(t, err, l.Sync())
	require.Equal(t, err, l.Append(batch(2, 2, 8), 2, 2))
	require.Equal(t, err, l.Roll())
	require.Equal(t, err, l.Truncate(1))
	require.Equal(t, err, l.Reset(1))
	_, err2 := l.Records(1)
	require.Equal(t, err, err2)
	require.Equal(t, err, l.Close())
	require.Empty(t, m.OpenFiles())
}

func TestFailedWritePoisonsTheLog(t *testing.T) {
	errDisk := errors.New("disk")
	for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpRename, vfs.OpSyncDir} {
		m := newMem(t)
		l, _ := open(t, Options{FS: m, Dir: dir}, 1)
		m.FailNth(kind, 0, errDisk)
		err := l.Append(batch(1, 1, 8), 1, 1)
		require.ErrorIs(t, err, errDisk, kind)
		require.Equal(t, err, l.Append(batch(1, 1, 8), 1, 1))
		require.Equal(t, err, l.Close())
		require.Empty(t, m.OpenFiles())
	}
}

// TestFailedSyncOfZerosPoisonsTheLog checks that a write-back error that the background goroutine
// is told of is not kept from the logger: records may be lost with the zeros.
func TestFailedSyncOfZerosPoisonsTheLog(t *testing.T) {
	errDisk := errors.New("disk")
	m := newMem(t)
	failed := make(chan struct{})
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: 1 << 20}, 1)
	syncs := 0
	m.Hook(func(op vfs.Op) error {
		if op.Kind != vfs.OpSync {
			return nil
		}
		if syncs++; syncs == 2 { // the first is that of the header
			close(failed)
			return errDisk
		}
		return nil
	})
	add(t, l, 1, 1, 8)
	<-failed
	require.ErrorIs(t, l.Sync(), errDisk)
	require.ErrorIs(t, l.Close(), errDisk)
}

// TestSyncOfZerosDoesNotHideAFailure checks that the logger is told of a failed write-back even if the
// background goroutine was told first.
func TestSyncOfZerosDoesNotHideAFailure(t *testing.T) {
	errDisk := errors.New("disk")
	m := newMem(t)
	o := Options{FS: m, Dir: dir, PreallocSize: 1}.withDefaults()
	x := must.Do(newExtent(&o, tempNew))(t)
	m.FailNth(vfs.OpSync, 0, errDisk)
	require.ErrorIs(t, x.spare.Sync(), errDisk)
	require.ErrorIs(t, x.file.Sync(), errDisk)
	x.discard(&o)
	require.Empty(t, m.OpenFiles())
}

func TestUseBeforeReplayPanics(t *testing.T) {
	l := must.Do(Open(Options{FS: newMem(t), Dir: dir}))(t)
	require.Panics(t, func() { _ = l.Append(batch(1, 1, 1), 1, 1) })
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Sync(), ErrClosed)
}

type events struct {
	appended, synced int64
	took             time.Duration
}

func (e *events) Appended(n int) { e.appended += int64(n) }
func (e *events) Synced(took time.Duration, n int64) {
	e.took += took
	e.synced += n
}

func TestEvents(t *testing.T) {
	e := &events{}
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	l, _ := open(t, Options{FS: newMem(t), Dir: dir, Events: e, Now: clock}, 1)
	b := batch(1, 3, 10)
	require.NoError(t, l.Append(b, 1, 3))
	require.Equal(t, events{appended: int64(len(b))}, *e)
	require.NoError(t, l.Sync())
	require.NoError(t, l.Sync(), "nothing to do")
	require.Equal(t, events{int64(len(b)), int64(len(b)), time.Millisecond}, *e)
	require.NoError(t, l.Close())
}

func TestAppendAndSyncDoNotAllocate(t *testing.T) {
	l, _ := open(t, Options{FS: vfs.OS(), Dir: t.TempDir(), PreallocSize: 1 << 20}, 1)
	z := proto.Zxid(0)
	buf := batch(1, 8, 100)
	n := testing.AllocsPerRun(50, func() {
		first := z + 1
		buf = buf[:0]
		for range 8 {
			z++
			start := len(buf)
			buf = BeginRecord(buf)
			h := proto.TxnHeader{Zxid: z, Type: proto.OpSetData}
			buf = h.AppendTo(buf)
			buf = EndRecord(buf, start)
		}
		if err := l.Append(buf, first, z); err != nil {
			t.Fatal(err)
		}
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
	})
	require.Zero(t, n)
	require.NoError(t, l.Close())
}

func TestFiles(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	add(t, l, 1, 2, 10)
	require.NoError(t, l.Roll())
	require.NoError(t, l.Roll(), "an empty file is not rolled")
	add(t, l, 3, 3, 0)
	require.Equal(t, []FileInfo{
		{Name: "log.1", First: 1, Size: headerSize + 2*(recordMin+10)},
		{Name: "log.3", First: 3, Size: headerSize + recordMin},
	}, must.Do(l.Files())(t))
	require.NoError(t, l.Close())
}

func TestNames(t *testing.T) {
	for name, want := range map[string]struct {
		first     proto.Zxid
		exact, ok bool
	}{
		"log.1":                {1, true, true},
		"log.100000001":        {0x100000001, true, true},
		"log.0A":               {10, true, true},
		"log.7fffffffffffffff": {1<<63 - 1, true, true},
		"log.35.bak":           {0x35, false, true},
		"log.ffffffffffffffff": {},
		"log.":                 {},
		"log":                  {},
		"log.-1":               {},
		"log.+1":               {},
		"log.xyz":              {},
		"logs.5":               {},
		"tmp.log.next":         {},
		"snapshot.5":           {},
	} {
		first, exact, ok := FileZxid(name)
		require.Equal(t, want.first, first, name)
		require.Equal(t, want.exact, exact, name)
		require.Equal(t, want.ok, ok, name)
	}
	require.Equal(t, "log.100000001", fileName(0x100000001))
}

func TestOpenRefusesAmbiguousNames(t *testing.T) {
	m := newMem(t)
	writeFile(t, m, "log.a", logFile(batch(10, 11, 1)))
	writeFile(t, m, "log.a.bak", logFile(batch(10, 11, 1)))
	writeFile(t, m, "log.xyz", nil)
	_, zxids := openAndClose(t, m, 10)
	require.Equal(t, span(10, 11), zxids, "a copy beside the file is ignored")
	writeFile(t, m, "log.0A", logFile(batch(10, 11, 1)))
	require.ErrorIs(t, must.Err(Open(Options{FS: m, Dir: dir})), ErrName)
	require.NoError(t, m.Remove(dir+"/log.0A"))
	writeFile(t, m, "log.c.fixed", logFile(batch(12, 13, 1)))
	_, err := Open(Options{FS: m, Dir: dir})
	require.ErrorIs(t, err, ErrName)
	require.ErrorContains(t, err, "log.c.fixed")
	require.Error(t, must.Err(Open(Options{FS: m, Dir: "/none"})))
}

// TestLogUnderAnotherName refuses files that do not begin with the txns in their names. Behind a last one that ends
// before its name, txns would be appended to a file before it; and with any other what is to be removed is not found,
// and a purge may take what is still needed.
func TestLogUnderAnotherName(t *testing.T) {
	m := newMem(t)
	writeFile(t, m, "log.5", logFile(batch(5, 9, 1)))
	for _, name := range []string{"log.b", "log.c", "log.7"} {
		writeFile(t, m, name, logFile(batch(10, 12, 1)))
		_, err := Verify(Options{FS: m, Dir: dir}, 5, nil)
		require.ErrorIs(t, err, ErrName)
		require.ErrorContains(t, err, "rename it to log.a")
		require.NoError(t, m.Remove(dir+"/"+name))
	}
	writeFile(t, m, "log.3", logFile(batch(5, 9, 1)))
	_, err := Verify(Options{FS: m, Dir: dir}, 4, nil)
	require.ErrorIs(t, err, ErrName)
	require.ErrorContains(t, err, "there is a file log.5, too")
	require.NoError(t, m.Remove(dir+"/log.3"))

	writeFile(t, m, "log.1b", logFile(batch(10, 12, 1)))
	_, _, err = tryOpen(t, Options{FS: m, Dir: dir}, 5)
	require.ErrorIs(t, err, ErrName)
	require.ErrorContains(t, err, "rename it to log.a")
	require.NoError(t, m.Rename(dir+"/log.1b", dir+"/log.a"))
	l, zxids := open(t, Options{FS: m, Dir: dir}, 5)
	require.Equal(t, span(5, 12), zxids)
	add(t, l, 13, 14, 1)
	require.NoError(t, l.Close())
}
