package host

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A turn: what arrives is given to the core and to the role, and what they ask for is handed out.

// takeTurn takes all input that has arrived. REQUIRES: turn.
func (h *Host) takeTurn() {
	if h.stop {
		return
	}
	events := h.takeEvents()
	for i := range events {
		h.handle(&events[i])
	}
	h.takeBatches()
	h.requests()
	h.drain()
	h.calm.Store(!h.stop && h.role != nil && h.role.calm())
}

// handle gives one event to the core and the role.
func (h *Host) handle(e *event) {
	switch {
	case e.call != nil:
		if lead, ok := h.role.(*leading); ok {
			lead.unlockState()
		}
		e.call()
	case e.seq != 0:
		if now := measured(h.Env); now != 0 {
			h.legs.persisted(e.seq, now, func(g *leg) { trace(h.Env, g) })
		}
		h.core.Persisted(e.seq)
	default:
		h.arrived(e.link, e.packets)
	}
}

var errReconfigured = errors.New(
	"the ensemble was reconfigured, but reconfigEnabled is false here: start it again with the new configuration")

// arrived handles packets of another server, in order.
func (h *Host) arrived(from *peers.Link, packets []peers.Packet) {
	l := h.links.from(from)
	if l == nil {
		return
	}
	l.arrived = h.Clock.Now()
	for len(packets) > 0 {
		var msg zab.Message
		n, ok := peers.MessageOf(l.Link, packets, &msg)
		batch, p := packets, &packets[0]
		packets = packets[n:]
		switch p.Type {
		case proto.PacketCommit, proto.PacketInform:
			if l.Dialled { // a learner decides nothing
				h.reach.told(batch[n-1].Zxid)
				countArrived(h.Env, &batch[n-1], n)
			}
		case proto.PacketProposal:
			if l.Dialled {
				h.reach.seen = max(h.reach.seen, batch[n-1].Zxid)
				countArrived(h.Env, &batch[n-1], n)
			}
		case proto.PacketCommitAndActivate, proto.PacketInformAndActivate:
			if !l.Dialled {
				break
			}
			if !h.Config.ReconfigEnabled {
				h.Fatal("following a reconfiguration", errReconfigured)
				return
			}
			h.reach.told(p.Zxid)
		case proto.PacketAck:
			if lead, ok := h.role.(*leading); ok {
				lead.acknowledged(l.Peer, batch[n-1].Zxid)
			}
		case peers.PacketNotesMoves:
			if l.Dialled {
				h.noting = l.ID
			}
		case peers.PacketSilent:
			if l.Dialled {
				h.silence.told(l, p)
			} else {
				h.forRole(l, p)
			}
		case peers.PacketHandOver:
			if f, ok := h.role.(*following); ok && f.link == l {
				f.handed = f.holding
			}
		case proto.PacketRequest, proto.PacketRevalidate, proto.PacketPing, proto.PacketSync, peers.PacketHold,
			peers.PacketUnhold, peers.PacketMoved, peers.PacketReclaim:
			if p.Type == proto.PacketPing {
				h.pinged(l, p)
				h.report(l)
			}
			h.forRole(l, &batch[0])
		case peers.PacketArrived:
			if l.Dialled {
				h.reported(l, binary.BigEndian.Uint64(p.Data))
				h.report(l)
			}
		}
		if msg.Type == zab.FollowerInfo || msg.Type == zab.ObserverInfo || msg.Type == zab.LeaderInfo {
			l.warren = msg.Warren
		}
		if ok {
			h.member.Step(msg)
		} else {
			h.member.Heard(l.ID)
		}
	}
}

// forRole gives a packet that the host handles itself to the role, or keeps it until there is a role. A learner
// sends requests from UPTODATE on, but a leader of servers in Java serves only when its first txn is committed. A
// learner in Java that misses the answer to one request answers no client any more.
func (h *Host) forRole(l *link, packet *peers.Packet) {
	switch {
	case h.role != nil:
		h.role.Packet(l, packet)
	case h.opening.on || h.status.State == zab.Leading:
		h.opening.early = append(h.opening.early, early{l, packet})
	}
}

// requests gives the requests of clients to the role, as far as there is room.
func (h *Host) requests() {
	h.waiting = h.keeping.park(h.waiting)
	switch {
	case len(h.waiting) == 0:
	case h.role == nil && !h.opening.on:
		h.refuse()
	case h.role != nil:
		done := 0
		for done < len(h.waiting) && h.take(h.waiting[done]) {
			h.RequestPool.Put(h.waiting[done])
			done++
		}
		h.took(done)
	}
	if h.role != nil {
		h.role.flush()
	}
}

// take gives the requests of one batch to the role, and stores in the batch how many the role has taken. It returns
// false if some are left.
func (h *Host) take(b *flow.Batch) bool {
	for b.Taken < len(b.Requests) {
		r := &b.Requests[b.Taken]
		if r.Client != nil && (r.Client.Superseded() ||
			r.Client.Generation() != h.generation.Load()) {
			h.drop(b, r)
		} else if !h.role.request(b, r) {
			return false
		}
		b.Taken++
	}
	return true
}

