package rebuild

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Every directory that ZooKeeper has left is taken over from its newest snapshot, fuzzy or without a digest.
func TestNewestOfZooKeeper(t *testing.T) {
	dirs := must.Do(filepath.Glob("../../test/testdata/fixtures/*/*/version-2"))(t)
	require.NotEmpty(t, dirs)
	taken := 0
	for _, dir := range dirs {
		if strings.Contains(dir, "mismatch") {
			continue // a damaged log
		}
		found, err := Newest(&Source{FS: vfs.OS(), Dir: dir, Snapshots: snapshot.View{FS: vfs.OS(), Dir: dir},
			Foreign: true, Log: func(from proto.Zxid, fn func(*wal.Record) error) error {
				_, err := wal.Verify(wal.Options{FS: vfs.OS(), Dir: dir}, from, fn)
				return err
			}})
		require.NoError(t, err, dir)
		require.NoError(t, found.Wrong, dir)
		require.Zero(t, found.Differing, dir)
		require.True(t, found.IsExact(), dir)
		require.NoError(t, found.LostEnd(0), dir)
		if strings.Contains(dir, "corrupt") {
			require.Len(t, found.Passed, 1, dir)
			require.False(t, found.Passed[0].IsWhole(), dir)
		} else {
			require.Empty(t, found.Passed, dir)
		}
		taken++
	}
	require.Greater(t, taken, 8)
}

// A snapshot that may not be opened, or whose disk fails, is passed over as a damaged one is. ZooKeeper does so, too.
func TestNewestThatCannotBeRead(t *testing.T) {
	const files = "../../test/testdata/fixtures/zookeeper-3.8/02-snapshot-and-log/version-2/"
	for _, kind := range []vfs.OpKind{vfs.OpOpen, vfs.OpRead} {
		mem := vfs.NewMem()
		require.NoError(t, mem.MkdirAll("/d"))
		for _, name := range []string{"snapshot.0", "log.1", "snapshot.34", "log.35"} {
			b := must.ReadFile(t, files+name)
			require.NoError(t, vfs.WriteFile(mem, "/d/"+name, b))
		}
		mem.Hook(func(op vfs.Op) error {
			if op.Kind == kind && op.Name == "/d/snapshot.34" {
				return fs.ErrPermission
			}
			return nil
		})
		found, err := Newest(&Source{FS: mem, Dir: "/d", Snapshots: snapshot.View{FS: mem, Dir: "/d"}, Foreign: true,
			Log: func(from proto.Zxid, fn func(*wal.Record) error) error {
				_, err := wal.Verify(wal.Options{FS: mem, Dir: "/d"}, from, fn)
				return err
			}})
		require.NoError(t, err)
		require.Equal(t, "snapshot.0", found.Name)
		require.Equal(t, proto.Zxid(0x3e), found.State.LastZxid())
		require.Len(t, found.Passed, 1)
		require.ErrorIs(t, found.Passed[0].Err, fs.ErrPermission)
	}
}

// otherDigest is a source whose tree has another digest, as with another character set.
type otherDigest struct{ w *datatree.Walker }

func (s otherDigest) Next(b []byte) ([]byte, bool) { return s.w.Next(b, 1<<20) }

func (s otherDigest) End() (proto.Zxid, int64) {
	last, digest := s.w.End()
	return last, digest + 1
}

// ZooKeeper computes digests in the character set of its machine. Those that differ since before an epoch began do not
// tell that a txn is missing there.
func TestDigestsOfAnotherCharacterSet(t *testing.T) {
	state := datatree.NewState(datatree.Config{})
	session := func(z proto.Zxid) []byte {
		h := proto.TxnHeader{ClientID: 1, Zxid: z, Time: 1, Type: proto.OpCreateSession}
		txn := proto.CreateSessionTxn{TimeOut: 1000}
		b := txn.AppendTo(h.AppendTo(nil))
		d := proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: state.Digest() + 1}
		return d.AppendTo(b)
	}
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("/d"))
	store := must.Do(snapshot.NewStore(snapshot.Options{FS: mem, Dir: "/d"}))(t)
	last := proto.MakeZxid(1, 1)
	must.Do2(state.Apply(session(last), nil, nil, false))(t)
	w := state.NewWalker()
	_, err := store.Write(last, otherDigest{w})
	w.Close()
	require.NoError(t, err)
	found, err := Newest(&Source{FS: mem, Dir: "/d", Snapshots: store, Foreign: true,
		Log: func(from proto.Zxid, fn func(*wal.Record) error) error {
			require.Equal(t, last+1, from)
			next := proto.MakeZxid(2, 1)
			return fn(&wal.Record{Zxid: next, Payload: session(next)})
		}})
	require.NoError(t, err)
	require.ErrorIs(t, found.Wrong, ErrDigest)
	require.Equal(t, 1, found.Differing)
	require.Equal(t, proto.Zxid(-1), found.Boundary)
}
