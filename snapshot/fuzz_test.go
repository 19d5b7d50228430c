package snapshot

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// A file that loads is one that, written again, loads to the same.
func fuzzLoad(t *testing.T, b []byte, c Compression) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll(dir))
	name := FileName(1, c)
	put(t, fs, name, b)
	var got state
	trailer, err := Load(fs, dir+"/"+name, &got)
	require.Empty(t, fs.OpenFiles())
	if err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
		return
	}
	got.lastZxid, got.digest = max(trailer.DigestZxid, 2), trailer.Digest
	s := newStore(t, fs, Plain)
	m, err := s.Write(2, got.source())
	if err != nil {
		require.ErrorIs(t, err, errNoParent)
		return
	}
	var again state
	must.Do(s.Load(m, &again))(t)
	got.same(t, &again)
}

// seeds returns whole files of every kind.
func seeds(f *testing.F, c Compression) (files [][]byte) {
	for _, path := range []string{
		"zookeeper-3.8/11-tiny/version-2/snapshot.5", "zookeeper-3.10-snapshot/01-tiny/version-2/snapshot.9",
	} {
		b := must.ReadFile(f, fixtures+path)
		var packedBytes bytes.Buffer
		z := packed(&packedBytes, c)
		must.Do(z.Write(b))(f)
		require.NoError(f, z.Close())
		files = append(files, packedBytes.Bytes())
	}
	return append(files, write(f, sample(9), c))
}

func FuzzLoadPlain(f *testing.F) {
	for _, b := range seeds(f, Plain) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzLoad(t, b, Plain) })
}

// Bodies that are well sealed, so that the fuzzer gets past the seals.
func FuzzLoadSealed(f *testing.F) {
	f.Add(bodyOf(sample(9)), []byte{}, false)
	f.Add(bodyOf(sample(0)), proto.AppendInt64(nil, 4), true)
	f.Fuzz(func(t *testing.T, body, section []byte, twice bool) {
		sections := [][]byte{section}
		if twice {
			sections = append(sections, proto.AppendInt64(nil, 7))
		} else if len(section) == 0 {
			sections = nil
		}
		fuzzLoad(t, raw(body, sections...), Plain)
	})
}

func FuzzLoadGzip(f *testing.F) {
	for _, b := range seeds(f, Gzip) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzLoad(t, b, Gzip) })
}

func FuzzLoadSnappy(f *testing.F) {
	for _, b := range seeds(f, Snappy) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzLoad(t, b, Snappy) })
}

func FuzzReadStream(f *testing.F) {
	f.Add(bodyOf(sample(0)))
	f.Add(append(bodyOf(sample(9)), "BenWasHere"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got state
		r := bytes.NewReader(b)
		if err := ReadStream(r, &got); err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		var again bytes.Buffer
		require.NoError(t, WriteStream(&again, got.source()))
		var same state
		require.NoError(t, ReadStream(&again, &same))
		got.same(t, &same)
		rest := must.ReadAll(t, r)
		require.Len(t, rest, r.Len()+len(rest))
	})
}

// A small file that unpacks to a lot is read in little memory, and what it unpacks to is refused.
func TestDecompressionBomb(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	header := proto.FileHeader{Magic: proto.MagicSnapshot, Version: 2, Dbid: -1}
	must.Do(z.Write(append(header.AppendTo(nil), 0x01, 0, 0, 0)))(t) // 16 M sessions
	for range 64 {
		must.Do(z.Write(make([]byte, 1<<20)))(t)
	}
	require.NoError(t, z.Close())
	require.Less(t, b.Len(), 1<<18)
	fs := newDir(t)
	put(t, fs, "snapshot.1.gz", b.Bytes())
	require.Less(t, allocated(func() {
		require.ErrorIs(t, must.Err(Load(fs, dir+"/snapshot.1.gz", Discard)), ErrCorrupt)
	}), uint64(3<<20))
}

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
