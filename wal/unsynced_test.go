package wal

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// TestEverySubsetOfAnUnsyncedWrite lets a crash keep each subset of the blocks of a write that was not synced,
// over zeros that were written ahead and beyond the end of the file. Synced bytes are there, and of the write a
// beginning.
func TestEverySubsetOfAnUnsyncedWrite(t *testing.T) {
	for _, size := range []int{0, 60, 170, 480, 1300} {
		for _, synced := range []proto.Zxid{1, 3, 4} {
			old := logFile(batch(1, synced, 90))
			after := append(bytes.Clone(old), batch(synced+1, synced+6, size)...)
			if len(after) > 11*blockSize {
				after = append(bytes.Clone(old), batch(synced+1, synced+3, size)...)
			}
			begin, blocks := len(old)/blockSize, (len(after)+blockSize-1)/blockSize
			begin = min(begin, blocks)
			for mask := range 1 << (blocks - begin) {
				for _, ahead := range []int{0, 700} {
					b := append(bytes.Clone(old), pad(len(after)-len(old)+ahead)...)
					kept := len(old)
					for i := begin; i < blocks; i++ {
						if mask&(1<<(i-begin)) != 0 {
							end := min((i+1)*blockSize, len(after))
							copy(b[i*blockSize:end], after[i*blockSize:end])
							kept = max(kept, end)
						}
					}
					if ahead == 0 {
						b = b[:kept]
					}
					m := newMem(t)
					writeFile(t, m, "log.1", b)
					sum, err := ScanLast(m, dir+"/log.1", 1, func(*Record) error { return nil })
					require.NoError(t, err, "size %d, synced %v, blocks %b, %d ahead", size, synced, mask, ahead)
					_, zxids, err := tryOpen(t, Options{FS: m, Dir: dir}, 1)
					require.NoError(t, err, "size %d, synced %v, blocks %b, %d ahead", size, synced, mask, ahead)
					require.GreaterOrEqual(t, len(zxids), int(synced))
					require.Equal(t, span(1, proto.Zxid(len(zxids))), zxids)
					require.Equal(t, len(zxids), sum.Records, "a scan sees what a start sees")
					require.Empty(t, javaExtra(t, readFile(t, m, "log.1"), len(zxids)),
						"nothing is left behind the records")
				}
			}
		}
	}
}

// javaExtra is what ZooKeeper reads of a file after the first n records.
func javaExtra(t *testing.T, b []byte, n int) []proto.Zxid { return javaReads(t, b)[n:] }

// TestWhatWasSyncedIsNotCut takes a block away, or changes it, where it cannot be the end of a write that did not
// finish.
func TestWhatWasSyncedIsNotCut(t *testing.T) {
	records := func(first, last proto.Zxid) []byte { return logFile(batch(first, last, 200)) }
	blank := func(b []byte, block int) []byte {
		b = bytes.Clone(b)
		clear(b[block*blockSize : (block+1)*blockSize])
		return b
	}
	for name, c := range map[string]struct {
		files   map[string][]byte
		from    proto.Zxid
		refused bool
	}{
		"the last file":      {map[string][]byte{"log.1": blank(records(1, 12), 2)}, 1, false},
		"below the snapshot": {map[string][]byte{"log.1": blank(records(1, 12), 2)}, 9, true},
		"above the snapshot": {map[string][]byte{"log.1": blank(records(1, 12), 2)}, 3, false},
		"another file follows": {map[string][]byte{"log.1": blank(records(1, 12), 2), "log.d": records(13, 14)},
			1, true},
		"a bit":          {map[string][]byte{"log.1": flipped(records(1, 12), 2*blockSize+77)}, 1, true},
		"other contents": {map[string][]byte{"log.1": overwritten(records(1, 12), 2)}, 1, true},
		"far from the end": {
			map[string][]byte{"log.1": blank(logFile(batch(1, 12, 200), batch(13, 22, unsyncedMax/10)), 2)}, 1, true,
		},
		"as far as can be unsynced": {
			map[string][]byte{"log.1": blank(logFile(batch(1, 12, 200), batch(13, 21, unsyncedMax/10)), 2)}, 1, false,
		},
		"a record of zeros, flipped": {
			map[string][]byte{
				"log.1": flipped(logFile(batch(1, 3, 200), AppendRecord(nil, append(payload(4, 0), pad(400)...)),
					batch(5, 8, 200)), 3*258+30),
			}, 1, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMem(t)
			for file, b := range c.files {
				writeFile(t, m, file, b)
			}
			_, err := Verify(Options{FS: m, Dir: dir}, c.from, nil)
			if len(c.files) == 1 {
				sum, scanErr := ScanLast(m, dir+"/log.1", c.from, func(*Record) error { return nil })
				require.Equal(t, err == nil, scanErr == nil, "a scan says what a start says: %v", scanErr)
				require.Equal(t, !c.refused, sum.IsTorn)
			}
			if c.refused {
				require.ErrorIs(t, err, ErrCorrupt)
				return
			}
			require.NoError(t, err)
		})
	}
}

func flipped(b []byte, at int) []byte {
	b[at] ^= 4
	return b
}

// overwritten puts the contents of another block into a block.
func overwritten(b []byte, block int) []byte {
	copy(b[block*blockSize:(block+1)*blockSize], b[(block+2)*blockSize:])
	return b
}

// TestAppendBoundsWhatIsUnsynced appends without ever asking for a sync.
func TestAppendBoundsWhatIsUnsynced(t *testing.T) {
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir}, 1)
	for z := proto.Zxid(1); z <= 10; z++ {
		add(t, l, z, z, unsyncedMax/4)
		require.LessOrEqual(t, l.unsynced, int64(unsyncedMax))
	}
	strict := m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{})
	require.NoError(t, l.Close())
	_, zxids := openAndClose(t, strict, 1)
	require.Equal(t, span(1, 9), zxids)
}
