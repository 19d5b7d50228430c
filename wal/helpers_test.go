package wal

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/version-2"

// zookeeperPrealloc is ZooKeeper's default of Options.PreallocSize.
const zookeeperPrealloc = 64 << 20

func newMem(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	require.NoError(t, m.MkdirAll(dir))
	return m
}

func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// payload returns a txn with a body of size bytes that depend on its zxid.
func payload(z proto.Zxid, size int) []byte {
	h := proto.TxnHeader{ClientID: 7, Cxid: int32(z), Zxid: z, Time: 1_700_000_000_000, Type: proto.OpSetData}
	b := h.AppendTo(nil)
	for i := range size {
		b = append(b, byte(int(z)*31+i*7+1))
	}
	return b
}

// batch returns the framed records of the txns first to last, with bodies of size bytes.
func batch(first, last proto.Zxid, size int) []byte {
	var b []byte
	for z := first; z <= last; z++ {
		b = AppendRecord(b, payload(z, size))
	}
	return b
}

// open opens and replays a log, collecting the zxids of its records.
func open(t testing.TB, o Options, from proto.Zxid) (*Log, []proto.Zxid) {
	t.Helper()
	l, zxids := must.Do2(tryOpen(t, o, from))(t)
	return l, zxids
}

// tryOpen checks every record that is replayed against the one that was written.
func tryOpen(t testing.TB, o Options, from proto.Zxid) (*Log, []proto.Zxid, error) {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		return nil, nil, err
	}
	var zxids []proto.Zxid
	last, err := l.Replay(from, func(r *Record) error {
		require.Equal(t, payload(r.Zxid, len(r.Payload)-payloadMin), r.Payload)
		zxids = append(zxids, r.Zxid)
		return nil
	})
	if err != nil {
		require.Zero(t, last)
		l.Close()
		return nil, nil, err
	}
	if n := len(zxids); n > 0 {
		require.Equal(t, zxids[n-1], last)
	} else {
		require.Equal(t, max(from-1, 0), last)
	}
	require.Equal(t, last, l.LastZxid())
	return l, zxids, nil
}

func add(t testing.TB, l *Log, first, last proto.Zxid, size int) {
	t.Helper()
	require.NoError(t, l.Append(batch(first, last, size), first, last))
}

// Room returns how many bytes can be appended now into blocks that exist already.
func (l *Log) Room() int64 {
	if x := l.tail; x != nil {
		return max(0, x.written.Load()-x.end.Load())
	}
	l.ahead.mu.Lock()
	defer l.ahead.mu.Unlock()
	if l.ahead.mu.next == nil {
		return 0
	}
	return l.ahead.mu.next.written.Load() - headerSize
}

// locate is Locate of a log that can be read.
func locate(t testing.TB, l *Log, z proto.Zxid) (Place, bool) {
	t.Helper()
	p, ok := must.Do2(l.Locate(z))(t)
	return p, ok
}

// purge is Purge that succeeds.
func purge(t testing.TB, l *Log, oldest proto.Zxid) (removed []string) {
	t.Helper()
	removed = must.Do(l.Purge(oldest))(t)
	return removed
}

func span(first, last proto.Zxid) []proto.Zxid {
	var zs []proto.Zxid
	for z := first; z <= last; z++ {
		zs = append(zs, z)
	}
	return zs
}

func readFile(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	b := must.Do(vfs.ReadFile(fsys, filepath.Join(dir, name), 1<<30))(t)
	return b
}

func writeFile(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	f := must.Do(fsys.Create(filepath.Join(dir, name)))(t)
	must.Do(f.Write(b))(t)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.NoError(t, fsys.SyncDir(dir))
}

// logFile returns the bytes of a file with the given batches.
func logFile(parts ...[]byte) []byte {
	b := fileHeader()
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func names(t testing.TB, fsys vfs.FS) []string {
	t.Helper()
	names := must.Do(fsys.List(dir))(t)
	return names
}

// javaReads reads a file as Apache ZooKeeper does, and fails if it would refuse: magic, then records until
// a length of zero, an incomplete record or a wrong end byte; a checksum that does not match
// refuses. Source: storage 4.6.
func javaReads(t testing.TB, b []byte) (zxids []proto.Zxid) {
	t.Helper()
	require.GreaterOrEqual(t, len(b), headerSize, "too short for its header")
	require.Equal(t, uint32(proto.MagicLog), binary.BigEndian.Uint32(b), "magic")
	for b = b[headerSize:]; len(b) >= prefixSize; {
		sum, n := binary.BigEndian.Uint64(b), int(int32(binary.BigEndian.Uint32(b[8:])))
		if n == 0 || n > len(b)-overhead {
			break
		}
		require.Positive(t, n)
		if b[prefixSize+n] != endByte {
			break
		}
		p := b[prefixSize : prefixSize+n]
		require.EqualValues(t, checksum(p), sum, "CRC check failed")
		zxids = append(zxids, zxidOf(p))
		b = b[overhead+n:]
	}
	return zxids
}
