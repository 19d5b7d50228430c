package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// TestConformance checks that both filesystems keep the same contract.
func TestConformance(t *testing.T) {
	systems := map[string]func(t *testing.T) (FS, string){
		"OS":  func(t *testing.T) (FS, string) { return OS(), t.TempDir() },
		"Mem": func(t *testing.T) (FS, string) { m := NewMem(); return m, "/" },
	}
	for name, open := range systems {
		t.Run(name, func(t *testing.T) {
			for _, c := range conformance {
				t.Run(c.rule, func(t *testing.T) {
					fsys, root := open(t)
					dir := filepath.Join(root, "a", "b")
					require.NoError(t, fsys.MkdirAll(dir))
					c.check(t, fsys, dir)
					if m, ok := fsys.(*Mem); ok {
						require.Empty(t, m.OpenFiles())
					}
				})
			}
		})
	}
}

func write(t *testing.T, fsys FS, name, data string) {
	t.Helper()
	f := must.Do(fsys.Create(name))(t)
	require.Equal(t, len(data), must.Do(f.Write([]byte(data)))(t))
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.NoError(t, fsys.SyncDir(filepath.Dir(name)))
}

func read(t *testing.T, fsys FS, name string) string {
	t.Helper()
	f := must.Do(fsys.Open(name))(t)
	b := must.ReadAll(t, f)
	require.NoError(t, f.Close())
	return string(b)
}

