package host

import (
	"time"

	"go.uber.org/zap"
)

// Room on the disks of an ensemble. The leader alone decides whether writes are refused, for all servers, because
// every voter logs every txn. Warren followers tell the leader in their answers to PING when their disk is almost
// full. The leader tells them in PING when it refuses writes, so that they refuse without asking: a refusal by the
// leader would be a txn, which takes room itself. Writes go on while the voters with room are a quorum. A leader
// without room hands over to a server with room, if the servers with room are a quorum without the leader. Servers
// in Java say nothing about room and count as having it. A full Warren server sends no writes to a leader in Java.
// See adr 0006.

// yieldPause is the least time between two hand-overs by one server for lack of room: each costs its clients a
// connection.
const yieldPause = 10 * time.Second

// checkRoom updates what a leader knows of its own room and of the room of its learners, and hands over if that
// helps.
func (l *leading) checkRoom(now time.Time) {
	m := l.m
	full := m.Guard.Full()
	m.core.Unfit(m.ID, full)
	refuses := full || !m.core.FitQuorum()
	switch {
	case refuses && !l.refuses:
		m.Log.Error("too few voters have room on their disks: refusing writes", zap.Bool("here", !full))
	case l.refuses && !refuses:
		m.Log.Info("enough voters have room on their disks: accepting writes")
	}
	l.refuses = refuses
	// After one tick followers have reported on their disks.
	if full && now.Sub(m.since) > m.Config.TickTime && now.Sub(m.yielded) > yieldPause && m.core.FitSuccessor() {
		m.yielded = now
		m.Log.Warn("disk is almost full: handing over to a server that has room")
		m.core.HandOver(false)
	}
}

// noRoom reports whether this server refuses writes without asking the leader.
func (f *following) noRoom() bool {
	m := f.m
	full := m.Guard.Full()
	return f.refuses || full && (!f.link.warren || m.Guard.Stuck())
}
