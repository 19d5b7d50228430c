package host

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// The tests of this file put the disk of an ensemble member through crashes. The journal writes what a core could
// ask for. The power fails before each operation on the disk and around each change of the epochs. The server's own
// recovery turns what is left into what the next core starts from. Source: zab/doc.go, duties 2 and 7;
// quorum-protocol 6.8, 15.3.

var (
	dutySeed = flag.Uint64("duty.seed", 1, "seed of the first schedule of TestEveryCrashOfTheJournal")
	dutyRuns = flag.Int("duty.runs", 3, "schedules of TestEveryCrashOfTheJournal")
)

// promised is what a disk holds, or is allowed to hold after a crash.
type promised struct {
	history           []zab.Txn
	accepted, current int64
	exists            bool // the database is there
	counts            bool // the server is not blank: it may vote
}

func (p *promised) last() proto.Zxid {
	if len(p.history) == 0 {
		return 0
	}
	return p.history[len(p.history)-1].Zxid
}

// upTo is a history through z.
func historyUpTo(h []zab.Txn, z proto.Zxid) []zab.Txn {
	n := 0
	for n < len(h) && h[n].Zxid <= z {
		n++
	}
	return h[:n:n]
}

// onDisk calls yield with everything that is allowed on the disk if the power fails while p is being written to a
// disk that holds before. It returns what is there afterwards. installed is the history that p.Install leads to.
func onDisk(before promised, p *zab.Persist, installed []zab.Txn, yield func(promised)) promised {
	d := before
	yield(d)
	if p.Truncate {
		kept := historyUpTo(d.history, p.Last)
		for n := len(kept); n < len(d.history); n++ {
			yield(promised{d.history[:n:n], d.accepted, d.current, d.exists, d.counts})
		}
		d.history = kept
		yield(d)
	}
	if p.Install != nil {
		for n := range d.history { // a prefix of the old history, as its log is removed from its end
			if d.history[n].Zxid > p.Install.Last {
				yield(promised{d.history[: n+1 : n+1], d.accepted, d.current, d.exists, d.counts})
			}
		}
		d.history, d.exists = installed, true
		yield(d)
	}
	for _, t := range p.Append {
		d.history = append(d.history[:len(d.history):len(d.history)], t)
		yield(d)
	}
	if p.AcceptedEpoch >= 0 {
		d.accepted = p.AcceptedEpoch
		yield(d)
	}
	if p.CurrentEpoch >= 0 {
		d.exists = true
		yield(d)
		d.current = p.CurrentEpoch
		yield(d)
	}
	if p.Initialize {
		d.exists = true
		yield(d)
		d.counts = true
		yield(d)
	}
	return d
}

// txns makes n txns of an epoch that follow a history. Each creates a znode; some are large.
func (r *rig) txns(h []zab.Txn, epoch int64, n int) []zab.Txn {
	z := proto.MakeZxid(epoch, 0)
	if k := len(h); k > 0 && h[k-1].Zxid.Epoch() == epoch {
		z = h[k-1].Zxid
	}
	var txns []zab.Txn
	for range n {
		z++
		header := proto.TxnHeader{ClientID: 1, Cxid: 1, Zxid: z, Time: 1, Type: proto.OpCreate}
		size := r.rng.IntN(60)
		if r.rng.IntN(5) == 0 {
			size = r.rng.IntN(3000)
		}
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(1 + (int(z)+i)%255)
		}
		body := proto.CreateTxn{Path: proto.Text(fmt.Sprintf("/%x", int64(z))), Data: data, Acl: openACL,
			ParentCVersion: int32(len(h) + len(txns) + 1)}
		txns = append(txns, zab.Txn{Zxid: z, Payload: body.AppendTo(header.AppendTo(nil))})
	}
	return txns
}

var openACL = []proto.ACL{{Perms: 31, Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}}

func persist() zab.Persist { return zab.Persist{AcceptedEpoch: -1, CurrentEpoch: -1} }

// uptodate makes the server count, as UPTODATE does.
func (r *rig) uptodate() {
	p := persist()
	p.Initialize = true
	r.persist(p)
}

// promise accepts the epoch of a new leader.
func (r *rig) promise() {
	r.epoch++
	p := persist()
	p.AcceptedEpoch = r.epoch
	r.persist(p)
}

