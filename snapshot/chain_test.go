package snapshot

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// A chain holds if the log has the txn of every newer snapshot, whole or not.
func TestChain(t *testing.T) {
	fs := newDir(t)
	put(t, fs, "snapshot.100000005", nil)
	put(t, fs, "snapshot.100000009", []byte("damaged"))
	put(t, fs, "snapshot.200000003.gz", nil)
	put(t, fs, "snapshot.200000007.tmp", nil) // no snapshot
	put(t, fs, "log.100000001", nil)
	for name, test := range map[string]struct {
		from, upTo proto.Zxid
		logged     []proto.Zxid
		behind     proto.Zxid // the txn that shows it; 0 if only the end does
		missing    string
	}{
		"from the newest": {0x200000003, 0, nil, 0, ""},
		"all of them": {0x100000005, 0,
			[]proto.Zxid{0x100000006, 0x100000009, 0x200000001, 0x200000003, 0x200000004}, 0, ""},
		"from the empty tree":     {0, 0, []proto.Zxid{0x100000004, 0x100000005, 0x100000009, 0x200000003}, 0, ""},
		"twice the same, as Java": {0x100000009, 0, []proto.Zxid{0x200000003, 0x200000003}, 0, ""},
		"no log": {0x100000009, 0, nil, 0,
			"no txn 0x200000003 in the log after snapshot 0x100000009, but there is snapshot.200000003.gz"},
		"too short a log": {0x100000005, 0, []proto.Zxid{0x100000006}, 0, "snapshot.100000009"},
		"a log that begins anew": {0x100000005, 0, []proto.Zxid{0x200000001, 0x200000003}, 0x200000001,
			"snapshot.100000009"},
		"the end is of no concern": {0x100000005, 0x200000002, []proto.Zxid{0x100000009}, 0, ""},
		"the end itself is":        {0x100000005, 0x200000003, []proto.Zxid{0x100000009}, 0, "snapshot.200000003.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			c := must.Do(NewChain(fs, dir, test.from, test.upTo))(t)
			for _, z := range test.logged {
				if err := c.Logged(z); err != nil {
					require.Equal(t, c.Err(), err)
					require.Equal(t, test.behind, z)
					test.behind = 0
					break
				}
			}
			require.Zero(t, test.behind)
			if test.missing == "" {
				require.NoError(t, c.Err())
				return
			}
			require.ErrorIs(t, c.Err(), ErrUnlinked)
			require.ErrorContains(t, c.Err(), test.missing)
		})
	}
	require.Error(t, must.Err(NewChain(fs, "/nowhere", 0, 0)))
}

func TestRemoveAboveAndBelow(t *testing.T) {
	s, fs, c, _ := pruneStore(t, 0x100, 0x200, 0x300, 0x400)
	put(t, fs, "snapshot.150", []byte("damaged"))
	put(t, fs, "snapshot.500", nil)
	put(t, fs, "log.50", nil)
	require.NoError(t, s.RemoveAbove(0x300))
	require.Equal(t, []string{"log.50", "snapshot.100", "snapshot.150", "snapshot.200", "snapshot.300"}, listed(t, fs))
	require.NotContains(t, c.entries, "snapshot.400")
	require.NoError(t, s.RemoveBelow(0x300))
	require.Equal(t, []string{"log.50", "snapshot.300"}, listed(t, fs))
	require.NotContains(t, c.entries, "snapshot.100")
	require.Contains(t, c.entries, "snapshot.300")
}

// zkCleanup.sh removes the same files beside a server that runs.
func TestRemoveBelowBesideAnotherPurge(t *testing.T) {
	s, fs, c, _ := pruneStore(t, 0x100, 0x200, 0x300)
	fs.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && strings.HasSuffix(op.Name, "snapshot.200") {
			fs.Hook(nil)
			return fs.Remove(s.path("snapshot.100"))
		}
		return nil
	})
	require.NoError(t, s.RemoveBelow(0x300))
	require.Equal(t, []string{"snapshot.300"}, listed(t, fs))
	require.Len(t, c.entries, 1)
}

// Of two snapshots at one zxid only the one that was written last is there, however they are packed.
func TestWriteReplacesWhateverCompression(t *testing.T) {
	for _, old := range compressions {
		for _, now := range compressions {
			fs := newDir(t)
			must.Do(newStore(t, fs, old).Write(0x77, sample(4).source()))(t)
			put(t, fs, "snapshot.77.bak.gz", nil) // not ours
			want := sample(9)
			m := must.Do(newStore(t, fs, now).Write(0x77, want.source()))(t)
			require.ElementsMatch(t, []string{m.Name, "snapshot.77.bak.gz"}, listed(t, fs))
			var got state
			must.Do(newStore(t, fs, now).Load(m, &got))(t)
			want.same(t, &got)
		}
	}
}

// A file that has the name of another snapshot may stand where that was, if the log goes on behind the name.
func TestMisnamedFilesAreWithinTheLog(t *testing.T) {
	z := proto.MakeZxid
	for _, test := range []struct {
		name   proto.Zxid
		linked bool
	}{
		{z(1, 2), true},
		{z(1, 3), true}, // before the log begins
		{z(2, 4), false},
		{z(3, 0), true}, // of ZooKeeper
		{z(3, 2), true},
		{z(9, 9), true}, // somebody has renamed it
	} {
		c := ChainOver(nil, z(1, 3), 0)
		c.Misnamed(test.name, FileName(test.name, Plain))
		var err error
		for _, logged := range []proto.Zxid{z(1, 4), z(3, 1), z(3, 2), z(3, 3)} {
			err = errors.Join(err, c.Logged(logged))
		}
		err = errors.Join(err, c.Err())
		require.Equal(t, test.linked, err == nil, "%v: %v", test.name, err)
	}
}
