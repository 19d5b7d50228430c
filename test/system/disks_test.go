package system

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// Disks that are lost or exchanged at the worst moment. BUGS.md of test/sim tells what each has shown there.

// scripted makes a world without faults, whose servers the test starts, and lets things go wrong in. The disks are
// those of new servers. It returns also what ends them.
func scripted(t *testing.T, o Options) (w *world, end func()) {
	o.Faults, o.Features, o.Clients = []Fault{}, []Feature{}, 1
	w = newWorld(o)
	w.s.slow = "" // tasks that begin a second late are no measure
	stop := w.s.guard()
	t.Cleanup(stop) // also when a check fails
	for _, n := range w.nodes {
		require.NoError(t, n.disk.found())
	}
	return w, func() { w.end(); stop() }
}

// TestDiskLostInANewEnsemble takes the disk of a voter away before a leader of a new ensemble has asked for anything.
// All others say that they have nothing, so nothing was lost with it, and the voter counts.
func TestDiskLostInANewEnsemble(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		w, end := scripted(t, Options{Seed: seed, Servers: 3})
		lost := w.nodes[seed%3]
		lost.start()
		w.until(t, "the first server", func() bool { return lost.up })
		w.s.runFor(time.Second)
		lost.kill(100, true)
		lost.wipe(false)
		for _, n := range w.nodes {
			n.start()
		}
		w.until(t, "an ensemble", w.allServe)
		w.nodes[(seed+1)%3].kill(100, true) // now the one that was lost is needed
		w.until(t, "a leader", func() bool { return w.leader() != nil && lost.serves() })
		end()
	}
}

// TestPromiseIsLostWithTheDisk lets a leader promise the epoch that it is about to renew, and lose its disk before
// another server hears of it. It comes back, and promises the same epoch to the next leader.
func TestPromiseIsLostWithTheDisk(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		w, end := scripted(t, Options{Seed: seed, Servers: 4, Observers: 1})
		for _, n := range w.nodes {
			n.start()
		}
		w.until(t, "an ensemble", w.allServe)
		first, observer := w.leader(), w.nodes[3]
		observer.kill(100, true)
		observer.disk.meta.Crash()
		epoch := observer.disk.meta.Epochs().Accepted + 5
		require.NoError(t, observer.disk.meta.SetAccepted(epoch-1))
		observer.start()
		for _, n := range w.nodes[:3] {
			w.net.way(first.id, n.id).close()
		}
		w.until(t, "the promise of the leader", func() bool { return first.disk.meta.Epochs().Accepted == epoch })
		first.kill(100, true)
		observer.kill(100, true)
		first.wipe(false)
		w.until(t, "the next leader", func() bool { return w.leader() != nil })
		w.net.heal()
		first.start()
		w.until(t, "the first leader", first.serves)
		require.Less(t, first.disk.meta.Epochs().Accepted, epoch, "no server has heard of the epoch")
		observer.start()
		w.until(t, "everybody", w.allServe)
		require.NotEqual(t, first, w.leader())
		require.Equal(t, epoch, w.leader().srv.Status().Epoch)
		require.Equal(t, epoch, first.disk.meta.Epochs().Accepted)
		end()
	}
}

// directory is a copy of what is on the disk of a server that is down.
type directory struct {
	mem       *vfs.Mem
	epochs    meta.Epochs
	lineage   string
	snapshots []meta.Snapshot
}

func (n *node) copyDirectory() directory {
	n.disk.meta.Crash()
	m := n.disk.meta
	return directory{cloned(n.disk.mem), m.Epochs(), m.Lineage(), m.Snapshots()}
}

func cloned(m *vfs.Mem) *vfs.Mem {
	return m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{UnsyncedPercent: 100})
}

// putDirectory gives a server that is down another directory.
func (n *node) putDirectory(t *testing.T, d directory) {
	n.disk = n.w.s.newDisk(n.id)
	n.disk.mem = cloned(d.mem)
	require.NoError(t, n.disk.meta.SetAccepted(d.epochs.Accepted))
	require.NoError(t, n.disk.meta.SetCurrent(d.epochs.Current, d.lineage))
	for _, s := range d.snapshots {
		require.NoError(t, n.disk.meta.PutSnapshot(s.Name, s.Zxid, s.Size, s.Checksum))
	}
}

// withoutMeta is the directory without meta.db: the epochs are in files of their own.
func (d directory) withoutMeta() directory {
	d.lineage, d.snapshots = "", nil
	return d
}

// parsed is the lineage in the meta.db of a server.
func (n *node) parsed(t *testing.T) *zab.Lineage {
	text := n.disk.meta.Lineage()
	if text == "" {
		return &zab.Lineage{}
	}
	l, err := zab.ParseLineage([]byte(text))
	require.NoError(t, err)
	return l
}

// lives lets the servers of a world serve one client in so many epochs, and in the last one for some time more. Then
// it ends the servers.
func (w *world) lives(t *testing.T, epochs int, more time.Duration) {
	for _, n := range w.nodes {
		n.start()
	}
	w.until(t, "an ensemble", w.allServe)
	w.clients = append(w.clients, w.newClient(0))
	for range epochs - 1 {
		leader := w.leader()
		leader.handOver(w.nodes[leader.id%len(w.nodes)])
		w.until(t, "the next epoch", func() bool { return !leader.leads() && w.leader() != nil && w.allServe() })
	}
	w.until(t, "txns of the epoch and a final identity at all servers", func() bool {
		return w.allServe() && !slices.ContainsFunc(w.nodes, func(n *node) bool {
			st := n.srv.Status()
			return st.Zxid.Epoch() != st.Epoch || !n.parsed(t).Final
		})
	})
	w.s.runFor(more)
	for _, n := range w.nodes {
		n.kill(100, true)
	}
}