// drain does what the core asks for, until the core asks for nothing more.
func (h *Host) drain() {
	for {
		h.again = false
		out := h.core.Take()
		h.followConfigurations()
		if len(out.Send) > 0 {
			h.send(out.Send)
		}
		if len(out.Persist) > 0 {
			h.toJournal(out.Persist)
		}
		if out.Lineage != nil {
			h.journal.Note(out.Lineage)
		}
		h.states.drop(h.links.takeClosed()) // the core has said by now which of them it wants
		if len(out.Deliver) > 0 {
			h.deliver(out.Deliver)
		}
		if len(out.Synced) > 0 && h.role != nil {
			h.role.synced(out.Synced)
		}
		h.changed(out.Status)
		if lead, ok := h.role.(*leading); ok && out.Renew {
			lead.renew()
		}
		if h.role != nil {
			h.role.flush()
		}
		h.links.flush(h.calm.Load())
		h.applier.Come(h.calm.Load())
		for _, d := range out.Dial {
			h.peers.Dial(d.Link, d.Peer, d.Port)
		}
		h.sender.throttled(out.Throttled, &h.links)
		if len(out.Rivals) > 0 {
			h.notices.turnedAway(out.Rivals, &h.links, h.Clock.Steady())
		}
		for _, id := range out.Close {
			h.peers.Close(id)
			h.forget(id)
		}
		if h.again {
			continue
		}
		if h.surveyed.IsZero() {
			h.survey(h.Clock.Steady())
		}
		return
	}
}

// toJournal hands writes to the journal.
func (h *Host) toJournal(writes []zab.Persist) {
	for i := range writes {
		h.Queued.Add(durable.BytesOf(writes[i].Append))
		if writes[i].Truncate && writes[i].Last < h.reach.delivered || writes[i].Install != nil {
			h.keeping.drop() // the state is loaded anew
		}
		if writes[i].Truncate {
			h.reach.cut(writes[i].Last)
		}
		if in := writes[i].Install; in != nil {
			h.silence.forget() // what would refute it may be in the state
			h.reach.cut(in.Last)
			h.states.want(in.Link)
		}
	}
	if now := measured(h.Env); now != 0 {
		h.legs.asked(writes, now)
	}
	h.journal.Submit(writes)
}

// send puts messages on their links, or on the election channel.
func (h *Host) send(messages []zab.Message) {
	for i := range messages {
		msg := &messages[i]
		if msg.Link == 0 {
			h.peers.SendElection(msg)
			continue
		}
		l := h.links.open[msg.Link]
		if l == nil {
			continue // the link has closed; the core will be told
		}
		switch msg.Type {
		case zab.Replay:
			h.sender.replay(l.Link, msg.After, msg.Zxid)
		case zab.Snap:
			h.Metrics.Quorum.Snaps.Inc()
			h.sender.countSyncs()
			h.sender.sendSnapshot(l.Link, msg.Zxid)
		case zab.Ping:
			if !l.Dialled {
				l.SendPacket(h.ping(l, msg))
			} else {
				l.SendPacket(h.pong(l, msg))
			}
		case zab.UpToDate: // the learner answers every PING after this
			if l.exchange == nil {
				l.exchange = &lease.Exchange{}
			}
			l.Send(msg)
			if l.warren && h.status.State == zab.Leading {
				l.SendPacket(&peers.Packet{Type: peers.PacketNotesMoves, Zxid: -1})
			}
			h.sender.countSyncs()
			h.surveyed = time.Time{} // there is one more learner in sync
		case zab.NewLeader:
			h.lease.Offer()
			l.Send(msg)
		case zab.Diff, zab.Trunc:
			h.Metrics.Quorum.Diffs.Inc()
			h.sender.countSyncs()
			l.Send(msg)
		case zab.SyncReply:
			switch r := h.role.(type) {
			case *leading:
				l.Send(msg)
				r.answeredSync(msg.Token)
			case *following:
				r.below.Answer(l.Link, msg.Token)
			}
		default:
			l.Send(msg)
		}
		h.links.touch(l)
	}
}

// deliver hands committed txns to the applier, each with the client that gets the answer.
func (h *Host) deliver(txns []zab.Txn) {
	h.silence.delivered(txns)
	b := h.ApplyPool.Get()
	b.Last = txns[len(txns)-1].Zxid
	if b.Agreed = measured(h.Env); b.Agreed != 0 {
		h.legs.deliver(b)
	}
	if h.role != nil {
		h.role.deliver(txns, b)
	} else if h.keeping.former != nil {
		h.keeping.former.deliver(txns, b)
	} else {
		noRole{}.deliver(txns, b)
		// A txn that is delivered while the role opens may not be applied yet when the role begins: opened must not
		// rely on the state.
		h.reach.delivered = b.Last
	}
	last := b.Last
	h.Queued.Add(b.Bytes)
	h.applier.Put(b)
	if h.role != nil {
		h.role.delivered(last)
	}
}
