package wal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// smallLog returns a disk with a log of two files, the last one padded, and where records are.
func smallLog(t testing.TB) (m *vfs.Mem, sizes map[string]int64) {
	m = newMem(t)
	first, last := logFile(batch(1, 4, 9)), logFile(batch(5, 7, 14))
	writeFile(t, m, "log.1", join(first, pad(40)))
	writeFile(t, m, "log.5", join(last, pad(70)))
	return m, map[string]int64{"log.1": int64(len(first)), "log.5": int64(len(last))}
}

// TestEveryFlippedBit checks that no change of a single bit or byte goes unnoticed, if a record
// covers it, and that none behind the records does harm.
func TestEveryFlippedBit(t *testing.T) {
	m, sizes := smallLog(t)
	for name, size := range sizes {
		for off := range int64(len(readFile(t, m, name))) {
			for _, mask := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255, 0x5a} {
				require.NoError(t, m.Flip(filepath.Join(dir, name), off, mask))
				var zxids []proto.Zxid
				_, err := Verify(Options{FS: m, Dir: dir}, 1, func(r *Record) error {
					zxids = append(zxids, r.Zxid)
					return nil
				})
				require.NoError(t, m.Flip(filepath.Join(dir, name), off, mask))
				isCovered := off < 4 || off >= headerSize && off < size
				if !isCovered && err == nil {
					require.Equal(t, span(1, 7), zxids, "%s at %d ^ %#x", name, off, mask)
					continue
				}
				var e *Error
				require.ErrorAs(t, err, &e, "%s at %d ^ %#x", name, off, mask)
				require.ErrorIs(t, err, ErrCorrupt)
				require.Equal(t, filepath.Join(dir, name), e.File)
				require.LessOrEqual(t, e.Offset, off)
				require.ErrorContains(t, err, "synchronize")
			}
		}
	}
}

// TestEveryTruncation checks that a last file of every length yields its whole records, and that a
// file before it is refused if a record is missing.
func TestEveryTruncation(t *testing.T) {
	m, sizes := smallLog(t)
	for name, size := range sizes {
		whole := readFile(t, m, name)
		for n := range whole {
			writeFile(t, m, name, whole[:n])
			var zxids []proto.Zxid
			_, err := Verify(Options{FS: m, Dir: dir}, 1, func(r *Record) error {
				zxids = append(zxids, r.Zxid)
				return nil
			})
			if name == "log.1" && int64(n) < size {
				var e *Error
				require.ErrorAs(t, err, &e, "log.1 of %d bytes", n)
				continue
			}
			require.NoError(t, err, "%s of %d bytes", name, n)
			want := proto.Zxid(7)
			if int64(n) < size {
				want = 4 + proto.Zxid(max(0, n-headerSize)/(recordMin+14))
			}
			require.Equal(t, span(1, want), zxids, "%s of %d bytes", name, n)
		}
		writeFile(t, m, name, whole)
	}
}

const fixtures = "../test/testdata/fixtures"

// TestFixtures replays logs that Apache ZooKeeper wrote. Source: storage 14.
func TestFixtures(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    proto.Zxid
		first   proto.Zxid
		last    proto.Zxid
		refused string
		offset  int64
	}{
		{name: "zookeeper-3.8/01-log-only", first: 1, last: 0x34},
		{name: "zookeeper-3.8/02-snapshot-and-log", first: 1, last: 0x3e},
		{name: "zookeeper-3.8/02-snapshot-and-log", from: 0x35, first: 0x35, last: 0x3e},
		{name: "zookeeper-3.8/03-torn-tail-zeros", from: 0x35, first: 0x35, last: 0x3d},
		{name: "zookeeper-3.8/04-torn-tail-truncated", from: 0x35, first: 0x35, last: 0x3d},
		{name: "zookeeper-3.8/05-crc-mismatch-last-record", from: 0x35, refused: "log.35"},
		{name: "zookeeper-3.8/06-crc-mismatch-middle-record", from: 0x35, refused: "log.35"},
		{name: "zookeeper-3.8/07-fuzzy-snapshot", from: 0x11, first: 0x11, last: 0x3e},
		{name: "zookeeper-3.8/08-corrupt-newest-snapshot", from: 1, first: 1, last: 0x3e},
		{name: "zookeeper-3.8/09-gzip", from: 0x3f, first: 0x3f, last: 0x40},
		{name: "zookeeper-3.8/10-snappy", from: 0x3f, first: 0x3f, last: 0x40},
		{name: "zookeeper-3.8/11-tiny", first: 1, last: 7},
		{name: "zookeeper-3.8/12-fuzzy-recreate", from: 5, first: 5, last: 0xc},
		{name: "zookeeper-3.10-snapshot/01-tiny", first: 1, last: 0xa},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyFixture(t, c.name)
			from := max(c.from, 1)
			var zxids []proto.Zxid
			l := must.Do(Open(Options{FS: vfs.OS(), Dir: dir}))(t)
			last, err := l.Replay(from, func(r *Record) error {
				zxids = append(zxids, r.Zxid)
				return nil
			})
			defer l.Close()
			if c.refused != "" {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.ErrorIs(t, err, ErrCorrupt)
				require.Equal(t, filepath.Join(dir, c.refused), e.File)
				t.Log(err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.last, last)
			require.Equal(t, span(c.first, c.last), zxids)
			require.Equal(t, expectedLast(t, c.name), last)
			add(t, l, last+1, last+2, 10)
			require.NoError(t, l.Close())
			must.Do(os.Stat(filepath.Join(dir, "log."+strconv.FormatInt(int64(last+1), 16))))(t)
			r := must.Do(Verify(Options{FS: vfs.OS(), Dir: dir}, from, nil))(t)
			require.Equal(t, last+2, r.Last)
			require.Empty(t, r.Repairs)
		})
	}
}

func copyFixture(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, name, "version-2"))))
	return dir
}

func expectedLast(t testing.TB, name string) proto.Zxid {
	t.Helper()
	b := must.ReadFile(t, filepath.Join(fixtures, name+".expected.json"))
	var expected struct{ LastZxid any }
	require.NoError(t, json.Unmarshal(b, &expected))
	switch v := expected.LastZxid.(type) {
	case string:
		z := must.Do(strconv.ParseInt(strings.TrimPrefix(v, "0x"), 16, 64))(t)
		return proto.Zxid(z)
	case float64:
		return proto.Zxid(v)
	}
	t.Fatalf("lastZxid is %v", expected.LastZxid)
	return 0
}

// TestGolden writes the txns of storage 13 again and compares the bytes.
func TestGolden(t *testing.T) {
	for name, records := range map[string]int{"log.1": 5, "log.6": 2} {
		golden := must.ReadFile(t, filepath.Join(fixtures, "zookeeper-3.8/11-tiny/version-2", name))
		m := newMem(t)
		writeFile(t, m, name, golden)
		b := fileHeader()
		first, _, _ := FileZxid(name)
		_, err := Verify(Options{FS: m, Dir: dir}, first, func(r *Record) error {
			require.EqualValues(t, len(b), r.Offset)
			b = AppendRecord(b, r.Payload)
			records--
			return nil
		})
		require.NoError(t, err)
		require.Zero(t, records)
		require.Equal(t, golden[:len(b)], b)
		require.True(t, isZero(golden[len(b):]))
		if name == "log.1" {
			require.EqualValues(t, 0x5ae10acf, checksum(b[262:298]))
		}
	}
}