// TestServersConcedeTogether gives one of seven servers the directory of another ensemble with later epochs, two are
// new, and two are down. The two new ones vote for the first until both change their votes: only together with both
// are the last two a quorum.
func TestServersConcedeTogether(t *testing.T) {
	for seed := uint64(1); seed <= 2; seed++ {
		there, ends := scripted(t, Options{Seed: seed + 100, Servers: 7})
		there.lives(t, 4, 0)
		foreign := there.nodes[6].copyDirectory()
		ends()
		w, end := scripted(t, Options{Seed: seed, Servers: 7})
		w.lives(t, 1, 0)
		w.nodes[6].putDirectory(t, foreign)
		for _, n := range w.nodes[4:6] {
			n.wipe(false)
			require.NoError(t, n.disk.found())
		}
		for _, i := range []int{1, 2, 4, 5, 6} {
			w.nodes[i].start()
		}
		took := w.until(t, "a leader", func() bool { return w.leader() != nil })
		require.Contains(t, w.nodes[1:3], w.leader())
		require.False(t, w.nodes[6].serves())
		t.Logf("seed %d: %v", seed, took)
		end()
	}
}

// TestOwnDirectoryAfterAnother lets the servers of an ensemble go on twice from the same copies. Then a server that
// went on in one way meets one that went on in the other way: a checksum tells that, because meta.db is lost. It comes
// back with its own directory, which has lost meta.db as well, so that its lineage says the same as before.
func TestOwnDirectoryAfterAnother(t *testing.T) {
	o := func(seed uint64) Options {
		return Options{Seed: seed, Servers: 3, Configure: func(c *config.Config) { c.SnapCount = 100_000 }}
	}
	for seed := uint64(1); seed <= 3; seed++ {
		first, ends := scripted(t, o(seed))
		first.lives(t, 1, 0)
		var copies []directory
		for _, n := range first.nodes {
			copies = append(copies, n.copyDirectory())
		}
		ends()
		goOn := func(seed uint64, more time.Duration) (w *world, end func()) {
			w, end = scripted(t, o(seed))
			for i, n := range w.nodes {
				n.putDirectory(t, copies[i])
			}
			w.lives(t, 1, more)
			return w, end
		}
		longer, ends := goOn(seed+100, time.Second)
		another := longer.nodes[0].copyDirectory()
		ends()
		w, end := goOn(seed+200, 0)
		own := w.nodes[0].copyDirectory()
		w.s.tracing = true
		w.nodes[0].putDirectory(t, another.withoutMeta())
		w.nodes[0].start()
		w.nodes[2].start()
		w.until(t, "a stranger", func() bool {
			return slices.ContainsFunc(w.s.trace, func(l string) bool { return strings.Contains(l, "is another one") })
		})
		w.nodes[0].kill(100, true)
		w.nodes[0].putDirectory(t, own.withoutMeta())
		w.nodes[0].start()
		w.until(t, "a leader", func() bool { return w.nodes[0].serves() && w.nodes[2].serves() })
		end()
	}
}

// TestCrashWhileAnotherHistoryIsInstalled gives a server the directory of another ensemble. The leader has lost
// meta.db, and its snapshot is older than the identity of the ensemble, so the two do not know that their histories
// differ. The server is killed between the state of the leader and its lineage. What is on its disk then does not say
// of that state that it went through the epochs of the former history.
func TestCrashWhileAnotherHistoryIsInstalled(t *testing.T) {
	const epochs = 3
	o := func(seed uint64) Options {
		return Options{Seed: seed, Servers: 3, Configure: func(c *config.Config) { c.SnapCount = 100_000 }}
	}
	for seed := uint64(1); seed <= 3; seed++ {
		there, ends := scripted(t, o(seed+100))
		there.lives(t, 1, 0)
		foreign := there.nodes[2].copyDirectory()
		ends()
		w, end := scripted(t, o(seed))
		w.lives(t, epochs, time.Second)
		leader, n := w.nodes[0], w.nodes[2]
		leader.putDirectory(t, leader.copyDirectory().withoutMeta())
		leader.cfg.ForceSnapshotSync = true
		n.putDirectory(t, foreign)
		require.NotZero(t, n.parsed(t).Reigns[0].Mark)
		leader.start()
		n.start()
		torn := func() bool {
			return n.newestSnapshot(1<<62).Epoch() == epochs && n.disk.meta.Epochs().Current < epochs
		}
		w.until(t, "the state without its lineage", func() bool {
			w.s.step()
			return torn()
		})
		n.kill(100, true)
		require.True(t, torn())
		n.disk.meta.Crash()
		for _, r := range n.parsed(t).Reigns {
			require.Zero(t, r.Mark, "seed %d: the state did not go through epoch %d", seed, r.Epoch)
		}
		n.start()
		w.until(t, "a leader", func() bool { return leader.serves() && n.serves() })
		end()
	}
}
