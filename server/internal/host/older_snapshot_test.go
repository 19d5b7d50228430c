package host

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// The tests of this file make a server fall back to a snapshot that is not its newest. It either recovers the same
// state or does not start. Source: snapshot.Chain; storage 6.3.

// followed is a rig with 20 txns of its own and snapshots at 10 and 20. A leader of the next epoch has then
// installed a state with so many more txns, and appended some more in one further epoch.
func followed(t *testing.T, installed, appended int) *rig {
	r := newRig(t, 5)
	r.fs.Hook(nil)
	r.srv.disk.Meta = r.meta
	write := func(change func(p *zab.Persist)) {
		p := persist()
		change(&p)
		r.persist(p)
	}
	epoch := func(e int64) {
		write(func(p *zab.Persist) { p.AcceptedEpoch = e })
		write(func(p *zab.Persist) { p.CurrentEpoch = e })
	}
	var h []zab.Txn
	epoch(1)
	for range 2 {
		txns := r.txns(h, 1, 10)
		h = append(h, txns...)
		write(func(p *zab.Persist) { p.Append = txns })
		for _, txn := range txns {
			must.Do2(r.srv.Store.State.Apply(txn.Payload, nil, nil, false))(t)
		}
		must.Do(r.srv.disk.Snapshotter.Write())(t)
		require.NoError(t, r.srv.disk.WAL.Roll())
	}
	if installed > 0 {
		h = append(h, r.txns(h, 1, installed)...)
		r.m.states.put(9, &durable.Loading{State: stateOf(t, h)})
		r.installed[9] = h
		write(func(p *zab.Persist) { p.Install = &zab.Install{Link: 9, Last: h[len(h)-1].Zxid} })
	}
	epoch(2)
	if appended > 0 {
		txns := r.txns(h, 2, appended)
		write(func(p *zab.Persist) { p.Append = txns })
	}
	return r
}

func (r *rig) snapshots() (names []string) {
	metas := must.Do(r.srv.disk.Snaps.List())(r.t)
	for _, m := range metas {
		names = append(names, m.Name)
	}
	return names
}

// again recovers from the same disk.
func (r *rig) again() (*assembled, zab.Config, error) {
	r.meta.Crash()
	return recovered(r.fs, r.meta)
}

// copyFile copies a file of the data directory from one disk to another.
func copyFile(t *testing.T, from, to vfs.FS, path string) {
	require.NoError(t, vfs.WriteFile(to, path, must.Do(vfs.ReadFile(from, path, 64<<20))(t)))
}

// A state that a leader sends replaces the whole database: no snapshot stays from which no log leads on.
func TestInstallLeavesOneSnapshot(t *testing.T) {
	r := followed(t, 5, 3)
	require.Equal(t, []string{"snapshot.100000019"}, r.snapshots())
	r.stop()
	r.start()
	r.stop()
}

// If the newest snapshot was sent by the leader and is damaged, the server does not start on an older one. An older
// one may be there after a crash at that moment, or from ZooKeeper. The server refuses it even if the log that
// begins behind the newest snapshot seems to continue the older one.
func TestNoStartBelowAnInstalledSnapshot(t *testing.T) {
	for _, appended := range []int{0, 3} {
		for what, damage := range map[string]func(fs *vfs.Mem, name string){
			"a flipped bit": func(fs *vfs.Mem, name string) { require.NoError(t, fs.Flip(name, 100, 1)) },
			"a torn file": func(fs *vfs.Mem, name string) {
				f := must.Do(fs.OpenWrite(name))(t)
				require.NoError(t, f.Truncate(50))
				require.NoError(t, f.Close())
			},
			"an empty file": func(fs *vfs.Mem, name string) {
				f := must.Do(fs.OpenWrite(name))(t)
				require.NoError(t, f.Truncate(0))
				require.NoError(t, f.Close())
			},
		} {
			t.Run(fmt.Sprintf("%s, %d txns behind it", what, appended), func(t *testing.T) {
				old := followed(t, 0, 0)
				r := followed(t, 5, appended)
				copyFile(t, old.fs, r.fs, filepath.Join(old.srv.SnapDir(), "snapshot.100000014"))
				old.stop()
				r.stop()
				s, cfg, err := r.again()
				require.NoError(t, err, "the newest one is whole")
				require.Equal(t, r.durable.last(), cfg.Last)
				s.release()
				damage(r.fs, filepath.Join(r.srv.SnapDir(), "snapshot.100000019"))
				_, _, err = r.again()
				var refused *durable.DataError
				require.ErrorAs(t, err, &refused)
				require.ErrorIs(t, err, snapshot.ErrUnlinked)
				require.ErrorContains(t, err, "snapshot.100000019")
			})
		}
	}
}

