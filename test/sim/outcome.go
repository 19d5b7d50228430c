package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// outcome waits, with all faults gone, for what must become of the servers with the disks that they have. If a quorum
// of voters that count have lineages of which no two differ, one leader serves, and a new write is committed. Every
// other server serves the same, or says why it does not. Without such a quorum no leader is established.
//
// A lineage is silent about what came before a time at which meta.db was lost. Then the histories of two servers may
// differ although their lineages do not, and whether the checksums of txns show that depends on what is left of the
// logs. Both outcomes are right if there is a quorum with such servers only.
func (s *Sim) outcome() {
	if s.opts.Seed%2 == 0 {
		for _, n := range s.nodes { // all servers start at once
			n.crash()
		}
		for _, n := range s.nodes {
			n.start()
		}
	}
	must, may := s.agreeing(false), s.agreeing(true)
	healed := s.now
	limit := healed + 1000*int64(s.timing.TickTime*(s.timing.InitLimit+s.timing.SyncLimit))*6
	established := s.Stats.Epochs
	var leader *node
	var wrote zab.Txn
	var settled int64
	for s.now < limit {
		s.step()
		if leader == nil || !leader.reigns() || leader.status.Epoch != wrote.Zxid.Epoch() {
			leader, wrote, settled = s.writes()
			continue
		}
		if lastOf(leader.state) < wrote.Zxid {
			continue
		}
		if settled == 0 {
			settled = s.now
			s.Stats.HealedAfter = s.now - healed
		}
		if s.astray(leader, wrote.Zxid) == nil && (s.together(wrote.Zxid) || s.now > settled+settleTime) {
			break
		}
	}
	s.judge(must, may, leader, wrote, established)
}

// settleTime is how long the servers that have to stay outside are watched.
const settleTime = 60_000

// writes asks the leader that serves, if there is one, for a write.
func (s *Sim) writes() (leader *node, t zab.Txn, settled int64) {
	for _, n := range s.nodes {
		if !n.reigns() || n.core.NextZxid().Epoch() != n.status.Epoch {
			continue
		}
		z := n.core.NextZxid()
		if s.load.write(s, n, 1) {
			return n, zab.Txn{Zxid: z}, 0
		}
	}
	return nil, zab.Txn{}, 0
}

// judge looks at what has become of the servers.
func (s *Sim) judge(must, may bool, leader *node, wrote zab.Txn, established int) {
	switch {
	case leader == nil && must && s.agreeing(false): // what was on its way at first may have parted them
		s.fail("Outcome", "a quorum of the voters could agree, but %s", s.lineages())
	case !may && (leader != nil || s.Stats.Epochs > established):
		s.fail("Outcome", "no quorum of the voters can agree, but a leader was established: %s", s.lineages())
	case leader == nil:
		s.Stats.Leaderless++
		return
	}
	if lastOf(leader.state) < wrote.Zxid {
		s.fail("Outcome", "leader %d does not commit %v: %s", leader.id, wrote.Zxid, s.lineages())
	}
	if n := s.astray(leader, wrote.Zxid); n != nil {
		s.fail("Outcome", "server %d does not follow leader %d, and does not say why: %s", n.id, leader.id,
			s.lineages())
	}
	for _, p := range s.protected {
		if !p.ended && !has(leader.disk.history, p.txn) {
			s.fail("Protected", "at the end leader %d does not have %v %x", leader.id, p.txn.Zxid, p.txn.Payload)
		}
	}
	for _, n := range s.nodes {
		if !n.serves(wrote.Zxid) {
			s.Stats.Outside++
			continue
		}
		if !equal(n.state, leader.state) || !equal(n.disk.history, leader.disk.history) {
			s.fail("Outcome", "server %d serves %d txns up to %v, and leader %d has %d up to %v", n.id, len(n.state),
				lastOf(n.state), leader.id, len(leader.state), lastOf(leader.state))
		}
	}
}

func equal(a, b []zab.Txn) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Zxid != b[i].Zxid || string(a[i].Payload) != string(b[i].Payload) {
			return false
		}
	}
	return true
}

// reigns reports whether a server leads and serves.
func (n *node) reigns() bool { return n.up && n.status.State == zab.Leading && n.status.Serving }

// serves reports whether a server serves a state that ends with the last write.
func (n *node) serves(wrote proto.Zxid) bool {
	return n.up && n.status.Serving && n.status.Epoch == wrote.Epoch() && lastOf(n.state) == wrote &&
		lastOf(n.disk.history) == wrote
}

// together reports whether all servers do.
func (s *Sim) together(wrote proto.Zxid) bool {
	for _, n := range s.nodes {
		if !n.serves(wrote) {
			return false
		}
	}
	return true
}

// astray returns a server that neither serves nor says why, or nil. One that is only behind has no reason not to
// serve.
func (s *Sim) astray(leader *node, wrote proto.Zxid) *node {
	for _, n := range s.nodes {
		if !n.serves(wrote) && (!n.up || n.status.Outside == nil && len(n.core.Strangers()) == 0 || n.behind(leader)) {
			return n
		}
	}
	return nil
}

// behind reports whether a server has an older part of what the leader has, or nothing.
func (n *node) behind(leader *node) bool {
	a, b := &n.disk, &leader.disk
	if own, its := lineageOf(a), lineageOf(b); own.Final && its.Final && own.Ensemble != its.Ensemble {
		return false // it was part of another ensemble since
	}
	return (a.run == nil || b.run.contains(a.run)) && equal(a.history, b.history[:min(len(a.history), len(b.history))])
}

// agreeing reports whether a quorum of the voters can agree: none of them is blank, and no two lineages differ.
// Servers of which none has anything are a new ensemble. Servers with silent lineages count if they really have the
// same history, or, if silent is true, anyway; and so does one that has nothing: it may have heard from the others
// that they had nothing either, before their disks were exchanged.
func (s *Sim) agreeing(silent bool) bool {
	voters := s.nodes[:s.opts.Voters]
	fresh := true
	for _, n := range voters {
		fresh = fresh && len(n.disk.history) == 0 && n.disk.accepted == 0
	}
	if fresh {
		return true
	}
	for set := range 1 << len(voters) {
		if s.agrees(set, silent) {
			return true
		}
	}
	return false
}

func (s *Sim) agrees(set int, silent bool) bool {
	var ids []proto.ServerID
	for i, n := range s.nodes[:s.opts.Voters] {
		if set>>i&1 == 0 {
			continue
		}
		if n.disk.blank && !(silent && len(n.disk.history) == 0 && n.disk.accepted == 0) {
			return false
		}
		for _, id := range ids {
			a, b := &s.node(id).disk, &n.disk
			if lineageOf(a).Differs(lineageOf(b)) != nil {
				return false
			}
			if !silent && (a.silent() || b.silent()) && !a.run.contains(b.run) && !b.run.contains(a.run) {
				return false
			}
		}
		ids = append(ids, n.id)
	}
	return s.quorum.Decides(ids...)
}

// silent reports whether the lineage on a disk does not reach back to where the history began.
func (d *disk) silent() bool {
	l := lineageOf(d)
	return slices.ContainsFunc(l.Reigns, func(r zab.Reign) bool { return r.Gap })
}

// lineages says what each server does, and where the histories come from.
func (s *Sim) lineages() string {
	text := s.standing()
	for _, n := range s.nodes {
		text += "\n  " + n.describeLineage()
	}
	return text
}
