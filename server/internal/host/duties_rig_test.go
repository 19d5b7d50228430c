package host

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// rig is a host without its network: disk, recovery, journal. The test takes the part of its core and its applier.
type rig struct {
	t    testing.TB
	rng  *rand.Rand
	fs   *vfs.Mem
	meta *meta.Mem
	srv  *assembled
	m    *Host

	durable   promised // what was reported
	flight    []zab.Persist
	installed map[zab.LinkID][]zab.Txn
	seq       zab.Seq
	link      zab.LinkID
	epoch     int64 // the largest epoch that was ever used
	committed int   // this many txns will never be truncated
	digests   map[proto.Zxid]int64
	crashes   int
}

// epochStore calls cut before and after each change of the epochs and the other promises.
type epochStore struct {
	meta.Store
	cut func(string)
}

func (e *epochStore) SetAccepted(epoch int64) error {
	e.cut("before acceptedEpoch")
	defer e.cut("after acceptedEpoch")
	return e.Store.SetAccepted(epoch)
}

func (e *epochStore) SetCurrent(epoch int64, lineage string) error {
	e.cut("before currentEpoch")
	defer e.cut("after currentEpoch")
	return e.Store.SetCurrent(epoch, lineage)
}

func (e *epochStore) SetBlank(blank bool) error {
	e.cut("before the mark of a blank server")
	defer e.cut("after the mark of a blank server")
	return e.Store.SetBlank(blank)
}

func newRig(t testing.TB, seed uint64) *rig {
	t.Logf("seed %d", seed)
	r := &rig{t: t, rng: rand.New(rand.NewPCG(seed, 77)), fs: vfs.NewMem(), meta: meta.NewMem(1),
		installed: map[zab.LinkID][]zab.Txn{},
		digests:   map[proto.Zxid]int64{}}
	r.start()
	return r
}

// start runs the process again on the same disk.
func (r *rig) start() {
	r.fs.Hook(nil)
	r.meta.Crash()
	store := &epochStore{r.meta, func(string) {}}
	s, cfg := must.Do2(recovered(r.fs, store))(r.t)
	store.cut = r.cut
	r.srv, r.m = s, s.member
	r.requireFound(found{cfg.Last, s.Store.State.Digest(), cfg.Epochs, cfg.Blank}, "a restart")
	r.fs.Hook(func(op vfs.Op) error {
		if op.Kind.Changes() {
			r.cut(op.String())
		}
		return nil
	})
}

func (r *rig) stop() {
	r.fs.Hook(nil)
	r.srv.release()
	require.Empty(r.t, r.fs.OpenFiles())
}

// persist hands writes to the journal, lets the journal do all of them, and does the work of the applier.
func (r *rig) persist(writes ...zab.Persist) {
	r.t.Helper()
	for i := range writes {
		r.seq++
		writes[i].Seq = r.seq
	}
	r.flight = append(r.flight, writes...)
	r.m.toJournal(writes)
	jobs, _ := r.m.journal.Jobs.Take(nil)
	r.m.journal.Do(jobs)
	select {
	case err := <-r.srv.Failed:
		require.NoError(r.t, err)
	default:
	}
	r.reported()
	require.Empty(r.t, r.flight, "every write is reported")
	works, _ := r.m.applier.(*serve.ApplyQueue).Inbox.Take(nil)
	for _, w := range works {
		w.Call()
	}
}

// reported takes what the journal has reported as durable.
func (r *rig) reported() {
	events, _ := r.m.events.Take(nil)
	for _, e := range events {
		for len(r.flight) > 0 && r.flight[0].Seq <= e.seq {
			r.durable = onDisk(r.durable, &r.flight[0], r.installedBy(&r.flight[0]), func(promised) {})
			r.flight = r.flight[1:]
		}
	}
}

func (r *rig) installedBy(p *zab.Persist) []zab.Txn {
	if p.Install == nil {
		return nil
	}
	return r.installed[p.Install.Link]
}

