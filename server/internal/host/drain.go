package host

import (
	"time"

	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

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
		h.links.flushed()
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
