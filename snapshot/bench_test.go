package snapshot

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// forest is a Source of n znodes with 128 bytes of data and paths of about 40 bytes, 64 KiB a slice.
type forest struct {
	n, at int
	data  []byte
}

func newForest(n int) *forest {
	return &forest{n: n, at: -1, data: bytes.Repeat([]byte("payload "), 16)}
}

func (f *forest) Next(b []byte) ([]byte, bool) {
	st := proto.StatPersisted{Czxid: 1, Mzxid: 2, Ctime: 1795240434424, Mtime: 1795240434424, Pzxid: 1}
	add := func(path string, data []byte) {
		b = proto.AppendBuffer(proto.AppendString(b, path), data)
		b = st.AppendTo(proto.AppendInt64(b, -1))
	}
	if f.at < 0 {
		b = append(b, make([]byte, 8)...)
		add("", nil)
		add("/applications-of-the-example", nil)
		f.at = 0
	}
	for end := len(b) + 64<<10; f.at < f.n; f.at++ {
		if len(b) >= end {
			return b, false
		}
		add(fmt.Sprintf("/applications-of-the-example/node-%08d", f.at), f.data)
	}
	return append(b, terminator...), true
}

func (f *forest) End() (proto.Zxid, int64) { return 1, 1 }

const benchNodes = 500_000

func benchDir(b *testing.B, c Compression) (*Store, Meta) {
	b.Helper()
	s, err := NewStore(Options{FS: vfs.OS(), Dir: b.TempDir(), Compression: c})
	require.NoError(b, err)
	m, err := s.Write(1, newForest(benchNodes))
	require.NoError(b, err)
	return s, m
}

// plainSize is the length of the uncompressed file.
func plainSize() int64 {
	f := newForest(benchNodes)
	size := int64(headerSize + sealSize + digestSize + lastZxidSize)
	for done := false; !done; {
		var b []byte
		b, done = f.Next(b)
		size += int64(len(b))
	}
	return size
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range compressions {
		b.Run(c.testName(), func(b *testing.B) {
			s, err := NewStore(Options{FS: vfs.OS(), Dir: b.TempDir(), Compression: c})
			require.NoError(b, err)
			b.SetBytes(plainSize())
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Write(1, newForest(benchNodes))
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, c := range compressions {
		b.Run(c.testName(), func(b *testing.B) {
			s, m := benchDir(b, c)
			b.SetBytes(plainSize())
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Load(m, Discard)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(benchNodes)*float64(b.N)/b.Elapsed().Seconds(), "znodes/s")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	s, m := benchDir(b, Plain)
	b.SetBytes(plainSize())
	for b.Loop() {
		require.NoError(b, s.Verify(m))
	}
}

func BenchmarkReadStream(b *testing.B) {
	var body bytes.Buffer
	require.NoError(b, WriteStream(&body, newForest(benchNodes)))
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, ReadStream(bufio.NewReaderSize(bytes.NewReader(body.Bytes()), 256<<10), Discard))
	}
	b.ReportMetric(float64(benchNodes)*float64(b.N)/b.Elapsed().Seconds(), "znodes/s")
}

// Loading allocates a few buffers, whatever the number of znodes.
func TestLoadAllocations(t *testing.T) {
	fs := newDir(t)
	s := newStore(t, fs, Plain)
	m := must.Do(s.Write(1, newForest(20_000)))(t)
	allocs := testing.AllocsPerRun(3, func() {
		must.Do(s.Load(m, Discard))(t)
	})
	require.Less(t, allocs, 60.0)
}