// cut is a power failure at this moment. It recovers several times, each with another choice of the unsynced blocks
// that survive.
func (r *rig) cut(when string) {
	r.reported()
	for _, percent := range []int{0, 50, 100} {
		if percent == 50 && r.rng.IntN(2) == 0 {
			continue
		}
		disk := r.fs.CrashClone(r.rng, vfs.CrashOptions{UnsyncedPercent: percent})
		r.recover(disk, cloneEpochs(r.t, r.meta), fmt.Sprintf("%s, %d %% of what was not synced", when, percent),
			r.rng.IntN(8) == 0)
		r.crashes++
	}
}

// recover starts a server on a disk after a crash, perhaps with another crash meanwhile.
func (r *rig) recover(disk *vfs.Mem, epochs *meta.Mem, when string, again bool) {
	if again {
		disk.Hook(func(op vfs.Op) error {
			if op.Kind.Changes() && r.rng.IntN(3) == 0 {
				r.recover(disk.CrashClone(r.rng, vfs.CrashOptions{UnsyncedPercent: 50}), cloneEpochs(r.t, epochs),
					when+", and again at "+op.String(), false)
			}
			return nil
		})
	}
	s, cfg, err := recovered(disk, epochs)
	require.NoError(r.t, err, "%s\n%s", when, disk)
	disk.Hook(nil)
	r.requireFound(found{cfg.Last, s.Store.State.Digest(), cfg.Epochs, cfg.Blank}, when)
	s.release()
	require.Empty(r.t, disk.OpenFiles())
}

// cloneEpochs copies the part of a store that survives.
func cloneEpochs(t testing.TB, m *meta.Mem) *meta.Mem {
	c := meta.NewMem(1)
	require.NoError(t, c.SetAccepted(m.Epochs().Accepted))
	require.NoError(t, c.SetCurrent(m.Epochs().Current, m.Lineage()))
	require.NoError(t, c.SetBlank(m.Blank()))
	for _, s := range m.Snapshots() {
		require.NoError(t, c.PutSnapshot(s.Name, s.Zxid, s.Size, s.Checksum))
	}
	return c
}

// found is what recovery makes of a disk.
type found struct {
	last    proto.Zxid
	digest  int64
	epochs  zab.Epochs
	isBlank bool
}

// requireFound checks that f is one of the results that are allowed now: everything that was reported is there, and
// of the rest a beginning, in the order of its parts.
func (r *rig) requireFound(f found, when string) {
	var legal []found
	add := func(p promised) {
		if !p.exists { // recovery removes whatever is there
			p.history, p.current = nil, 0
		}
		legal = append(legal, found{p.last(), r.digest(p.history),
			zab.Epochs{Accepted: p.accepted, Current: p.current}, !p.counts})
	}
	d := r.durable
	add(d)
	for i := range r.flight {
		d = onDisk(d, &r.flight[i], r.installedBy(&r.flight[i]), add)
	}
	if !slices.Contains(legal, f) {
		r.t.Fatalf("%s: found %+v, which is none of %+v\nin flight: %+v", when, f, legal, r.flight)
	}
}

// digest is the digest of the tree that a history makes. A zxid stands for one history, because an epoch has one
// leader.
func (r *rig) digest(h []zab.Txn) int64 {
	if len(h) == 0 {
		return stateOf(r.t, nil).Digest()
	}
	z := h[len(h)-1].Zxid
	d, ok := r.digests[z]
	if !ok {
		d = stateOf(r.t, h).Digest()
		r.digests[z] = d
	}
	return d
}

func stateOf(t testing.TB, h []zab.Txn) *datatree.State {
	s := datatree.NewState(datatree.Config{})
	for _, txn := range h {
		_, applied := must.Do2(s.Apply(txn.Payload, nil, nil, false))(t)
		require.Equal(t, proto.OK, applied.Err)
	}
	return s
}
