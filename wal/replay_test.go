package wal

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func pad(n int) []byte { return make([]byte, n) }

// with returns a copy of b with b[at] = v.
func with(b []byte, at int, v byte) []byte {
	b = slices.Clone(b)
	b[at] = v
	return b
}

// TestReplay holds the outcomes of storage 4.6 and 6.3, "recommended" column.
func TestReplay(t *testing.T) {
	const size = 20
	r := func(first, last proto.Zxid) []byte { return batch(first, last, size) }
	one := len(r(1, 1))
	badSum := with(r(2, 2), 20, 0xee)
	e1 := proto.MakeZxid(1, 0)
	type files map[string][]byte
	for _, c := range []struct {
		name  string
		from  proto.Zxid
		files files
		want  []proto.Zxid
		err   error // ErrCorrupt or ErrGap
		file  string
		at    int64
		after files // what the files are afterwards; nil: as before
	}{
		{name: "no files"},
		{name: "whole", files: files{"log.1": logFile(r(1, 3))}, want: span(1, 3)},
		{name: "padding is cut", files: files{"log.1": logFile(r(1, 2), pad(900))}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "padding of a middle file stays",
			files: files{"log.1": logFile(r(1, 2), pad(900)), "log.3": logFile(r(3, 3))}, want: span(1, 3)},
		{name: "version and dbid are not looked at", files: files{"log.1": with(with(logFile(r(1, 2)), 7, 3), 15, 9)},
			want: span(1, 2)},
		{name: "magic", files: files{"log.1": with(logFile(r(1, 2)), 1, 'z')}, err: ErrCorrupt, file: "log.1", at: 0},

		{name: "empty last file", files: files{"log.1": logFile(r(1, 2)), "log.3": nil}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "last file of 15 bytes", files: files{"log.1": logFile(r(1, 2)), "log.3": logFile()[:15]},
			want: span(1, 2), after: files{"log.1": logFile(r(1, 2))}},
		{name: "header only last file", files: files{"log.1": logFile(r(1, 2)), "log.3": logFile(pad(50))},
			want: span(1, 2), after: files{"log.1": logFile(r(1, 2))}},
		{name: "header only after a torn tail",
			files: files{"log.1": logFile(r(1, 2), r(3, 3)[:30]), "log.9": logFile()}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "header only middle file",
			files: files{"log.1": logFile(r(1, 2)), "log.2": logFile(), "log.3": logFile(r(3, 3))}, want: span(1, 3)},
		{name: "empty middle file", files: files{"log.1": nil, "log.3": logFile(r(3, 3))},
			err: ErrCorrupt, file: "log.1"},
		{name: "short middle file", files: files{"log.1": logFile()[:9], "log.3": logFile(r(3, 3))},
			err: ErrCorrupt, file: "log.1"},

		{name: "torn: checksum cut", files: files{"log.1": logFile(r(1, 2), r(3, 3)[:5])}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: after length", files: files{"log.1": logFile(r(1, 2), r(3, 3)[:12])}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: in payload", files: files{"log.1": logFile(r(1, 2), r(3, 3)[:40])}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: before end byte", files: files{"log.1": logFile(r(1, 2), r(3, 3)[:one-1])}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: zeros follow", files: files{"log.1": logFile(r(1, 2), r(3, 3)[:40], pad(500))}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: first block lost", files: files{"log.1": logFile(r(1, 2), pad(30), r(3, 3)[30:one-10], pad(99))},
			want: span(1, 2), after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: first record of the last file",
			files: files{"log.1": logFile(r(1, 2)), "log.3": logFile(r(3, 3)[:40])}, want: span(1, 2),
			after: files{"log.1": logFile(r(1, 2))}},
		{name: "torn: middle file, next is contiguous",
			files: files{"log.1": logFile(r(1, 2), r(3, 3)[:40]), "log.3": logFile(r(3, 3))}, want: span(1, 3)},
		{name: "torn: middle file, next is a new epoch",
			files: files{"log.1": logFile(r(1, 2), r(3, 3)[:40]), "log.100000001": logFile(r(e1+1, e1+1))},
			want:  []proto.Zxid{1, 2, e1 + 1}},
		{name: "torn: middle file, next is not contiguous",
			files: files{"log.1": logFile(r(1, 2), r(3, 3)[:40]), "log.4": logFile(r(4, 4))}, err: ErrCorrupt,
			file: "log.4", at: 16},

		{name: "checksum of the last record", files: files{"log.1": logFile(r(1, 1), badSum)}, err: ErrCorrupt,
			file: "log.1", at: int64(16 + one)},
		{name: "checksum of a middle record", files: files{"log.1": logFile(r(1, 1), badSum, r(3, 3))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "checksum of the last record, torn behind", files: files{"log.1": logFile(badSum, r(3, 3)[:8])},
			err: ErrCorrupt, file: "log.1", at: 16},
		{name: "zero length, record behind", files: files{"log.1": logFile(r(1, 1), with(r(2, 2), 11, 0), r(3, 3))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "zero length of a whole last record", files: files{"log.1": logFile(r(1, 1), with(r(2, 2), 11, 0))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "longer length of a whole last record",
			files: files{"log.1": logFile(r(1, 1), with(r(2, 2), 10, 1), pad(999))}, err: ErrCorrupt, file: "log.1",
			at: int64(16 + one)},
		{name: "a block of zeros, record behind", files: files{"log.1": logFile(r(1, 1), pad(2*one), r(4, 4))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "a block of zeros, new epoch behind",
			files: files{"log.1": logFile(r(1, 1), pad(2*one), r(e1+1, e1+1))}, err: ErrCorrupt, file: "log.1",
			at: int64(16 + one)},
		{name: "end byte, record behind", files: files{"log.1": logFile(r(1, 1), with(r(2, 2), one-1, 'C'), r(3, 3))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "end byte zero, record behind",
			files: files{"log.1": logFile(r(1, 1), with(r(2, 2), one-1, 0), r(3, 3))}, err: ErrCorrupt, file: "log.1",
			at: int64(16 + one)},
		{name: "end byte of the last record", files: files{"log.1": logFile(r(1, 1), with(r(2, 2), one-1, 'C'))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "end byte of the last record zero", files: files{"log.1": logFile(r(1, 1), with(r(2, 2), one-1, 0))},
			want: span(1, 1), after: files{"log.1": logFile(r(1, 1))}},
		{name: "length -1", files: files{"log.1": logFile(r(1, 1), pad(8), []byte{255, 255, 255, 255})},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "payload without header",
			files: files{"log.1": logFile(r(1, 1), []byte{0, 0, 0, 0, 0, 0x61, 0, 0x61, 0, 0, 0, 1, 0x60, 0x42})},
			err:   ErrCorrupt, file: "log.1", at: int64(16 + one)},

		{name: "equal zxids", files: files{"log.1": logFile(r(1, 2), r(2, 3))}, want: []proto.Zxid{1, 2, 2, 3}},
		{name: "equal zxids over a roll", files: files{"log.1": logFile(r(1, 2)), "log.2": logFile(r(2, 3))},
			want: []proto.Zxid{1, 2, 2, 3}},
		{name: "zxid goes back", files: files{"log.1": logFile(r(1, 3), batch(2, 2, 99))}, err: ErrCorrupt,
			file: "log.1", at: int64(16 + 3*one)},
		{name: "gap in an epoch", files: files{"log.1": logFile(r(1, 1), r(3, 3))}, err: ErrCorrupt, file: "log.1",
			at: int64(16 + one)},
		{name: "gap between files", files: files{"log.1": logFile(r(1, 1)), "log.3": logFile(r(3, 3))},
			err: ErrCorrupt, file: "log.3", at: 16},
		{name: "new epoch", files: files{"log.1": logFile(r(1, 1), r(e1+1, e1+2))},
			want: []proto.Zxid{1, e1 + 1, e1 + 2}},
		{name: "new epoch without its beginning", files: files{"log.1": logFile(r(1, 1), r(e1+2, e1+2))},
			err: ErrCorrupt, file: "log.1", at: int64(16 + one)},
		{name: "counter runs over", files: files{"log.fffffffe": logFile(r(0xfffffffe, 0x100000001))},
			from: 0xfffffffe, want: span(0xfffffffe, 0x100000001)},

		{name: "from a snapshot", from: 3, files: files{"log.1": logFile(r(1, 4))}, want: span(3, 4)},
		{name: "files before are not read", from: 6,
			files: files{"log.1": pad(3), "log.2": logFile(r(2, 4)), "log.5": logFile(r(5, 7))}, want: span(6, 7)},
		{name: "the file before is read", from: 6,
			files: files{"log.1": pad(3), "log.2": logFile(r(2, 6)), "log.7": logFile(r(7, 7))}, want: span(6, 7)},
		{name: "all before the snapshot", from: 9, files: files{"log.1": logFile(r(1, 4))}},
		{name: "gap below the snapshot", from: 9, files: files{"log.1": logFile(r(1, 4), r(9, 9))}, want: span(9, 9)},
		{name: "missing file after the snapshot", from: 3, files: files{"log.5": logFile(r(5, 7))}, err: ErrGap,
			file: "log.5", at: 16},
		{name: "missing records after the snapshot", from: 3, files: files{"log.1": logFile(r(1, 1), r(5, 7))},
			err: ErrGap, file: "log.1", at: int64(16 + one)},
		{name: "snapshot, then a new epoch", from: 3,
			files: files{"log.1": logFile(r(1, 1)), "log.100000001": logFile(r(e1+1, e1+1))}, want: span(e1+1, e1+1)},
		{name: "snapshot, then the middle of a new epoch", from: 3,
			files: files{"log.1": logFile(r(1, 1)), "log.100000005": logFile(r(e1+5, e1+5))}, err: ErrGap,
			file: "log.100000005", at: 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMem(t)
			for name, b := range c.files {
				writeFile(t, m, name, b)
			}
			from := max(c.from, 1)
			o := Options{FS: m, Dir: dir}
			report, verifyErr := Verify(o, from, nil)
			requireFiles(t, m, c.files)

			l, zxids, err := tryOpen(t, o, from)
			if c.err != nil {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.ErrorIs(t, err, c.err)
				require.Equal(t, dir+"/"+c.file, e.File, err)
				require.Equal(t, c.at, e.Offset, err)
				require.Equal(t, err, verifyErr)
				requireFiles(t, m, c.files)
				require.Empty(t, m.OpenFiles())
				return
			}
			require.NoError(t, err)
			require.NoError(t, verifyErr)
			require.Equal(t, c.want, zxids)
			require.Equal(t, len(c.want), report.Records)
			require.Equal(t, l.LastZxid(), report.Last)
			want := c.files
			if c.after != nil {
				want = c.after
			}
			requireFiles(t, m, want)
			require.Equal(t, len(c.files)-len(want), countPrefix(report.Repairs, "remove"))
			require.NoError(t, l.Close())
			require.Empty(t, m.OpenFiles())
		})
	}
}

func countPrefix(lines []string, prefix string) (n int) {
	for _, s := range lines {
		if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
			n++
		}
	}
	return n
}

func requireFiles(t testing.TB, fsys vfs.FS, want map[string][]byte) {
	t.Helper()
	require.Len(t, names(t, fsys), len(want))
	for name, b := range want {
		require.Equal(t, len(b), len(readFile(t, fsys, name)), name)
		if len(b) > 0 {
			require.Equal(t, b, readFile(t, fsys, name), name)
		}
	}
}

// TestReplayMakesDurable checks that what a killed process had not synced is durable after Replay:
// the server is going to promise it. The name of a file too, which ZooKeeper does not sync.
func TestReplayMakesDurable(t *testing.T) {
	rng := newRand(t, 1)
	m := newMem(t)
	killed, _ := open(t, Options{FS: m, Dir: dir}, 1)
	add(t, killed, 1, 9, 300) // and never heard of again

	l, zxids := open(t, Options{FS: m, Dir: dir}, 1)
	require.Equal(t, span(1, 9), zxids)
	lostPower := m.CrashClone(rng, vfs.CrashOptions{})
	require.NoError(t, l.Close())
	_, zxids = openAndClose(t, lostPower, 1)
	require.Equal(t, span(1, 9), zxids)
	require.NoError(t, killed.Close())

	m = newMem(t)
	f := must.Do(m.Create(dir + "/log.1"))(t)
	must.Do(f.Write(logFile(batch(1, 3, 300))))(t)
	require.NoError(t, f.Close())
	openAndClose(t, m, 1)
	_, zxids = openAndClose(t, m.CrashClone(rng, vfs.CrashOptions{}), 1)
	require.Equal(t, span(1, 3), zxids)
}

var errStop = errors.New("stop")

func TestReplayHandsErrorsOn(t *testing.T) {
	m := newMem(t)
	writeFile(t, m, "log.1", logFile(batch(1, 3, 8)))
	l := must.Do(Open(Options{FS: m, Dir: dir}))(t)
	_, err := l.Replay(1, func(r *Record) error {
		if r.Zxid == 2 {
			return errStop
		}
		return nil
	})
	require.ErrorIs(t, err, errStop)
	require.ErrorContains(t, err, "txn 0x2")
	require.NoError(t, l.Close())

	for _, kind := range []vfs.OpKind{vfs.OpOpen, vfs.OpRead} {
		m.FailNth(kind, 0, errStop)
		_, _, err = tryOpen(t, Options{FS: m, Dir: dir}, 1)
		require.ErrorIs(t, err, errStop, kind)
		require.NotErrorIs(t, err, ErrCorrupt, kind)
	}
}

// TestReplayOfALengthThatIsNotTrue checks that a damaged length does not make the reader allocate.
func TestReplayOfALengthThatIsNotTrue(t *testing.T) {
	m := newMem(t)
	b := logFile(batch(1, 1, 8), pad(8<<20))
	binary.BigEndian.PutUint32(b[len(logFile(batch(1, 1, 8)))+8:], 7<<20)
	writeFile(t, m, "log.1", b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Do(Verify(Options{FS: m, Dir: dir}, 1, nil))(t)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
}