// adopt takes the history of a new leader: what TRUNC, SNAP or DIFF and NEWLEADER bring. The leader has all
// committed txns and perhaps more, and then txns of its own epoch.
func (r *rig) adopt() {
	if len(r.durable.history) > 0 || r.durable.exists {
		r.promise()
	} else if r.durable.accepted == 0 {
		r.promise()
	}
	have := r.durable.history
	keep := r.committed + r.rng.IntN(len(have)-r.committed+1)
	epoch := r.epoch
	p := persist()
	p.CurrentEpoch = epoch
	switch kind := r.rng.IntN(3); {
	case kind == 0 && keep > 0 && r.canTruncate(have[keep-1].Zxid):
		p.Truncate, p.Last = true, have[keep-1].Zxid
		p.Append = r.txns(have[:keep], epoch, r.rng.IntN(3))
	case kind == 1 || keep < len(have):
		r.link++
		all := append(slices.Clone(have[:keep]), r.txns(have[:keep], epoch, r.rng.IntN(6))...)
		inState := r.rng.IntN(len(all) + 1)
		r.m.states.put(r.link, &durable.Loading{State: stateOf(r.t, all[:inState])})
		r.installed[r.link] = all
		p.Install = &zab.Install{Link: r.link, Txns: all[inState:]}
		if len(all) > 0 {
			p.Install.Last = all[len(all)-1].Zxid
		}
		p.Append = r.txns(all, epoch, r.rng.IntN(3))
	default:
		p.Append = r.txns(have, epoch, r.rng.IntN(6))
	}
	r.persist(p)
	r.durable.exists = true
	r.committed = min(r.committed, len(r.durable.history))
}

// canTruncate reports whether the log can be cut after z, and the state there be rebuilt. The core asks for less
// where its window tells the same.
func (r *rig) canTruncate(z proto.Zxid) bool {
	p, ok := must.Do2(r.srv.disk.WAL.Locate(z))(r.t)
	metas := must.Do(r.srv.disk.Snaps.List())(r.t)
	return ok && p.At == z && slices.ContainsFunc(metas, func(m snapshot.Meta) bool { return m.Zxid <= z })
}

// serve does what follows UPTODATE: the history is committed and applied, and snapshots may be written.
func (r *rig) serve() {
	for range r.rng.IntN(4) {
		var writes []zab.Persist
		h := r.durable.history
		for range 1 + r.rng.IntN(3) {
			p := persist()
			p.Append = r.txns(h, r.durable.current, 1+r.rng.IntN(4))
			h = append(h[:len(h):len(h)], p.Append...)
			writes = append(writes, p)
		}
		r.persist(writes...)
	}
	r.committed = r.rng.IntN(len(r.durable.history)-r.committed+1) + r.committed
	state := r.srv.Store.State
	for _, t := range r.durable.history[:r.committed] {
		if t.Zxid > state.LastZxid() {
			must.Do2(state.Apply(t.Payload, nil, nil, false))(r.t)
		}
	}
	r.committed = len(historyUpTo(r.durable.history, state.LastZxid())) // what is applied counts as committed
	if r.rng.IntN(2) == 0 {
		must.Do(r.srv.disk.Snapshotter.Write())(r.t)
		if r.rng.IntN(2) == 0 {
			require.NoError(r.t, r.srv.disk.WAL.Roll())
			r.srv.disk.Snapshotter.Purge()
		}
	}
}

// TestEveryCrashOfTheJournal runs random leaders over one disk. Recovery never refuses. Everything that was
// reported is there. Of the rest there is a beginning, so that no epoch is ahead of the history it stands for. A
// server that was not told since its first synchronization that it counts does not vote.
func TestEveryCrashOfTheJournal(t *testing.T) {
	crashes := 0
	for run := range uint64(*dutyRuns) {
		r := newRig(t, *dutySeed+run)
		if r.rng.IntN(2) == 0 {
			r.uptodate()
		}
		for range 12 {
			r.adopt()
			if !r.durable.counts && r.rng.IntN(3) == 0 {
				r.uptodate()
			}
			if r.rng.IntN(4) > 0 {
				r.serve()
			}
			if r.rng.IntN(3) == 0 {
				r.stop()
				r.start()
			}
		}
		r.stop()
		require.Greater(t, len(r.durable.history), 5)
		crashes += r.crashes
	}
	t.Logf("%d crashes", crashes)
}