// A server falls back to an older snapshot if its log leads from there past all damaged ones.
func TestStartFromAnOlderSnapshot(t *testing.T) {
	r := followed(t, 0, 3)
	r.stop()
	require.NoError(t, r.fs.Flip(filepath.Join(r.srv.SnapDir(), "snapshot.100000014"), 100, 1))
	s, cfg := must.Do2(r.again())(t)
	require.Equal(t, proto.Zxid(0x200000003), cfg.Last)
	require.Equal(t, r.digest(r.durable.history), s.Store.State.Digest())
	s.release()

	require.NoError(t, r.fs.Remove(filepath.Join(r.srv.LogDir(), "log.10000000b")))
	require.Error(t, must.Err2(r.again()), "the log does not lead there any more")
}

// A TRUNC that has to load the state again skips a damaged snapshot only if the log leads past it.
func TestTruncateFromAnOlderSnapshot(t *testing.T) {
	for _, cut := range []bool{false, true} {
		r := applied(t)
		last := proto.Zxid(0x100000014)
		require.NoError(t, r.fs.Flip(filepath.Join(r.srv.SnapDir(), "snapshot.100000014"), 100, 1))
		if cut {
			require.NoError(t, r.fs.Remove(filepath.Join(r.srv.LogDir(), "log.10000000b")))
			require.Error(t, r.m.journal.Truncate(last))
			r.stop()
			continue
		}
		require.NoError(t, r.m.journal.Truncate(last))
		works, _ := r.m.applier.(*serve.ApplyQueue).Inbox.Take(nil)
		for _, w := range works {
			w.Call()
		}
		require.Equal(t, last, r.srv.Store.State.LastZxid())
		require.Equal(t, r.digest(historyUpTo(r.durable.history, last)), r.srv.Store.State.Digest())
		r.stop()
	}
}

// applied is followed with the state that holds all txns of the log.
func applied(t *testing.T) *rig {
	r := followed(t, 0, 3)
	state := r.srv.Store.State
	for _, txn := range r.durable.history {
		if txn.Zxid > state.LastZxid() {
			must.Do2(state.Apply(txn.Payload, nil, nil, false))(t)
		}
	}
	return r
}

// A TRUNC below the newest snapshot removes nothing if no older one leads to the state there, and the next start finds
// what there was. The core asks for the whole state instead, because only reading tells whether a snapshot is whole.
func TestTruncateWithoutAnOlderSnapshotRemovesNothing(t *testing.T) {
	const last = proto.Zxid(0x10000000c)
	all := []string{"snapshot.100000014", "snapshot.10000000a", "snapshot.0"}
	for name, whole := range map[string]bool{"whole": true, "damaged": false} {
		t.Run(name, func(t *testing.T) {
			r := applied(t)
			if !whole {
				require.NoError(t, r.fs.Remove(filepath.Join(r.srv.SnapDir(), "snapshot.0")))
				require.NoError(t, r.fs.Flip(filepath.Join(r.srv.SnapDir(), "snapshot.10000000a"), 100, 1))
			}
			_, _, ok := r.m.History().Locate(last)
			require.False(t, ok, "a snapshot would go")
			at, _, ok := r.m.History().Locate(0x100000014)
			require.True(t, ok, "none would go")
			require.Equal(t, proto.Zxid(0x100000014), at)

			err := r.m.journal.Truncate(last)
			if whole {
				require.NoError(t, err)
				require.Equal(t, all[1:], r.snapshots())
				r.stop()
				s, cfg := must.Do2(r.again())(t)
				require.Equal(t, last, cfg.Last)
				s.release()
				return
			}
			require.ErrorIs(t, err, snapshot.ErrCorrupt)
			require.Equal(t, all[:2], r.snapshots())
			r.stop()
			s, cfg := must.Do2(r.again())(t)
			require.Equal(t, r.durable.last(), cfg.Last)
			require.Equal(t, r.digest(r.durable.history), s.Store.State.Digest())
			s.release()
		})
	}
}

