package host

import (
	"encoding/binary"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/sessions"
)

// Room in an ensemble. The leader alone decides whether writes are refused, for all: every txn is logged by every voter, whoever's
// client wants it. Warren's followers tell it in their answers to PING when their disk is almost full, and it tells them in PING when
// it refuses, so that they need not ask: a refusal by the leader would be a txn, which takes room itself. Writes go on while the
// voters that have room decide. A leader that has none hands over to one that has, if the others that have room decide without it.
// Servers in Java say nothing; they count as having room, and a leader in Java gets no writes of a full Warren server. See adr 0006.

// noRoom stands among the touched sessions of PING, with the id and the timeout 0, which no session has.
var noRoom [sessions.TouchSize]byte

// saysNoRoom reports whether the data of a PING has NoRoom.
func saysNoRoom(data []byte) bool {
	for ; len(data) >= sessions.TouchSize; data = data[sessions.TouchSize:] {
		if binary.BigEndian.Uint64(data) == 0 {
			return true
		}
	}
	return false
}

// yieldPause is the least time between two hand-overs by one server for lack of room: each costs its clients a connection.
const yieldPause = 10 * time.Second

// takeStock renews what a leader knows of its own room and of what the learners have said, and hands over if that helps.
func (l *leading) takeStock(now time.Time) {
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
	// What followers have to say of their disks is known after a tick.
	if full && now.Sub(m.since) > m.Config.TickTime && now.Sub(m.yielded) > yieldPause && m.core.FitSuccessor() {
		m.yielded = now
		m.Log.Warn("disk is almost full: handing over to a server that has room")
		m.core.HandOver(false)
	}
}

// NoRoom reports whether writes are to be refused here, without the leader.
func (f *following) noRoom() bool {
	s := f.m
	full := s.Guard.Full()
	return f.refuses || full && (!f.m.warren[f.link.ID] || s.Guard.Stuck())
}
