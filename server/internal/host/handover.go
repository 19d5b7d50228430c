package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Handovers of the leadership. The server is to stop (Host.handOver), an operator names another leader (HandOverTo),
// or package succession decides on it (consider). All of them begin in this file, but for a leader whose epoch has no
// more zxids and no follower that is fit to lead (leading.flush). Unless the disk is full, clients and learners hold
// still first: see package kept.

// consider asks the policy whether this leader goes on to lead and takes writes, and does what the policy decides. It
// is called now and then.
func (l *leading) consider(now time.Time, learners []zab.Learner) {
	h := l.h
	if !h.core.Serves() {
		return // the leadership has ended within this turn: so does the role, when the core's output is taken
	}
	full := h.Guard.Full()
	f := succession.Facts{Now: now, Since: h.periods.role, Full: full, Room: true, HandsOver: l.handing != nil,
		Idle:       !h.Config.LeaderServes && h.clients.Idle(),
		Candidates: h.links.candidates(h.Config.LeaderServes), Learners: learners, Prepared: l.next - 1,
		Delivered: l.done, Queued: h.Queued.Load(), Decides: h.decides,
		FitSuccessor: func() bool { return false },
		CanLead:      func(id proto.ServerID) bool { return h.canLead(id) == nil }}
	if c := h.member; c != nil {
		c.Unfit(h.ID, full)
		f.Room, f.FitSuccessor = c.FitQuorum(), c.FitSuccessor
	}
	d := h.policy.Decide(&f)
	switch {
	case d.Refuse && !l.refuses:
		h.Log.Error("refusing writes: too few voters have room on their disks", zap.Bool("here", !full))
	case l.refuses && !d.Refuse:
		h.Log.Info("accepting writes again: enough voters have room on their disks")
	}
	l.refuses = d.Refuse
	if d.Yield {
		if d.Lag > 0 {
			h.Log.Warn("handing over to a server with a faster disk: the disk of this leader lags behind",
				zap.Duration("lag", d.Lag), zap.Int64("queuedBytes", f.Queued))
		} else {
			h.Log.Warn("handing over to a server with more room: the disk is almost full")
		}
		h.core.HandOver(false)
	}
	if d.Ends {
		h.Log.Info("handing over the leadership: this epoch is running out of zxids, and the next one begins in time",
			zap.Stringer("zxid", f.Prepared))
		_ = l.handOver(false, func() error {
			h.core.HandOver(false)
			return nil
		})
	}
	if d.To != succession.None {
		why := "handing over to a server with a higher priority"
		if d.Idle {
			why = "handing over to a server without clients, because leaders are to have none"
		}
		h.Log.Info(why, zap.Int64("server", int64(d.To)))
		if err := l.handOver(false, func() error { return h.member.HandOverTo(d.To, false) }); err != nil {
			h.Log.Warn("cannot hand over the leadership: this server goes on leading", zap.Error(err))
		}
	}
}

// handOver asks the core to hand its leadership over, and then to stop.
func (h *Host) handOver() {
	h.Do(func() {
		_ = h.afterHold(true, func() error {
			h.core.HandOver(true)
			return nil
		})
	})
}

// afterHold calls do, which begins a handover, or with stop the end of this server, at once, or when the clients of a
// leader and its learners hold still.
func (h *Host) afterHold(stop bool, do func() error) error {
	if lead, ok := h.role.(*leading); ok {
		return lead.handOver(stop, do)
	}
	return do()
}

// canLead returns why a server cannot take over the leadership; nil if it can.
func (h *Host) canLead(id proto.ServerID) error {
	if h.member == nil {
		return zab.ErrNotLeading
	}
	return h.member.HandOverTo(id, true)
}

// HandOverTo hands the leadership to a named server without an election; see zab.Core.HandOverTo. It returns when the
// handover has begun, or with dry when it is known whether it could. If this server leads and is the named one, there
// is nothing to do. Any goroutine may call it.
func (h *Host) HandOverTo(id proto.ServerID, dry bool) (err error) {
	if !h.call(func() {
		if id != h.ID || !h.Rules() {
			err = h.canLead(id)
		}
		if err != nil || id == h.ID || dry {
			return
		}
		if err = h.afterHold(false, func() error { return h.member.HandOverTo(id, false) }); err == nil {
			h.Log.Info("handing over to the server that an operator has named", zap.Int64("server", int64(id)))
		}
	}) {
		return zab.ErrNotLeading
	}
	return err
}

// holdMax is how long a leader waits until its learners hold their requests and its own syncs are answered. The
// clients of a learner that has not answered by then are asked for as after the death of the leader.
const holdMax = 500 * time.Millisecond

// handing is a handover of this leader that is being prepared, or has begun.
type handing struct {
	do    func() error        // begins the handover
	stop  bool                // and then this server stops
	asked []*link             // learners that were asked to hold requests
	waits map[zab.LinkID]bool // those that have not answered
	until int64               // when the handover begins in any case, ns on the server's clock
	begun bool                // do was called
}

// handOver calls do, which begins a handover, when all learners hold the requests of their clients. A handover with a
// stop takes the place of another one, and no other one takes its place.
func (l *leading) handOver(stop bool, do func() error) error {
	h := l.h
	switch {
	case h.peers == nil, l.handing != nil && l.handing.begun:
		return do()
	case l.handing != nil && l.handing.stop && !stop:
		return zab.ErrNotLeading // as when it has begun
	case l.handing != nil:
		l.handing.do, l.handing.stop = do, stop
		return nil
	}
	next := &handing{do: do, stop: stop, waits: map[zab.LinkID]bool{}, until: h.Clock.Now() + int64(holdMax)}
	for _, link := range h.links.inOrder() {
		if link.learner() && link.warren {
			next.asked, next.waits[link.ID] = append(next.asked, link), true
		}
	}
	l.handing = next
	l.tell(peers.PacketHold)
	return nil
}

// tell sends a packet without data to the learners that were asked to hold requests.
func (l *leading) tell(t proto.PacketType) {
	for _, link := range l.handing.asked {
		if l.h.links.has(link) {
			l.h.links.send(link, &peers.Packet{Type: t, Zxid: -1})
		}
	}
}

// maybeHand begins the handover that is being prepared if nothing is left to wait for.
func (l *leading) maybeHand() {
	next := l.handing
	if next == nil || next.begun {
		return
	}
	answered := len(next.waits) == 0 && len(l.txns) == 0 && l.syncs.Empty()
	if !answered && l.Clock.Now() < next.until {
		return
	}
	next.begun = true
	l.h.again = true
	if err := next.do(); err != nil {
		l.Log.Warn("cannot hand over the leadership: this server goes on leading", zap.Error(err))
		l.tell(peers.PacketUnhold)
		l.handing = nil
	}
}
