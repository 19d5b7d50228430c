package sim

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Promises: whatever a message claims to be durable is on the disk when the core hands the message out. Source:
// quorum-protocol 15.3.
func (s *Sim) checkPromise(n *node, m *zab.Message) {
	d := &n.disk
	s.checkForgetful(n, m)
	switch m.Type {
	case zab.LeaderInfo:
		if d.accepted != m.Epoch {
			s.fail("Promises", "D1: server %d sends LEADERINFO of epoch %d, but has accepted %d durably", n.id,
				m.Epoch, d.accepted)
		}
		if n.status.State == zab.Leading { // an observer master repeats what it has promised to its leader
			s.checkOnce(n, m.Epoch, n.id)
		}
	case zab.AckEpoch:
		if m.Epoch != -1 && (m.Epoch != d.current || m.Zxid != lastOf(d.history)) {
			s.fail("Promises", "D2: server %d sends ACKEPOCH (%d, %v), but has (%d, %v)", n.id, m.Epoch, m.Zxid,
				d.current, lastOf(d.history))
		}
		if m.Epoch != -1 {
			if !d.exists {
				s.fail("Promises", "R16: server %d promises an epoch, but it has lost its disk", n.id)
			}
			if e := n.end(m.Link); e != nil {
				s.checkOnce(n, e.peer.watcher.epoch, e.peer.watcher.leader)
			}
		}
		if e := n.end(m.Link); e != nil && d.accepted < e.peer.watcher.epoch {
			s.fail("Promises", "D2: server %d promises epoch %d, but has accepted %d durably", n.id,
				e.peer.watcher.epoch, d.accepted)
		}
	case zab.Ack:
		switch {
		case m.Zxid.Counter() == 0:
			s.acknowledges(n, m)
			if d.current != m.Zxid.Epoch() {
				s.fail("Promises", "D6: server %d acknowledges NEWLEADER of epoch %d, but its currentEpoch is %d",
					n.id, m.Zxid.Epoch(), d.current)
			}
			if e := n.end(m.Link); e != nil && lastOf(d.history) < e.peer.watcher.history {
				s.fail("Promises", "D5: server %d acknowledges NEWLEADER with %v, but the history ends at %v", n.id,
					lastOf(d.history), e.peer.watcher.history)
			}
		case lastOf(d.history) < m.Zxid:
			s.fail("Promises", "D8: server %d acknowledges %v, but has %v durably", n.id, m.Zxid, lastOf(d.history))
		}
	case zab.Notification:
		s.checkVote(n, m)
	}
}

// checkOnce: an epoch is promised to one leader only, as long as the disk is not lost. A promise that was lost may be
// given again, to another leader: checkDecided says why that is safe.
func (s *Sim) checkOnce(n *node, epoch int64, to proto.ServerID) {
	if s.world != nil {
		return // a disk that was exchanged has forgotten
	}
	if epoch < n.promised || epoch == n.promised && to != n.promisedTo {
		s.fail("Promises", "server %d promises epoch %d to %d, but has promised %d to %d", n.id, epoch, to,
			n.promised, n.promisedTo)
	}
	n.promised, n.promisedTo = epoch, to
	if to != n.id {
		n.lost.told = max(n.lost.told, epoch)
	}
}

// checkDecided: of an epoch one history is decided, once. That is what promises are for. A server that lost its disk
// has forgotten what it promised, and comes back; but a leader decides with promises only that were given again after
// a quorum had given them, and no server is admitted below an epoch that is promised so. Source: zab/blank.go.
func (s *Sim) checkDecided(n *node, p *zab.Persist) {
	if s.world != nil || p.CurrentEpoch < 0 {
		return
	}
	epoch, reigns := p.CurrentEpoch, p.Lineage.Reigns
	if reigns[len(reigns)-1].Leader != n.id {
		return // it follows
	}
	if other, ok := s.decided[epoch]; ok {
		s.fail("Promises", "server %d decides the history of epoch %d, as server %d has before", n.id, epoch, other)
	}
	s.decided[epoch] = n.id
}

// checkAdopted: currentEpoch is written after the history of its leader.
func (s *Sim) checkAdopted(n *node, epoch int64) {
	for _, e := range n.ends {
		if e.peer != nil && e.peer.watcher.newLeader && e.peer.watcher.epoch == epoch &&
			lastOf(n.disk.history) < e.peer.watcher.history {
			s.fail("Promises", "D5: server %d writes currentEpoch %d with a log up to %v, but the history ends at %v",
				n.id, epoch, lastOf(n.disk.history), e.peer.watcher.history)
		}
	}
}

// checkVote: a server that stands for itself says what is on its disk, and nothing is still being written.
func (s *Sim) checkVote(n *node, m *zab.Message) {
	d := &n.disk
	if m.State != zab.Looking || m.Vote.Leader != n.id || m.Vote.Zxid == -1 {
		return
	}
	last := proto.Zxid(0)
	if len(d.history) > 0 {
		last = lastOf(d.history)
	}
	if m.Vote.Zxid != last || m.Vote.Epoch != d.current {
		s.fail("Promises", "D3: server %d votes (%d, %v) for itself, but has (%d, %v)", n.id, m.Vote.Epoch,
			m.Vote.Zxid, d.current, last)
	}
}
