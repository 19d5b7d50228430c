package snapshot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

const crashSeed = 20260101

// eachCrash runs do against a disk made by start and takes the power away before each operation that changes
// anything, several times with different luck for what was not synced; after does the judging.
func eachCrash(
	t *testing.T, start func() *vfs.Mem, do func(*vfs.Mem), after func(t *testing.T, left *vfs.Mem, done bool),
) {
	t.Logf("seed %d", crashSeed)
	rng := rand.New(rand.NewPCG(crashSeed, 1))
	total := 0
	for crash := 1; ; crash++ {
		fs := start()
		var left []*vfs.Mem
		n := 0
		fs.Hook(func(op vfs.Op) error {
			if op.Kind.Changes() {
				if n++; n == crash {
					for _, percent := range []int{0, 30, 70, 100} {
						left = append(left, fs.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: percent}))
					}
				}
			}
			return nil
		})
		do(fs)
		done := n < crash
		if done {
			left = append(left, fs.CrashClone(rng, vfs.CrashOptions{}))
		}
		for _, disk := range left {
			after(t, disk, done)
		}
		if done {
			require.Greater(t, total, 3)
			return
		}
		total++
	}
}

// stored returns the zxids of the snapshots that load, newest first, and requires that every listed
// one does.
func stored(t *testing.T, fs vfs.FS) (zxids []proto.Zxid, digests []int64) {
	t.Helper()
	s := newStore(t, fs, Plain)
	metas := must.Do(s.List())(t)
	for _, m := range metas {
		trailer := must.Do(s.Load(m, Discard))(t)
		zxids, digests = append(zxids, m.Zxid), append(digests, trailer.Digest)
	}
	require.Len(t, listed(t, fs), len(metas), "nothing else is there")
	return zxids, digests
}

// Whenever the power fails during a Write, the snapshots before it are whole, and the new one is
// whole or not there.
func TestCrashDuringWrite(t *testing.T) {
	for _, c := range compressions {
		for _, replace := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/replace=%v", c.testName(), replace), func(t *testing.T) {
				old, next := sample(100), sample(300)
				old.digest, next.digest = 1, 2
				zxid := proto.Zxid(6)
				if replace {
					zxid = 5
				}
				start := func() *vfs.Mem {
					fs := newDir(t)
					must.Do(newStore(t, fs, c).Write(5, old.source()))(t)
					return fs
				}
				do := func(fs *vfs.Mem) {
					s := newStore(t, fs, c)
					s.syncBytes = 10000
					must.Do(s.Write(zxid, next.source()))(t)
				}
				eachCrash(t, start, do, func(t *testing.T, left *vfs.Mem, done bool) {
					zxids, digests := stored(t, left)
					switch {
					case replace:
						require.Equal(t, []proto.Zxid{5}, zxids)
						require.True(t, digests[0] == 2 || digests[0] == 1 && !done)
					case done || len(zxids) == 2:
						require.Equal(t, []proto.Zxid{6, 5}, zxids)
						require.Equal(t, []int64{2, 1}, digests)
					default:
						require.Equal(t, []proto.Zxid{5}, zxids)
						require.Equal(t, []int64{1}, digests)
					}
				})
			})
		}
	}
}

// Whenever the power fails during a Prune, the snapshots to be kept are there.
func TestCrashDuringPrune(t *testing.T) {
	start := func() *vfs.Mem {
		fs := newDir(t)
		for zxid := proto.Zxid(1); zxid <= 7; zxid++ {
			must.Do(newStore(t, fs, Plain).Write(zxid, sample(int(zxid)).source()))(t)
		}
		return fs
	}
	do := func(fs *vfs.Mem) {
		oldest, removed := must.Do2(newStore(t, fs, Plain).Prune(3))(t)
		require.EqualValues(t, 5, oldest)
		require.Equal(t, []string{"snapshot.1", "snapshot.2", "snapshot.3", "snapshot.4"}, removed)
	}
	eachCrash(t, start, do, func(t *testing.T, left *vfs.Mem, done bool) {
		zxids, _ := stored(t, left)
		require.GreaterOrEqual(t, len(zxids), 3)
		require.Equal(t, []proto.Zxid{7, 6, 5}, zxids[:3])
		require.True(t, !done || len(zxids) == 3)
	})
}

