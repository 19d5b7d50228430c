package wal

import (
	"fmt"
	"hash/adler32"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// latencies collects how long each Sync took.
type latencies struct{ took []time.Duration }

func (l *latencies) Appended(int)                       {}
func (l *latencies) Synced(took time.Duration, _ int64) { l.took = append(l.took, took) }

func (l *latencies) report(b *testing.B) {
	slices.Sort(l.took)
	n := len(l.took)
	b.ReportMetric(float64(l.took[n/10].Microseconds()), "p10-us")
	b.ReportMetric(float64(l.took[n/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(l.took[n*99/100].Microseconds()), "p99-us")
}

// BenchmarkAppendSync appends a batch and syncs, with zeros written ahead and without. It rolls
// every 8 MiB. ns/op holds all of it; the percentiles are those of fdatasync alone.
func BenchmarkAppendSync(b *testing.B) {
	for _, txns := range []int{1, 64} {
		for _, prealloc := range []int64{0, zookeeperPrealloc} {
			b.Run(fmt.Sprintf("txns=%d/prealloc=%dMiB", txns, prealloc>>20), func(b *testing.B) {
				seen := &latencies{}
				l, _ := open(b, Options{FS: vfs.OS(), Dir: b.TempDir(), PreallocSize: prealloc, Events: seen}, 1)
				add(b, l, 1, 1, 1)
				if prealloc > 0 {
					await(b, "blocks ahead", func() bool { return l.Room() >= zeroChunkMin })
				}
				require.NoError(b, l.Sync())
				seen.took = make([]time.Duration, 0, 1<<20)
				body := payload(1, 168)
				buf := make([]byte, 0, txns*(len(body)+overhead))
				z := proto.Zxid(1)
				b.SetBytes(int64(cap(buf)))
				b.ReportAllocs()
				for b.Loop() {
					first := z + 1
					buf = buf[:0]
					for range txns {
						z++
						start := len(buf)
						buf = BeginRecord(buf)
						h := proto.TxnHeader{Zxid: z, Type: proto.OpSetData}
						buf = h.AppendTo(buf)
						buf = append(buf, body[payloadMin:]...)
						buf = EndRecord(buf, start)
					}
					if err := l.Append(buf, first, z); err != nil {
						b.Fatal(err)
					}
					if err := l.Sync(); err != nil {
						b.Fatal(err)
					}
					if l.Size() > 8<<20 {
						if err := l.Roll(); err != nil {
							b.Fatal(err)
						}
					}
				}
				seen.report(b)
				require.NoError(b, l.Close())
			})
		}
	}
}

// BenchmarkFdatasync measures the disk alone: appends to a growing file, to a file whose size is set but whose
// blocks are not written, and to a file of written zeros.
func BenchmarkFdatasync(b *testing.B) {
	const size = 64 << 20
	for _, n := range []int{400, 4096, 16384} {
		for _, c := range []struct {
			name    string
			prepare func(f vfs.File) error
		}{
			{"growing", func(f vfs.File) error { return nil }},
			{"sparse", func(f vfs.File) error { return f.Truncate(size) }},
			{"zeros", func(f vfs.File) error {
				for at := int64(0); at < size; at += int64(len(zeros)) {
					if _, err := f.WriteAt(zeros[:], at); err != nil {
						return err
					}
				}
				return nil
			}},
		} {
			b.Run(fmt.Sprintf("bytes=%d/%s", n, c.name), func(b *testing.B) {
				f, err := vfs.OS().Create(b.TempDir() + "/f")
				require.NoError(b, err)
				require.NoError(b, c.prepare(f))
				require.NoError(b, f.Sync())
				seen := &latencies{}
				data := payload(1, n-payloadMin)
				for at := int64(headerSize); b.Loop(); at = headerSize + (at+int64(n))%(size-int64(2*n)) {
					_, err := f.WriteAt(data, at)
					require.NoError(b, err)
					began := time.Now()
					require.NoError(b, f.Sync())
					seen.Synced(time.Since(began), 0)
				}
				seen.report(b)
				require.NoError(b, f.Close())
			})
		}
	}
}

// BenchmarkReplay reads records of 200 bytes of payload from the page cache.
func BenchmarkReplay(b *testing.B) {
	const records = 200_000
	dir := b.TempDir()
	l, _ := open(b, Options{FS: vfs.OS(), Dir: dir}, 1)
	for z := proto.Zxid(1); z <= records; z += 1000 {
		add(b, l, z, z+999, 168)
	}
	require.NoError(b, l.Close())
	n := 0
	b.SetBytes(records * (200 + overhead))
	b.ReportAllocs()
	for b.Loop() {
		_, err := Verify(Options{FS: vfs.OS(), Dir: dir}, 1, func(*Record) error { n++; return nil })
		require.NoError(b, err)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkEndRecord(b *testing.B) {
	buf := append(BeginRecord(nil), payload(1, 168)...)
	b.SetBytes(int64(len(buf) + 1))
	b.ReportAllocs()
	for b.Loop() {
		EndRecord(buf, 0)
	}
}

func BenchmarkChecksum(b *testing.B) {
	for _, size := range []int{40, 200, 1000, 1 << 20} {
		data := payload(1, size-payloadMin)
		for name, sum := range map[string]func([]byte) uint32{"ours": checksum, "hash/adler32": adler32.Checksum} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					sum(data)
				}
			})
		}
	}
}

// BenchmarkLocate looks for a txn in the middle of a file of 100 MB, as a leader does for a learner that lacks more
// than the window has.
func BenchmarkLocate(b *testing.B) {
	fsys, logDir := vfs.OS(), b.TempDir()
	l, err := Open(Options{FS: fsys, Dir: logDir})
	require.NoError(b, err)
	_, err = l.Replay(1, nil)
	require.NoError(b, err)
	const txns, size = 100_000, 1000
	for z := proto.Zxid(1); z <= txns; z += 100 {
		require.NoError(b, l.Append(batch(z, z+99, size), z, z+99))
	}
	require.NoError(b, l.Sync())
	for b.Loop() {
		p, ok, err := l.Locate(txns / 2)
		if err != nil || !ok || p.At != txns/2 {
			b.Fatal(p, ok, err)
		}
	}
	require.NoError(b, l.Close())
}
