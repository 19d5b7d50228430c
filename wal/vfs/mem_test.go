package vfs

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func newRand(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	rng := newRand(t, 1)
	m := NewMem()
	write(t, m, "/f", "synced")
	f := must.Do(m.OpenWrite("/f"))(t)
	must.Do(f.WriteAt([]byte("SYNCED and more"), 0))(t)

	strict := m.CrashClone(rng, CrashOptions{})
	require.Equal(t, "synced", read(t, strict, "/f"))
	killed := m.CrashClone(rng, CrashOptions{UnsyncedPercent: 100})
	require.Equal(t, "SYNCED and more", read(t, killed, "/f"))

	require.NoError(t, f.Sync())
	require.Equal(t, "SYNCED and more", read(t, m.CrashClone(rng, CrashOptions{}), "/f"))
	require.Equal(t, []string{"/f"}, m.OpenFiles())
	require.NoError(t, f.Close())
	require.Empty(t, m.OpenFiles())
}

// TestCrashKeepsAnySubsetOfBlocks checks that every combination of three unsynced blocks is found
// after some crash, and nothing that is not a version of a block.
func TestCrashKeepsAnySubsetOfBlocks(t *testing.T) {
	rng := newRand(t, 2)
	m := NewMem()
	write(t, m, "/f", strings.Repeat("o", 3*BlockSize))
	f := must.Do(m.OpenWrite("/f"))(t)
	must.Do(f.WriteAt(bytes.Repeat([]byte("n"), 3*BlockSize), 0))(t)
	seen := map[string]int{}
	for range 200 {
		got := read(t, m.CrashClone(rng, CrashOptions{UnsyncedPercent: 50}), "/f")
		require.Len(t, got, 3*BlockSize)
		var versions strings.Builder
		for i := 0; i < len(got); i += BlockSize {
			block := got[i : i+BlockSize]
			require.Equal(t, strings.Repeat(block[:1], BlockSize), block)
			versions.WriteString(block[:1])
		}
		seen[versions.String()]++
	}
	require.Len(t, seen, 8)
	require.NoError(t, f.Close())
}

// TestCrashKeepsVersionsOfABlock checks that two writes into one block are found as none, the
// first or both, never the second alone.
func TestCrashKeepsVersionsOfABlock(t *testing.T) {
	rng := newRand(t, 3)
	m := NewMem()
	write(t, m, "/f", "....")
	f := must.Do(m.OpenWrite("/f"))(t)
	must.Do(f.WriteAt([]byte("A"), 0))(t)
	must.Do(f.WriteAt([]byte("B"), 2))(t)
	seen := map[string]bool{}
	for range 100 {
		seen[read(t, m.CrashClone(rng, CrashOptions{UnsyncedPercent: 50}), "/f")] = true
	}
	require.Equal(t, map[string]bool{"....": true, "A...": true, "A.B.": true}, seen)
	require.NoError(t, f.Close())
}

func TestCrashLosesNamesThatWereNotSynced(t *testing.T) {
	rng := newRand(t, 4)
	m := NewMem()
	write(t, m, "/old", "1")
	require.NoError(t, m.Rename("/old", "/new"))
	f := must.Do(m.Create("/other"))(t)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())

	seen := map[string]bool{}
	for range 100 {
		names := must.Do(m.CrashClone(rng, CrashOptions{UnsyncedPercent: 50}).List("/"))(t)
		seen[strings.Join(names, " ")] = true
	}
	require.Equal(t, map[string]bool{"old": true, "new": true, "old other": true, "new other": true}, seen)

	require.NoError(t, m.SyncDir("/"))
	require.Equal(t, []string{"new", "other"}, must.Do(m.CrashClone(rng, CrashOptions{}).List("/"))(t))
}

func TestFailedSyncIsNotMadeGoodByTheNext(t *testing.T) {
	rng := newRand(t, 5)
	errDisk := errors.New("disk")
	m := NewMem()
	write(t, m, "/f", strings.Repeat("o", 64*BlockSize))
	f := must.Do(m.OpenWrite("/f"))(t)
	must.Do(f.WriteAt(bytes.Repeat([]byte("n"), 64*BlockSize), 0))(t)
	other := must.Do(m.Open("/f"))(t)
	m.FailNth(OpSync, 0, errDisk)
	require.ErrorIs(t, f.Sync(), errDisk)
	require.NoError(t, f.Sync())
	require.ErrorIs(t, other.Sync(), errDisk, "every handle reports it once")
	require.NoError(t, other.Sync())
	require.NoError(t, other.Close())
	require.Equal(t, strings.Repeat("n", 64*BlockSize), read(t, m, "/f"))
	got := read(t, m.CrashClone(rng, CrashOptions{}), "/f")
	require.Contains(t, got, "o", "some blocks were lost")
	require.Contains(t, got, "n", "some blocks were written")
	require.NoError(t, f.Close())
}