// Write returns the error of any operation that finds the disk full or broken. It leaves the earlier files and
// nothing else.
func TestWriteFailsCleanly(t *testing.T) {
	broken := errors.New("input/output error")
	for _, c := range compressions {
		for _, cause := range []error{vfs.ErrNoSpace, broken, &vfs.ShortWrite{N: 7, Err: vfs.ErrNoSpace}} {
			failed := 0
			for nth := 0; ; nth++ {
				fs := newDir(t)
				old := sample(3)
				s := newStore(t, fs, c)
				s.syncBytes = 5000
				must.Do(s.Write(5, old.source()))(t)
				n := -1
				var at vfs.Op
				fs.Hook(func(op vfs.Op) error {
					_, short := cause.(*vfs.ShortWrite)
					if short && op.Kind != vfs.OpWrite || op.Kind == vfs.OpRemove || op.Kind == vfs.OpSyncDir {
						return nil
					}
					if n++; n == nth {
						at = op
						return cause
					}
					return nil
				})
				_, err := s.Write(5, sample(300).source())
				fs.Hook(nil)
				if n < nth {
					require.NoError(t, err)
					break
				}
				failed++
				require.Error(t, err, at)
				if cause == broken {
					require.ErrorIs(t, err, broken, at)
				} else {
					require.ErrorIs(t, err, vfs.ErrNoSpace, at)
				}
				require.ErrorContains(t, err, "snapshot: write snapshot.5")
				var got state
				metas := must.Do(s.List())(t)
				require.Len(t, metas, 1)
				must.Do(s.Load(metas[0], &got))(t)
				old.same(t, &got)
				require.Len(t, listed(t, fs), 1, at)
				require.Empty(t, fs.OpenFiles())
			}
			require.Positive(t, failed)
		}
	}
}

// A disk with a given number of bytes left, for every interesting number.
func TestFullDisk(t *testing.T) {
	want := sample(200)
	size := int64(len(write(t, want, Plain)))
	for room := int64(0); room < size; room += 512 {
		fs := newDir(t)
		fs.SetCapacity(room)
		if room == 0 {
			fs.SetCapacity(1)
		}
		s := newStore(t, fs, Plain)
		require.ErrorIs(t, must.Err(s.Write(1, want.source())), vfs.ErrNoSpace)
		require.Empty(t, listed(t, fs))
		require.Zero(t, fs.Used())
		fs.SetCapacity(0)
		must.Do(s.Write(1, want.source()))(t)
	}
}

// Bytes that the disk did not keep as they were written never get a name.
func TestReadBackFindsWhatTheDiskLost(t *testing.T) {
	for _, c := range compressions {
		for _, where := range []int64{0, 100, 200} {
			fs := newDir(t)
			flipped := false
			fs.Hook(func(op vfs.Op) error {
				if op.Kind == vfs.OpOpen && !flipped {
					flipped = true
					return fs.Flip(op.Name, where, 4)
				}
				return nil
			})
			_, err := newStore(t, fs, c).Write(1, sample(40).source())
			require.True(t, flipped)
			require.ErrorIs(t, err, ErrCorrupt)
			fs.Hook(nil)
			require.Empty(t, listed(t, fs))
		}
	}
	// Also where the format itself has no checksum: the time in the header of a gzip file.
	fs := newDir(t)
	fs.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen {
			fs.Hook(nil)
			return fs.Flip(op.Name, 5, 1)
		}
		return nil
	})
	_, err := newStore(t, fs, Gzip).Write(1, sample(4).source())
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "read back")
}

func TestSyncsWhileWriting(t *testing.T) {
	fs := newDir(t)
	syncs := 0
	var largest, since int64
	fs.Hook(func(op vfs.Op) error {
		switch op.Kind {
		case vfs.OpSync:
			syncs++
			since = 0
		case vfs.OpWrite:
			since += int64(op.Len)
			largest = max(largest, since)
		}
		return nil
	})
	s := newStore(t, fs, Plain)
	s.syncBytes = 1 << 20
	m := must.Do(s.Write(1, sample(60000).source()))(t)
	require.GreaterOrEqual(t, int64(syncs), m.Size/(2<<20))
	require.Less(t, largest, int64(2<<20), "bytes that one sync has to write")
}

func TestCloseStopsWrite(t *testing.T) {
	fs := newDir(t)
	s := newStore(t, fs, Plain)
	fs.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite {
			require.Zero(t, op.Offset, "the first write is the last one")
			return s.Close()
		}
		return nil
	})
	require.ErrorIs(t, must.Err(s.Write(1, sample(60000).source())), ErrClosed)
	require.NoError(t, s.Close())
	require.ErrorIs(t, must.Err(s.Write(2, sample(1).source())), ErrClosed)
	require.Empty(t, listed(t, fs))
}