// A directory of ZooKeeper 3.4 without a snapshot, with snapshot.trust.empty, is cut as one with snapshots.
func TestTruncateWithoutAnySnapshot(t *testing.T) {
	const last = proto.Zxid(0x10000000c)
	r := followed(t, 0, 3)
	r.stop()
	for _, name := range []string{"snapshot.0", "snapshot.10000000a", "snapshot.100000014"} {
		require.NoError(t, r.fs.Remove(filepath.Join(r.srv.SnapDir(), name)))
	}
	cfg := rigConfig()
	cfg.TrustEmptySnapshot = true
	r.meta.Crash()
	require.NoError(t, r.meta.SetBlank(false))
	s := assemble(cfg, r.fs, r.meta)
	require.NoError(t, s.disk.Recover())
	s.member.applier = serve.NewApplyQueue(s.front, &s.member.Queued, &s.member.Finished)
	require.NoError(t, durable.NewJournal(s.disk, journalOwner{s.member}).Truncate(last))
	s.release()
	s, found := must.Do2(r.again())(t)
	require.Equal(t, last, found.Last)
	require.Equal(t, r.digest(historyUpTo(r.durable.history, last)), s.Store.State.Digest())
	s.release()
}

// A follower looks in its log for an observer as a leader does for a follower: a newer snapshot is no reason against
// it, and snapshotSizeFactor counts.
func TestLogOfAServerThatServesOthers(t *testing.T) {
	r := followed(t, 0, 3)
	defer r.stop()
	for _, v := range []zab.Status{{State: zab.Leading}, {State: zab.Following, Serving: true}} {
		r.m.View.Store(&RoleView{Status: v})
		r.srv.Config.SnapshotSizeFactor = 0.33
		at, next, ok := r.m.History().Locate(0x10000000c)
		require.True(t, ok, v.State)
		require.Equal(t, []proto.Zxid{0x10000000c, 0x10000000d}, []proto.Zxid{at, next}, v.State)
		r.srv.Config.SnapshotSizeFactor = -1
		_, _, ok = r.m.History().Locate(0x10000000c)
		require.False(t, ok, v.State)
	}
}

// A file that is named like a newer snapshot, and never was one, does not stop a TRUNC, as it does not stop the start.
func TestTruncateBesideAFileThatIsNoSnapshot(t *testing.T) {
	r := applied(t)
	defer r.stop()
	last := proto.Zxid(0x200000001)
	for _, name := range []string{"snapshot.1ffffffff", "snapshot.100000fff"} {
		require.NoError(t, vfs.WriteFile(r.fs, filepath.Join(r.srv.SnapDir(), name), []byte("junk")))
	}
	require.NoError(t, r.m.journal.Truncate(last))
	works, _ := r.m.applier.(*serve.ApplyQueue).Inbox.Take(nil)
	for _, w := range works {
		w.Call()
	}
	require.Equal(t, last, r.srv.Store.State.LastZxid())
	require.Equal(t, r.digest(historyUpTo(r.durable.history, last)), r.srv.Store.State.Digest())
}