func TestFullDisk(t *testing.T) {
	m := NewMem()
	m.SetCapacity(4 * BlockSize)
	f := must.Do(m.Create("/f"))(t)
	n := must.Do(f.WriteAt(make([]byte, 3*BlockSize), 0))(t)
	require.Equal(t, 3*BlockSize, n)
	n, err := f.WriteAt(make([]byte, 2*BlockSize), 3*BlockSize)
	require.ErrorIs(t, err, ErrNoSpace)
	require.Equal(t, BlockSize, n, "what fits is written")
	free, total := must.Do2(m.Free("/"))(t)
	require.Zero(t, free)
	require.EqualValues(t, 4*BlockSize, total)
	require.NoError(t, must.Err(f.WriteAt(make([]byte, 4*BlockSize), 0)), "overwriting takes no space")
	require.ErrorIs(t, f.Truncate(5*BlockSize), ErrNoSpace)

	require.NoError(t, m.Remove("/f"))
	require.EqualValues(t, 4*BlockSize, m.Used(), "an open file keeps its space")
	require.NoError(t, f.Close())
	require.Zero(t, m.Used())
}

func TestHooks(t *testing.T) {
	errDisk := errors.New("disk")
	m := NewMem()
	f := must.Do(m.Create("/f"))(t)
	m.Hook(func(op Op) error {
		if op.Kind == OpWrite {
			return &ShortWrite{N: 2, Err: errDisk}
		}
		return nil
	})
	n, err := f.Write([]byte("hello"))
	require.ErrorIs(t, err, errDisk)
	require.Equal(t, 2, n)
	m.Hook(nil)
	require.Equal(t, "he", read(t, m, "/f"))

	for kind, do := range map[OpKind]func() error{
		OpCreate:   func() error { _, err := m.Create("/g"); return err },
		OpOpen:     func() error { _, err := m.Open("/f"); return err },
		OpRead:     func() error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
		OpWrite:    func() error { _, err := f.WriteAt([]byte("x"), 0); return err },
		OpSync:     f.Sync,
		OpTruncate: func() error { return f.Truncate(1) },
		OpRemove:   func() error { return m.Remove("/f") },
		OpRename:   func() error { return m.Rename("/f", "/g") },
		OpList:     func() error { _, err := m.List("/"); return err },
		OpMkdir:    func() error { return m.MkdirAll("/d") },
		OpSyncDir:  func() error { return m.SyncDir("/") },
	} {
		m.FailNth(kind, 0, errDisk)
		require.ErrorIs(t, do(), errDisk, kind)
	}
	m.Hook(nil)
	require.Equal(t, "he", read(t, m, "/f"), "what failed had no effect")
	require.NoError(t, f.Close())
	require.Equal(t, "/f 2\n", m.String())
}

func TestFlipIsDurable(t *testing.T) {
	m := NewMem()
	write(t, m, "/f", "ab")
	require.NoError(t, m.Flip("/f", 1, 0x20))
	require.Equal(t, "aB", read(t, m, "/f"))
	require.Equal(t, "aB", read(t, m.CrashClone(newRand(t, 6), CrashOptions{}), "/f"))
	require.Error(t, m.Flip("/f", 2, 1))
	require.Error(t, m.Flip("/g", 0, 1))
}

// TestCrashOfDirectories renames directories, and finds after a crash what was there after some of the renames,
// in their order.
func TestCrashOfDirectories(t *testing.T) {
	rng := newRand(t, 4)
	m := NewMem()
	for _, dir := range []string{"/d/old", "/d/new", "/d/new/below"} {
		require.NoError(t, m.MkdirAll(dir))
		write(t, m, dir+"/f", dir)
		require.NoError(t, m.SyncDir(dir))
	}
	require.NoError(t, m.Rename("/d/old", "/d/aside"))
	require.NoError(t, m.Rename("/d/new", "/d/old"))
	require.Equal(t, "/d/new/below", read(t, m, "/d/old/below/f"))
	seen := map[string]int{}
	for range 100 {
		c := m.CrashClone(rng, CrashOptions{UnsyncedPercent: 50})
		names := must.Do(c.List("/d"))(t)
		for _, name := range names {
			seen[strings.Join(names, " ")+": "+name+" is "+read(t, c, "/d/"+name+"/f")]++
		}
	}
	require.ElementsMatch(t, []string{
		"new old: new is /d/new", "new old: old is /d/old",
		"aside new: aside is /d/old", "aside new: new is /d/new",
		"aside old: aside is /d/old", "aside old: old is /d/new",
	}, slices.Collect(maps.Keys(seen)))

	require.NoError(t, m.SyncDir("/d"))
	strict := m.CrashClone(rng, CrashOptions{})
	require.Equal(t, "/d/new/below", read(t, strict, "/d/old/below/f"))
	require.Equal(t, "/d/old", read(t, strict, "/d/aside/f"))
}
