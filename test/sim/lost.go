package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// lost is what a server had on the disks that it has lost, and whether it must be counted for nothing. The simulator
// keeps it by what it sees on the network, so that it does not depend on what the core or its host make of a loss.
type lost struct {
	memory  bool        // since the last loss no leader has told it that it is up to date
	history [][]zab.Txn // of each disk
	current int64       // the largest currentEpoch of them
	told    int64       // the newest epoch that was promised to another server
	hunted  int         // crashes since the last loss
}

// wipe loses everything on the disk of a server that has crashed.
func (n *node) wipe() {
	n.forget()
	n.s.Stats.Wipes++
	n.s.unprotect()
}

// forget leaves a server with nothing but the file that an operator gives it.
func (n *node) forget() {
	d, l := &n.disk, &n.lost
	l.memory, l.hunted = true, 0
	l.history = append(l.history, d.history)
	l.current = max(l.current, d.current)
	n.promised, n.promisedTo = 0, 0
	n.disk = disk{n: n}
	n.state, n.verified = nil, 0
	n.file = n.s.given(n)
}

// restored is called when UPTODATE has arrived.
func (n *node) restored() {
	if n.lost.memory {
		n.lost.memory = false
		n.s.Stats.Restored++
		n.s.moments.restored(n.s, n)
	}
}

// refounded is called when a server counts again without having heard of a leader. If it has nothing, all voters have
// told it that they have nothing either, and the ensemble is new. That is right even if the server has lost its disk,
// as long as there was nothing on it that any other server has heard of: a leader to which it had promised an epoch
// would have said that it has accepted that epoch. With disks exchanged all may have lost what they had.
func (n *node) refounded() {
	d, l := &n.disk, &n.lost
	if len(d.history) > 0 || d.accepted > 0 {
		return
	}
	if n.s.world == nil && (l.told > 0 || l.current > 0 || slices.ContainsFunc(l.history, func(h []zab.Txn) bool {
		return len(h) > 0
	})) {
		n.s.fail("Promises", "R16: server %d counts in a new ensemble, but it has promised epoch %d, adopted %d, and "+
			"lost its disk", n.id, l.told, l.current)
	}
	l.memory = false
}

// has reports whether a server may be counted for a txn at a place of the history: it is on its disk, or was on one
// when that was lost.
func (n *node) has(i int, t zab.Txn) bool {
	is := func(h []zab.Txn) bool {
		return i < len(h) && h[i].Zxid == t.Zxid && string(h[i].Payload) == string(t.Payload)
	}
	return !n.lost.memory && is(n.disk.history) || slices.ContainsFunc(n.lost.history, is)
}

// adopted reports the same of the history of a leader.
func (n *node) adopted(epoch int64) bool {
	return !n.lost.memory && n.disk.current >= epoch || n.lost.current >= epoch
}

// checkForgetful: no server that has forgotten what it promised says anything that counts. Source: quorum-protocol
// 14.3 R16.
func (s *Sim) checkForgetful(n *node, m *zab.Message) {
	if !n.lost.memory {
		return
	}
	active, next := n.core.Ensembles()
	votes := active.Votes(n.id) || next != nil && next.Votes(n.id)
	switch {
	case m.Type == zab.Notification && m.State == zab.Looking && votes && m.Vote.Zxid != -1,
		m.Type == zab.AckEpoch && m.Epoch != -1,
		m.Type == zab.FollowerInfo && !m.Blank,
		m.Type == zab.LeaderInfo:
		s.fail("Promises", "R16: server %d says %s, but it has lost its disk", n.id, describe(m))
	}
}

// hunt crashes a server that has lost its disk again and again while it synchronises: at each message of that, on the
// way of its effects to the disk.
func (f *faults) hunt(s *Sim, from, to *end) {
	for _, n := range []*node{from.n, to.n} {
		if n.lost.memory && n.up && n.lost.hunted < huntsMax && s.chance(4) {
			n.lost.hunted++
			s.Stats.Hunts++
			s.after(s.between(0, 400), func() { f.crash(s, n, s.between(100, 5000)) })
		}
	}
}

// huntsMax bounds the crashes after one loss, so that synchronization ends.
const huntsMax = 12

// wipe loses the disk of one voter, if every other voter has all: with two gone at a time nothing could be promised.
// It reports whether the disk is lost.
func (f *faults) wipe(s *Sim, n *node) bool {
	if f.wiped >= f.wipesMax || n.observer && !s.opts.Reconfig || len(s.quorum.Voters()) < 3 {
		return false
	}
	for _, o := range s.nodes {
		if (!o.observer || s.opts.Reconfig) && (!o.disk.exists || o.disk.blank || o.lost.memory) ||
			s.opts.Reconfig && o.blank {
			return false // it has never had the data, or not again, so this would be the second loss
		}
	}
	f.wiped++
	s.tracef("wipe %d", n.id)
	n.crash()
	n.wipe()
	f.later(s, s.between(500, 20_000), n.start)
	return true
}

// counted returns the servers of which is holds.
func (s *Sim) counted(is func(*node) bool) (ids []proto.ServerID) {
	for _, o := range s.nodes {
		if is(o) {
			ids = append(ids, o.id)
		}
	}
	return ids
}