var conformance = []struct {
	rule  string
	check func(t *testing.T, fsys FS, dir string)
}{
	{"create writes and empties", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, "hello")
		require.Equal(t, "hello", read(t, fsys, name))
		write(t, fsys, name, "bye")
		require.Equal(t, "bye", read(t, fsys, name))
	}},
	{"missing files", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "none")
		require.ErrorIs(t, must.Err(fsys.Open(name)), fs.ErrNotExist)
		require.ErrorIs(t, must.Err(fsys.OpenWrite(name)), fs.ErrNotExist)
		require.ErrorIs(t, must.Err(fsys.Stat(name)), fs.ErrNotExist)
		require.ErrorIs(t, fsys.Remove(name), fs.ErrNotExist)
		require.ErrorIs(t, fsys.Rename(name, name+"2"), fs.ErrNotExist)
		require.ErrorIs(t, must.Err(fsys.List(name)), fs.ErrNotExist)
		require.ErrorIs(t, fsys.SyncDir(name), fs.ErrNotExist)
		require.ErrorIs(t, must.Err(fsys.Create(filepath.Join(name, "f"))), fs.ErrNotExist)
		require.ErrorIs(t, must.Err2(fsys.Free(name)), fs.ErrNotExist)
	}},
	{"positions", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		f := must.Do(fsys.Create(name))(t)
		must.Do(f.WriteAt([]byte("world"), 600))(t)
		must.Do(f.Write([]byte("hello")))(t)
		must.Do(f.Write([]byte("!")))(t)
		require.EqualValues(t, 605, must.Do(f.Size())(t))
		b := make([]byte, 605)
		n, err := f.ReadAt(b, 0)
		require.Equal(t, 605, n)
		require.True(t, err == nil || err == io.EOF)
		want := make([]byte, 605)
		copy(want, "hello!")
		copy(want[600:], "world")
		require.Equal(t, want, b)
		n, err = f.ReadAt(b, 603)
		require.Equal(t, 2, n)
		require.Equal(t, io.EOF, err)
		n, err = f.ReadAt(b, 700)
		require.Zero(t, n)
		require.Equal(t, io.EOF, err)
		require.NoError(t, f.Close())
	}},
	{"truncate shrinks and grows with zeros", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, "0123456789")
		f := must.Do(fsys.OpenWrite(name))(t)
		require.NoError(t, f.Truncate(4))
		require.NoError(t, f.Truncate(6))
		require.NoError(t, f.Close())
		require.Equal(t, "0123\x00\x00", read(t, fsys, name))
	}},
	{"open does not write", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, "x")
		f := must.Do(fsys.Open(name))(t)
		require.Error(t, must.Err(f.WriteAt([]byte("y"), 0)))
		require.NoError(t, f.Close())
		require.Equal(t, "x", read(t, fsys, name))
	}},
	{"closed files refuse", func(t *testing.T, fsys FS, dir string) {
		f := must.Do(fsys.Create(filepath.Join(dir, "f")))(t)
		require.NoError(t, f.Close())
		require.ErrorIs(t, f.Close(), fs.ErrClosed)
		require.ErrorIs(t, f.Sync(), fs.ErrClosed)
		require.ErrorIs(t, must.Err(f.WriteAt([]byte("y"), 0)), fs.ErrClosed)
		require.ErrorIs(t, must.Err(f.ReadAt(make([]byte, 1), 0)), fs.ErrClosed)
		require.ErrorIs(t, f.Truncate(0), fs.ErrClosed)
		require.ErrorIs(t, must.Err(f.Size()), fs.ErrClosed)
	}},
	{"rename replaces", func(t *testing.T, fsys FS, dir string) {
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		write(t, fsys, a, "new")
		write(t, fsys, b, "old")
		require.NoError(t, fsys.Rename(a, b))
		require.Equal(t, "new", read(t, fsys, b))
		require.Equal(t, []string{"b"}, must.Do(fsys.List(dir))(t))
	}},
	{"directories are renamed", func(t *testing.T, fsys FS, dir string) {
		a, b, full := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "full")
		require.NoError(t, fsys.MkdirAll(a))
		require.NoError(t, fsys.MkdirAll(b))
		require.NoError(t, fsys.MkdirAll(full))
		write(t, fsys, filepath.Join(a, "f"), "kept")
		write(t, fsys, filepath.Join(full, "f"), "in the way")
		write(t, fsys, filepath.Join(dir, "file"), "")
		lock := must.Do(fsys.Lock(filepath.Join(a, ".lock")))(t)
		require.ErrorIs(t, fsys.Rename(a, full), fs.ErrExist)
		require.Error(t, fsys.Rename(a, filepath.Join(dir, "file")))
		require.Error(t, fsys.Rename(filepath.Join(dir, "file"), a))
		require.ErrorIs(t, fsys.Rename(filepath.Join(dir, "missing"), b), fs.ErrNotExist)
		require.ErrorIs(t, fsys.Rename(a, b), fs.ErrExist, "nor is an empty directory replaced")
		require.NoError(t, fsys.Remove(b))
		require.NoError(t, fsys.Rename(a, b))
		require.Equal(t, "kept", read(t, fsys, filepath.Join(b, "f")))
		require.ErrorIs(t, must.Err(fsys.Stat(a)), fs.ErrNotExist)
		require.NoError(t, fsys.MkdirAll(a))
		other, err := fsys.Lock(filepath.Join(a, ".lock"))
		require.NoError(t, err, "the lock went with the directory")
		require.ErrorIs(t, must.Err(fsys.Lock(filepath.Join(b, ".lock"))), ErrLocked)
		require.NoError(t, errors.Join(lock.Close(), other.Close()))
	}},
	{"removed files stay readable", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, "still")
		f := must.Do(fsys.Open(name))(t)
		require.NoError(t, fsys.Remove(name))
		require.Equal(t, "still", string(must.ReadAll(t, f)))
		require.NoError(t, f.Close())
	}},
	{"list and stat", func(t *testing.T, fsys FS, dir string) {
		write(t, fsys, filepath.Join(dir, "z"), "1")
		write(t, fsys, filepath.Join(dir, "m"), "22")
		require.NoError(t, fsys.MkdirAll(filepath.Join(dir, "d")))
		require.Equal(t, []string{"d", "m", "z"}, must.Do(fsys.List(dir))(t))
		info := must.Do(fsys.Stat(filepath.Join(dir, "m")))(t)
		require.EqualValues(t, 2, info.Size())
		require.False(t, info.IsDir())
		info = must.Do(fsys.Stat(filepath.Join(dir, "d")))(t)
		require.True(t, info.IsDir())
		require.NoError(t, fsys.Remove(filepath.Join(dir, "d")))
		require.Error(t, fsys.Remove(dir), "not empty")
	}},
	{"mkdir is not for files", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, "")
		require.Error(t, fsys.MkdirAll(name))
		require.NoError(t, fsys.MkdirAll(dir))
	}},
	{"lock excludes", func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, ".lock")
		l := must.Do(fsys.Lock(name))(t)
		require.ErrorIs(t, must.Err(fsys.Lock(name)), ErrLocked)
		require.NoError(t, l.Close())
		l = must.Do(fsys.Lock(name))(t)
		require.NoError(t, l.Close())
		must.Do(fsys.Stat(name))(t)
	}},
	{"free", func(t *testing.T, fsys FS, dir string) {
		free, total := must.Do2(fsys.Free(dir))(t)
		require.Positive(t, free)
		require.GreaterOrEqual(t, total, free)
	}},
	{"random writes read back", func(t *testing.T, fsys FS, dir string) {
		const seed = 7
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, seed))
		f := must.Do(fsys.Create(filepath.Join(dir, "f")))(t)
		var want []byte
		for range 300 {
			switch rng.IntN(10) {
			case 0:
				size := rng.Int64N(5000)
				require.NoError(t, f.Truncate(size))
				want = resized(slices.Clone(want), size)
			case 1:
				require.NoError(t, f.Sync())
			default:
				off, b := rng.IntN(5000), make([]byte, rng.IntN(1500))
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				must.Do(f.WriteAt(b, int64(off)))(t)
				if len(b) > 0 && off+len(b) > len(want) {
					want = resized(slices.Clone(want), int64(off+len(b)))
				}
				copy(want[min(off, len(want)):], b)
			}
		}
		require.NoError(t, f.Close())
		require.True(t, bytes.Equal(want, []byte(read(t, fsys, filepath.Join(dir, "f")))))
	}},
}

func TestNoSpaceKeepsItsCause(t *testing.T) {
	cause := errors.New("quota")
	err := error(noSpaceError{cause, false})
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorIs(t, err, cause)
	require.Equal(t, "quota", err.Error())
}
