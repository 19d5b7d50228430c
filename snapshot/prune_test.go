package snapshot

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// catalogue is a Catalogue in memory.
type catalogue struct {
	entries map[string]sums
	err     error
}

func (c *catalogue) Snapshot(name string) (int64, uint32, bool) {
	e, ok := c.entries[name]
	return e.size, e.crc, ok
}

func (c *catalogue) PutSnapshot(name string, _ proto.Zxid, size int64, sum uint32) error {
	if c.err == nil {
		c.entries[name] = sums{size, sum}
	}
	return c.err
}

func (c *catalogue) SnapshotOf(size int64, checksum uint32) (zxid proto.Zxid, ok bool) {
	for name, e := range c.entries {
		if e == (sums{size, checksum}) {
			at, _, _ := ParseName(name)
			zxid, ok = max(zxid, at), true
		}
	}
	return zxid, ok
}

func (c *catalogue) DropSnapshot(name string) error {
	if c.err == nil {
		delete(c.entries, name)
	}
	return c.err
}

func pruneStore(t *testing.T, zxids ...proto.Zxid) (*Store, *vfs.Mem, *catalogue, *[]string) {
	t.Helper()
	fs := newDir(t)
	c := &catalogue{entries: map[string]sums{}}
	var warned []string
	s, err := NewStore(Options{FS: fs, Dir: dir, Catalogue: c,
		Warn: func(name string, err error) { warned = append(warned, name+": "+err.Error()) }})
	require.NoError(t, err)
	for _, zxid := range zxids {
		must.Do(s.Write(zxid, sample(4).source()))(t)
	}
	return s, fs, c, &warned
}

func listed(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names := must.Do(fs.List(dir))(t)
	return names
}

// The example of storage 9.
func TestPrune(t *testing.T) {
	s, fs, c, _ := pruneStore(t, 0x100, 0x200, 0x300, 0x400)
	oldest, removed := must.Do2(s.Prune(3))(t)
	require.EqualValues(t, 0x200, oldest)
	require.Equal(t, []string{"snapshot.100"}, removed)
	require.Equal(t, []string{"snapshot.200", "snapshot.300", "snapshot.400"}, listed(t, fs))
	require.NotContains(t, c.entries, "snapshot.100")

	oldest, removed = must.Do2(s.Prune(5))(t)
	require.EqualValues(t, 0x200, oldest)
	require.Empty(t, removed)

	require.ErrorContains(t, must.Err2(s.Prune(0)), "cannot keep 0")
}

func TestPruneRemovesOldestFirstAndOnlySnapshots(t *testing.T) {
	s, fs, _, _ := pruneStore(t, 0x2, 0x10, 0xf0, 0x100)
	for _, name := range []string{"snapshot.3", "snapshot.4.gz", "snapshot.5.tmp", "snapshot.xyz",
		"snapshot.ffffffffffffffff", "snapshot.200", "log.1", "currentEpoch"} {
		put(t, fs, name, []byte("not a snapshot"))
	}
	oldest, removed := must.Do2(s.Prune(1))(t)
	require.EqualValues(t, 0x100, oldest)
	require.Equal(t, []string{"snapshot.2", "snapshot.3", "snapshot.4.gz", "snapshot.10", "snapshot.f0"}, removed)
	require.Equal(t, []string{"currentEpoch", "log.1", "snapshot.100", "snapshot.200", "snapshot.5.tmp",
		"snapshot.ffffffffffffffff", "snapshot.xyz"}, listed(t, fs))
}

// A damaged snapshot does not count, however new it is.
func TestPruneCountsOnlyWhatVerifies(t *testing.T) {
	s, fs, c, warned := pruneStore(t, 1, 2, 3, 4, 5)
	require.NoError(t, fs.Flip(dir+"/snapshot.5", 50, 1))
	require.NoError(t, fs.Flip(dir+"/snapshot.3", 50, 1))
	clear(c.entries) // a server that has lost its meta.db
	oldest, removed := must.Do2(s.Prune(2))(t)
	require.EqualValues(t, 2, oldest)
	require.Equal(t, []string{"snapshot.1"}, removed)
	require.Len(t, *warned, 2)
	require.Contains(t, c.entries, "snapshot.4")
	require.Contains(t, c.entries, "snapshot.2")

	for _, name := range []string{"snapshot.2", "snapshot.4"} {
		require.NoError(t, fs.Flip(dir+"/"+name, 50, 1))
		delete(c.entries, name)
	}
	_, removed, err := s.Prune(1)
	require.ErrorIs(t, err, ErrNone)
	require.Empty(t, removed)
	require.Len(t, listed(t, fs), 4)
}

// A file in the catalogue is not read again, unless its size differs.
func TestPruneTrustsTheCatalogue(t *testing.T) {
	s, fs, c, _ := pruneStore(t, 1, 2, 3)
	opens := func() (n int) {
		var whole int64
		fs.Hook(func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && op.Len > 100 {
				whole++
			}
			return nil
		})
		must.Do2(s.Prune(3))(t)
		fs.Hook(nil)
		return int(whole)
	}
	require.Zero(t, opens())
	c.entries["snapshot.2"] = sums{size: 1}
	require.Positive(t, opens())
	require.Zero(t, opens())

	metas := must.Do(s.List())(t)
	for _, m := range metas {
		require.True(t, m.Verified)
		require.Equal(t, c.entries[m.Name], sums{m.Size, m.Checksum})
	}
}

// A catalogue that cannot be written costs those who read nothing but a warning.
func TestCatalogueFailure(t *testing.T) {
	s, fs, c, warned := pruneStore(t, 1, 2)
	clear(c.entries)
	c.err = errors.New("disk full")
	metas := must.Do(s.List())(t)
	for _, m := range metas {
		must.Do(s.Load(m, Discard))(t)
		require.NoError(t, s.Verify(m))
	}
	_, removed := must.Do2(s.Prune(1))(t)
	require.Len(t, removed, 1)
	require.Equal(t, []string{"snapshot.2"}, listed(t, fs))
	require.Contains(t, *warned, "snapshot.1: disk full")
}

func TestPruneFails(t *testing.T) {
	s, fs, _, _ := pruneStore(t, 1, 2, 3, 4)
	broken := errors.New("input/output error")
	fs.FailNth(vfs.OpRemove, 1, broken)
	oldest, removed, err := s.Prune(1)
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 4, oldest)
	require.Equal(t, []string{"snapshot.1"}, removed)
	fs.Hook(nil)
	require.Equal(t, []string{"snapshot.2", "snapshot.3", "snapshot.4"}, listed(t, fs))
}

// A snapshot counts as written only when it is in the catalogue: callers remove the log that leads to it.
func TestWriteFailsWithoutItsCatalogue(t *testing.T) {
	s, _, c, _ := pruneStore(t, 5)
	c.err = vfs.ErrNoSpace
	require.ErrorIs(t, must.Err(s.Write(6, sample(4).source())), vfs.ErrNoSpace)
	c.err = nil
	require.Contains(t, c.entries, must.Do(s.Write(6, sample(4).source()))(t).Name)
}
