package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// node is one server: the host of a core, in its plainest form.
type node struct {
	s        *Sim
	id       proto.ServerID
	observer bool
	plain    bool // speaks as Java does: no batches, no cumulative ACKs

	up     bool
	life   int // number of the process
	core   *zab.Core
	disk   disk
	status zab.Status
	period int64 // time units between ticks
	slow   int64 // factor of that, while stalled

	active     *zab.Ensemble  // the configuration that it takes for committed
	blank      bool           // it has no data, or does not know yet that it has
	file       *zab.Ensemble  // that an operator has written when its disk was lost; nil is the first one
	left       bool           // it has lost its disk when it was no member, and has not become a voter since
	observes   bool           // and an observer since
	lost       lost           // what went with its disk
	promised   int64          // newest epoch that it promised to a leader
	promisedTo proto.ServerID // the leader that it promised it to
	handing    bool           // it was asked to hand over, or has to

	role    zab.State // that the last Output said
	run     *run      // whose history it has adopted, durable or not
	offered *run      // of the leader that it is being brought in line with
	joined  *run      // with which its disk was compared
	kept    *print    // while it stays outside

	lineage  *zab.Lineage // that the core has asked to be kept last
	accepted int64        // epoch that the core has asked to be kept as accepted, last

	state    []zab.Txn // applied
	verified int       // of state, compared with the global order
	ends     []*end    // open connections, by number
	deferred []deferredSync
}

func lastOf(history []zab.Txn) proto.Zxid {
	if len(history) == 0 {
		return 0
	}
	return history[len(history)-1].Zxid
}

// upTo returns the part of a history up to z. The result must not be appended to in place.
func upTo(history []zab.Txn, z proto.Zxid) []zab.Txn {
	i, found := slices.BinarySearchFunc(history, z, func(t zab.Txn, z proto.Zxid) int {
		if t.Zxid < z {
			return -1
		}
		return int(min(t.Zxid-z, 1))
	})
	if found {
		i++
	}
	return history[:i:i]
}

// start runs the process: it reads the disk and begins to look for a leader.
func (n *node) start() {
	if n.up {
		return
	}
	s := n.s
	n.up = true
	n.life++
	n.period = s.between(900, 1100)
	n.slow = 1
	d := &n.disk
	s.moments.starts(n)
	d.recover()
	n.state = d.history[:len(d.history):len(d.history)]
	n.verified = 0
	n.run, n.offered, n.joined, n.handing, n.lineage = d.run, nil, nil, false, lineageOf(d)
	window := d.history[max(d.logFrom, len(d.history)-s.limits.WindowTxns):]
	if len(window) > 0 && s.chance(3) {
		window = window[s.rng.IntN(len(window)):]
	}
	window = window[:len(window):len(window)]
	before := lastOf(d.history[:len(d.history)-len(window)])
	cfg := zab.Config{ID: n.id, Ensemble: d.ensemble, Epochs: zab.Epochs{Accepted: d.accepted, Current: d.current},
		Last: lastOf(d.history), Window: window, Before: before, Blank: d.blank, Lineage: d.lineage, History: d,
		Rand: rand.New(rand.NewPCG(s.opts.Seed, s.rng.Uint64())), Timing: s.timing, Limits: s.limits,
		Masters: s.opts.Masters, Whole: s.opts.Seed%16 == 9}
	switch {
	case s.opts.Lists:
		cfg.Ensemble = s.lists.reads(s, n)
	case cfg.Ensemble == nil:
		cfg.Ensemble = s.initialOf(n)
	}
	if s.opts.Reconfig {
		cfg.Roster = roster{}
		cfg.Next = newestIn(d.history, cfg.Ensemble)
	}
	n.active, n.blank = nil, cfg.Blank
	cfg.Barrier = func(z proto.Zxid) []byte { return s.load.payload() }
	if s.opts.Configure != nil {
		cfg = s.opts.Configure(cfg)
	}
	core, err := zab.New(cfg)
	if err != nil {
		s.fail("Start", "server %d does not start: %v", n.id, err)
	}
	s.tracef("%d start: epochs %d/%d last %v blank %v", n.id, d.accepted, d.current, cfg.Last, cfg.Blank)
	n.core = core
	n.status, n.accepted = zab.Status{}, d.accepted
	n.drain()
	life := n.life
	s.after(s.between(1, n.period), func() { n.tick(life) })
	s.net.restarted(n)
}