// Before a history is replaced, the lineage on the disk is one that holds of both: no part of the new history is ever
// beside the former lineage, not even that of a note which was still to be written.
func TestLineageGivesWayBeforeTheHistory(t *testing.T) {
	lineage := func(epoch int64, mark uint64) *zab.Lineage {
		return &zab.Lineage{Ensemble: 7, Final: true, Reigns: []zab.Reign{{Epoch: epoch, Leader: -1, Mark: mark}}}
	}
	r := newRig(t, 4)
	r.fs.Hook(nil)
	r.promise()
	first := persist()
	first.CurrentEpoch, first.Lineage = 1, lineage(1, 11)
	first.Append = r.txns(nil, 1, 3)
	r.persist(first)
	require.Equal(t, durable.Encoded(first.Lineage), r.meta.Lineage())
	all := r.txns(nil, 2, 5)
	r.link++
	r.m.states.put(r.link, &durable.Loading{State: stateOf(t, all)})
	r.installed[r.link] = all
	r.epoch = 2
	r.promise()
	second := persist()
	second.Interim, second.CurrentEpoch, second.Lineage = lineage(1, 0), 3, lineage(3, 13)
	second.Install = &zab.Install{Link: r.link, Last: all[len(all)-1].Zxid}
	second.Append = r.txns(all, 3, 2)
	changes := 0
	r.fs.Hook(func(op vfs.Op) error {
		if op.Kind.Changes() {
			changes++
			require.Equal(t, durable.Encoded(second.Interim), r.meta.Lineage(), "at %v", op)
		}
		return nil
	})
	r.m.journal.Note(lineage(1, 12)) // waits until there is nothing else to write
	r.persist(second)
	require.Greater(t, changes, 3)
	require.Equal(t, durable.Encoded(second.Lineage), r.meta.Lineage())
	r.stop()
}

// A write that fails is never reported, and no later write is written.
func TestNothingIsReportedAfterAFailure(t *testing.T) {
	broken := errors.New("input/output error")
	for kind, fail := range map[string]func(r *rig){
		"sync of the log": func(r *rig) { r.fs.FailNth(vfs.OpSync, 0, broken) },
		"acceptedEpoch":   func(r *rig) { r.meta.FailNext(broken, false) },
	} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, 2)
			r.adopt()
			r.fs.Hook(nil)
			r.srv.disk.Meta = r.meta
			fail(r)
			first, second := persist(), persist()
			first.Seq, first.AcceptedEpoch, first.Append = r.seq+1, r.epoch+1, r.txns(r.durable.history, r.epoch, 1)
			second.Seq, second.Append = r.seq+2, r.txns(append(slices.Clone(r.durable.history), first.Append...),
				r.epoch, 1)
			r.m.journal.Do([]durable.JournalJob{{Write: first}, {Write: second}})
			events, _ := r.m.events.Take(nil)
			require.Empty(t, events)
			require.ErrorIs(t, <-r.srv.Failed, broken)
			require.LessOrEqual(t, r.srv.disk.WAL.LastZxid(), first.Append[0].Zxid)
			r.stop()
		})
	}
}

func TestBatchesForTheLogAreBounded(t *testing.T) {
	r := newRig(t, 3)
	defer r.stop()
	first, syncs := r.durable.last(), 0
	r.fs.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			syncs++
		}
		return nil
	})
	var jobs []durable.JournalJob
	for i := range 40 {
		z := first + proto.Zxid(i) + 1
		payload := append((&proto.TxnHeader{Zxid: z}).AppendTo(nil), make([]byte, 1<<20)...)
		jobs = append(jobs, durable.JournalJob{Write: zab.Persist{Append: []zab.Txn{{Zxid: z, Payload: payload}},
			AcceptedEpoch: -1, CurrentEpoch: -1}})
	}
	require.True(t, r.m.journal.Append(jobs))
	require.GreaterOrEqual(t, syncs, 40<<20/(durable.MaxBatchBytes+2<<20), "each part has a sync of its own")
}
