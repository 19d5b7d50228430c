package host

import (
	"encoding/binary"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// The data of a PING and of its answer is a list of touched sessions, each with its id and its timeout. Warren servers
// put entries between them that no session has, for other Warren servers:
//
//	id           timeout
//	0            0            the disk of the follower is full, or the leader refuses writes: see package succession
//	n > 0        arrivedMark  n answers of the learner have arrived: see package lease
//	priority > 0 priorityMark the priority of the follower: see package succession
//	1            idleMark     the follower has no clients, and leaders are to have none: see package succession
const (
	arrivedMark  = -1
	priorityMark = -2
	idleMark     = -3
)

// noRoom is the entry with the id 0 and the timeout 0.
var noRoom [sessions.TouchSize]byte

// saysNoRoom reports whether the data of a PING contains noRoom.
func saysNoRoom(data []byte) bool {
	for ; len(data) >= sessions.TouchSize; data = data[sessions.TouchSize:] {
		if binary.BigEndian.Uint64(data) == 0 {
			return true
		}
	}
	return false
}

// saysArrived returns how many answers have arrived according to the data of a PING, 0 if it does not say.
func saysArrived(data []byte) uint64 { return marked(data, arrivedMark) }

// saysPriority returns the priority that the answer to a PING tells, 0 if it tells none.
func saysPriority(data []byte) int64 { return int64(marked(data, priorityMark)) }

// saysIdle reports whether the answer to a PING tells that the follower has no clients.
func saysIdle(data []byte) bool { return marked(data, idleMark) != 0 }

// marked returns the number of the first entry with a mark, 0 if there is none.
func marked(data []byte, mark int32) uint64 {
	for ; len(data) >= sessions.TouchSize; data = data[sessions.TouchSize:] {
		if int32(binary.BigEndian.Uint32(data[8:])) == mark {
			return binary.BigEndian.Uint64(data)
		}
	}
	return 0
}

func appendMarked(data []byte, n uint64, mark int32) []byte {
	return proto.AppendInt32(binary.BigEndian.AppendUint64(data, n), mark)
}

// A full Warren server sends no writes to a leader in Java, which would not know. Servers in Java say nothing about
// room and count as having it. A follower whose leader refuses writes refuses them without asking: a refusal by the
// leader would be a txn, which takes room itself.

// ping returns a PING to a learner. To a Warren learner it also says how many answers have arrived, and whether there
// is no room for writes.
func (h *Host) ping(l *link, msg *zab.Message) *peers.Packet {
	p := &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid}
	if l.warren && h.role != nil && h.role.refusesWrites() {
		p.Data = append(p.Data, noRoom[:]...)
	}
	x := l.exchange
	if x == nil {
		return p // the learner is not up to date: it answers no PING
	}
	if !x.Sent(h.Clock.Now()) {
		h.peers.Close(l.ID)
	}
	if h.status.State != zab.Following && h.MayAnswer() {
		x.Tell()
	}
	if lead, leads := h.role.(*leading); leads && l.warren && !l.told {
		l.told = true
		h.links.sendSilent(l, lead.next-1, h.Tracker.TakeSilent(true), h.Clock.Now())
	}
	l.reported = x.Told()
	if l.warren && x.Told() > 0 {
		p.Data = appendMarked(p.Data, x.Told(), arrivedMark)
	}
	return p
}

// reportsPerTick is how often in a tick a learner reports sessions at most. It goes through all of its sessions for
// that, and a leader sends a PING with each round of syncs, besides two in a tick.
const reportsPerTick = 20

// pong is the answer to a PING. It reports the sessions that were heard of since the last report. If that is not long
// ago, the answer proves no more than that report. Source: quorum-protocol 8.5.
func (h *Host) pong(l *link, msg *zab.Message) *peers.Packet {
	if l.exchange == nil {
		l.exchange = &lease.Exchange{}
	}
	now, data := h.Clock.Now(), []byte{}
	reports := l.touched == 0 || now-l.touched >= int64(h.Config.TickTime/reportsPerTick)
	if reports {
		l.touched = now
	}
	l.exchange.Sent(l.touched)
	if reports {
		data = h.touched(l)
	}
	if l.warren && h.Guard.Full() {
		data = append(data, noRoom[:]...)
	}
	if l.warren {
		data = h.appendMerits(data)
	}
	return &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid, Data: data}
}

// touched reports the sessions of this server and of the observers that learn from it.
func (h *Host) touched(l *link) []byte {
	data, released := h.Tracker.AppendTouched([]byte{})
	h.released(l, released)
	if h.role != nil { // without a role, what observers have reported is not in data
		for _, below := range h.links.open {
			if below.learner() {
				below.exchange.Carry(l.exchange)
			}
		}
	}
	return data
}

// appendMerits appends to the answer to a PING what speaks for this server as the leader: its priority, and that it
// has no clients. A server that is drained says nothing: it is about to be restarted.
func (h *Host) appendMerits(b []byte) []byte {
	if _, drained := h.clients.Draining(); drained {
		return b
	}
	if h.Config.Priority > 0 {
		b = appendMarked(b, uint64(h.Config.Priority), priorityMark)
	}
	if !h.Config.LeaderServes && h.clients.Idle() {
		b = appendMarked(b, 1, idleMark)
	}
	return b
}

// pinged handles a PING, or the answer to a PING.
func (h *Host) pinged(l *link, p *peers.Packet) {
	x := l.exchange
	switch {
	case x == nil: // this server has answered nothing on the link
		return
	case !l.Dialled:
		x.Answered()
		if h.status.State != zab.Following {
			h.lease.RenewByQuorum(h.ID, h.links.exchanges(), h.decides)
		}
	case l.warren:
		h.reported(l, saysArrived(p.Data))
	default:
		x.AllArrived()
		h.lease.Renew(h.Clock.Now())
		h.carried(x)
	}
}

// reported handles that the leader, or the observer master, has n answers of this learner.
func (h *Host) reported(l *link, n uint64) {
	if x := l.exchange; x != nil {
		h.lease.Renew(x.Arrived(n))
		h.carried(x)
	}
}

// carried notes which answers of the observers that learn from this server have reached the leader.
func (h *Host) carried(x *lease.Exchange) {
	for _, below := range h.links.open {
		if below.learner() {
			below.exchange.Carried(x)
		}
	}
}

// report is called when something has arrived on l that tells what has arrived. With the next PING alone, a learner
// would know of its answers half a tick later, and its lease would end that much earlier.
func (h *Host) report(l *link) {
	if !l.Dialled {
		h.tell(l)
		return
	}
	for _, below := range h.links.inOrder() {
		h.tell(below)
	}
}

func (h *Host) tell(l *link) {
	if p := h.news(l); p != nil {
		h.links.send(l, p)
	}
}

// news returns what tells a Warren learner of answers that have arrived since it was told last; nil if none have.
func (h *Host) news(l *link) *peers.Packet {
	if !l.learner() || !l.warren {
		return nil
	}
	x := l.exchange
	if h.status.State != zab.Following && h.MayAnswer() {
		x.Tell()
	}
	if x.Told() == l.reported {
		return nil
	}
	l.reported = x.Told()
	return &peers.Packet{Type: peers.PacketArrived, Zxid: -1, Data: binary.BigEndian.AppendUint64(nil, l.reported)}
}