func (n *node) tick(life int) {
	if !n.up || n.life != life {
		return
	}
	n.core.Tick()
	n.drain()
	n.s.after(n.period*n.slow, func() { n.tick(life) })
}

// crash ends the process at once.
func (n *node) crash() {
	if !n.up {
		return
	}
	n.s.tracef("%d crash", n.id)
	n.s.Stats.Crashes++
	n.up = false
	n.disk.crash()
	n.s.net.crashed(n)
	n.ends, n.deferred, n.kept = nil, nil, nil
	n.status = zab.Status{}
	n.s.load.lost(n)
}

// drain does what the core asks for, until it asks for nothing.
func (n *node) drain() {
	if !n.up {
		return
	}
	s := n.s
	out := n.core.Take()
	if out.Status.Fatal != nil {
		s.fail("Fatal", "server %d: %v", n.id, out.Status.Fatal)
	}
	n.role = out.Status.State
	for _, p := range out.Persist {
		n.disk.write(p, n)
	}
	n.noteOutside(&out.Status)
	if out.Lineage != nil {
		n.disk.note(out.Lineage, n)
	}
	n.apply(out.Deliver)
	if n.status.Serving && len(out.Deliver) > 0 {
		s.served(n) // it may be the last thing that it does as a leader
	}
	s.checkActive(n)
	s.checkStays(n, &out)
	s.checkKnown(n, &out)
	s.checkSteps(n, &out)
	n.changed(out.Status)
	for i := range out.Send {
		s.checkPromise(n, &out.Send[i])
		s.net.send(n, out.Send[i])
	}
	for _, d := range out.Dial {
		s.net.dial(n, d)
	}
	for _, id := range out.Close {
		s.net.close(n, id)
	}
	for _, token := range out.Synced {
		s.synced(n, token)
	}
	if n.status.Serving {
		n.blank = false
		s.served(n)
	}
	n.retryDeferred()
	if out.Renew {
		n.core.Renew()
		n.drain()
		return
	}
	s.checkStrangers(n)
	if out.Status.Stopped {
		n.crash()
		if s.faults.healed {
			s.after(s.between(100, 2000), n.start)
		}
	}
}

// changed notes a change of role.
func (n *node) changed(st zab.Status) {
	old := n.status
	n.status = st
	if old.State != st.State || old.Phase != st.Phase || old.Serving != st.Serving || old.Epoch != st.Epoch {
		n.s.tracef("%d is %v %v leader %d epoch %d serving %v: %s", n.id, st.State, st.Phase, st.Leader, st.Epoch,
			st.Serving, st.Reason)
		if st.State == zab.Looking && old.State != zab.Looking {
			n.s.Stats.Elections++
		}
		if st.State == zab.Leading && st.Phase == zab.Broadcast &&
			(old.Phase != zab.Broadcast || old.State != zab.Leading || old.Epoch != st.Epoch) {
			n.s.established(n)
		}
		if old.State == zab.Leading && st.State != zab.Leading {
			n.handing = false
			n.s.load.lost(n)
		}
	}
}

// apply delivers txns to the served state.
func (n *node) apply(txns []zab.Txn) {
	for _, t := range txns {
		if t.Zxid <= lastOf(n.state) {
			n.s.fail("TotalOrder", "server %d delivers %v after %v", n.id, t.Zxid, lastOf(n.state))
		}
		n.s.checkMemory(n, t)
		n.state = append(n.state, t)
		n.s.Stats.Delivered++
		n.s.load.delivered(n, t)
	}
}

// snapshot sometimes writes a snapshot of the served state, and purges the log below it.
func (n *node) snapshot() {
	if !n.up || !n.status.Serving {
		return
	}
	n.disk.snapshot(len(n.state))
}

// describe says what the node does, for a failure.
func (n *node) describe() string {
	st := n.status
	config := ""
	if n.up && n.s.opts.Reconfig {
		active, next := n.core.Ensembles()
		config = fmt.Sprintf(", configuration %v %s", active.Version, active.Text)
		if next != nil {
			config += fmt.Sprintf(" and %v %s", next.Version, next.Text)
		}
	}
	return fmt.Sprintf("server %d up %v plain %v: %v %v leader %d epoch %d serving %v; state %v, disk %v epochs "+
		"%d/%d exists %v%s (%s)", n.id, n.up, n.plain,
		st.State, st.Phase, st.Leader, st.Epoch, st.Serving, lastOf(n.state), lastOf(n.disk.history), n.disk.accepted,
		n.disk.current, n.disk.exists, config, st.Reason)
}
