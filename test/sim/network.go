package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// end is one side of a connection between a learner and its leader.
type end struct {
	n       *node
	life    int
	id      zab.LinkID
	peer    *end // the other side
	dead    bool // this side hears nothing more: closed by it, or reported down to it
	silent  bool // what is on its way from this side is lost
	lastAt  int64
	waiting []func() // what is sent while the direction is stalled

	loaded     []zab.Txn // the state that SNAP brought
	hasLoaded  bool
	lastCommit proto.Zxid // of COMMIT or INFORM on it

	watcher stream // of what this side sends
}

// network moves messages. stalled[a][b] stops everything from a to b for a while; nothing is lost by that.
type network struct {
	stalled map[[2]proto.ServerID]bool
	elect   map[[2]proto.ServerID]*channel
	slow    int64 // time units more for each message
	of      *Sim
}

// channel is one direction of the election channel.
type channel struct {
	lastAt int64
	slot   *zab.Message // newest message while stalled
	last   *zab.Message // last one ever sent: an old one may be repeated
	anew   bool         // the other side was started anew while the direction was stalled
}

func (w *network) init(s *Sim) {
	w.of = s
	w.stalled, w.elect = map[[2]proto.ServerID]bool{}, map[[2]proto.ServerID]*channel{}
}

func (w *network) delay(s *Sim) int64 {
	d := s.between(5, 60) + w.slow
	if s.chance(50) {
		d += s.between(0, 2000)
	}
	return d
}

// send puts a message on its way.
func (w *network) send(n *node, m zab.Message) {
	if m.Link == 0 {
		n.s.Stats.Notified++
		w.elects(n, m)
		return
	}
	e := n.end(m.Link)
	if e == nil || e.dead {
		return
	}
	if m.Type == zab.Replay {
		w.replay(n, e, m)
		return
	}
	if m.Type == zab.Snap {
		w.stream(n, e, m)
		return
	}
	w.transmit(e, m, nil)
}

// transmit sends on a connection: in order, after everything sent before. do is what the receiver does first.
func (w *network) transmit(e *end, m zab.Message, do func(to *end)) {
	s := e.n.s
	s.tracef("%d -> %d %v", e.n.id, m.To, describe(&m))
	if e.n.plain || e.peer.n.plain {
		speakPlainly(&m)
	}
	e.watcher.sent(s, e, &m)
	run := e.n.run
	w.queue(e, func() {
		to := e.peer
		if !to.n.up || to.n.life != to.life {
			return
		}
		m.Link = to.id
		if to.dead { // a host may hand over late what had been read before the end; the core is to refuse it
			if s.chance(2) {
				to.n.core.Step(m)
				to.n.drain()
			}
			return
		}
		if do != nil {
			do(to)
		}
		switch m.Type {
		case zab.Commit, zab.Activate:
			to.lastCommit = m.Zxid
		case zab.Inform, zab.InformActive:
			to.lastCommit = m.Txns[len(m.Txns)-1].Zxid
		case zab.SyncReply:
			to.n.deferSync(to, m.Token)
		}
		switch m.Type {
		case zab.UpToDate:
			to.n.restored()
		case zab.Diff, zab.Trunc, zab.Snap, zab.NewLeader:
			to.n.offered = run
		}
		to.n.core.Step(m)
		to.n.drain()
		if m.Type == zab.NewLeader && to.n.plain && !to.dead && e.watcher.diffed > 0 {
			// Java followers of some versions acknowledge the txns of DIFF, and before NEWLEADER (B2, B6).
			w.queue(to, func() {
				if !e.dead && e.n.up && e.n.life == e.life {
					e.n.core.Step(zab.Message{Type: zab.Ack, From: to.n.id, To: e.n.id, Link: e.id,
						Zxid: e.watcher.diffed})
					e.n.drain()
				}
			})
		}
		s.faults.edge(s, e, to, &m)
	})
}

// speakPlainly removes what a server in Java does not say, or does not understand.
func speakPlainly(m *zab.Message) {
	m.Warren, m.Active, m.Lineage, m.Refused, m.Final, m.Summed, m.Whole = false, nil, nil, false, false, false, false
}

// queue runs do after everything queued on this side of the connection before.
func (w *network) queue(e *end, do func()) {
	s := e.n.s
	if w.stalled[[2]proto.ServerID{e.n.id, e.peer.n.id}] || len(e.waiting) > 0 {
		e.waiting = append(e.waiting, do)
		return
	}
	e.lastAt = max(e.lastAt, s.now+w.delay(s))
	s.at(e.lastAt, func() {
		if !e.silent {
			do()
		}
	})
}

// replay does the duty of a leader: PROPOSAL and COMMIT for each txn of the log, or the end of the connection.
func (w *network) replay(n *node, e *end, m zab.Message) {
	s := n.s
	s.Stats.Replays++
	d := &n.disk
	from, to := len(upTo(d.history, m.After)), len(upTo(d.history, m.Zxid))
	if from < d.logFrom || lastOf(d.history[:to]) != m.Zxid {
		s.tracef("%d cannot replay (%v, %v]", n.id, m.After, m.Zxid)
		w.abort(e)
		return
	}
	for _, t := range d.history[from:to] {
		w.transmit(e, zab.Message{Type: zab.Proposal, From: n.id, To: m.To, Link: m.Link, Txns: []zab.Txn{t}}, nil)
		w.transmit(e, zab.Message{Type: zab.Commit, From: n.id, To: m.To, Link: m.Link, Zxid: t.Zxid}, nil)
	}
}

// stream sends the state as it is when the stream ends, which may be later than SNAP says, and reports that end.
func (w *network) stream(n *node, e *end, m zab.Message) {
	s, life := n.s, n.life
	s.Stats.Snaps++
	s.after(s.between(10, 3000), func() {
		if !n.up || n.life != life || e.dead {
			return
		}
		state := n.state[:len(n.state):len(n.state)]
		w.transmit(e, m, func(to *end) { to.loaded, to.hasLoaded = state, true })
		n.core.Streamed(e.id, lastOf(state))
		n.drain()
	})
}

// dial connects to a port of a server.
func (w *network) dial(n *node, d zab.Dial) {
	s, life := n.s, n.life
	target := s.node(d.Peer)
	a := &end{n: n, life: life, id: d.Link}
	n.ends = append(n.ends, a)
	refuse := func(delay int64) {
		s.after(delay, func() { w.down(a) })
	}
	if w.stalled[[2]proto.ServerID{n.id, d.Peer}] || w.stalled[[2]proto.ServerID{d.Peer, n.id}] {
		refuse(s.between(2000, 8000))
		return
	}
	s.after(w.delay(s), func() {
		if !n.up || n.life != life || a.dead {
			return
		}
		if !target.up {
			refuse(s.between(5, 60))
			return
		}
		id := target.core.Accept(d.Port)
		if id == 0 {
			refuse(s.between(5, 60))
			return
		}
		b := &end{n: target, life: target.life, id: id, peer: a}
		a.peer = b
		target.ends = append(target.ends, b)
		w.queue(b, func() {
			if !a.dead && n.up && n.life == life {
				n.core.LinkUp(a.id)
				n.drain()
			}
		})
	})
}

func (n *node) end(id zab.LinkID) *end {
	for _, e := range n.ends {
		if e.id == id {
			return e
		}
	}
	return nil
}

// down reports the end of a connection to one side.
func (w *network) down(e *end) {
	if e.dead || !e.n.up || e.n.life != e.life {
		return
	}
	w.forget(e)
	e.n.core.LinkDown(e.id)
	e.n.drain()
}

func (w *network) forget(e *end) {
	e.dead = true
	e.n.ends = slices.DeleteFunc(e.n.ends, func(o *end) bool { return o == e })
}

// close is an orderly end: the other side hears of it after all that was sent.
func (w *network) close(n *node, id zab.LinkID) {
	e := n.end(id)
	if e == nil {
		return
	}
	w.forget(e)
	if e.peer != nil {
		w.queue(e, func() { w.down(e.peer) })
	}
}

// abort is the end of a connection that its own side cannot go on with: nothing follows what was sent, and the core of
// that side hears of the end a little later.
func (w *network) abort(e *end) {
	n, life := e.n, e.life
	w.close(n, e.id)
	n.s.after(n.s.between(1, 300), func() {
		if n.up && n.life == life {
			n.core.LinkDown(e.id)
			n.drain()
		}
	})
}

// cut breaks a connection: what is on its way is lost from some point on, and each side hears of it at its own time,
// or by silence only. It may be cut again.
func (w *network) cut(e *end) {
	s := e.n.s
	s.Stats.Cuts++
	for _, side := range []*end{e, e.peer} {
		if side == nil || side.dead {
			continue
		}
		if s.chance(4) {
			side.silent = true // half closed: the other side hears nothing forever, and this one does not know
			continue
		}
		side.silent = s.chance(2) || side.silent // bytes after lost ones never arrive
		s.after(s.between(1, 300), func() { w.down(side) })
	}
}

// crashed ends all connections of a process.
func (w *network) crashed(n *node) {
	for _, e := range slices.Clone(n.ends) {
		e.dead = true
		if e.peer != nil {
			p := e.peer
			n.s.after(n.s.between(1, 400), func() { w.down(p) })
		}
	}
}

// elects sends a notification, or another message of the election channel.
func (w *network) elects(n *node, m zab.Message) {
	s := n.s
	key := [2]proto.ServerID{n.id, m.To}
	ch := w.channel(key)
	s.tracef("%d ~> %d %v", n.id, m.To, describe(&m))
	if n.plain || s.node(m.To).plain {
		speakPlainly(&m)
	}
	ch.last = &m
	if w.stalled[key] {
		ch.slot = &m
		return
	}
	w.carry(ch, m)
}

func (w *network) channel(key [2]proto.ServerID) *channel {
	ch := w.elect[key]
	if ch == nil {
		ch = &channel{}
		w.elect[key] = ch
	}
	return ch
}

func (w *network) carry(ch *channel, m zab.Message) {
	s := w.of
	ch.lastAt = max(ch.lastAt, s.now+w.delay(s))
	s.at(ch.lastAt, func() {
		if to := s.node(m.To); to.up {
			to.core.Step(m)
			to.drain()
		}
	})
}

// restarted connects the election channels of a process: others may repeat what they said last, however old.
func (w *network) restarted(n *node) {
	s := n.s
	for _, o := range s.nodes {
		if o == n || !o.up {
			continue
		}
		key := [2]proto.ServerID{o.id, n.id}
		ch := w.channel(key)
		if w.stalled[key] {
			ch.anew = true
			continue
		}
		if ch.last != nil && s.chance(2) {
			w.carry(ch, *ch.last)
		}
		w.connected(o, n)
	}
}

// silence forgets what was said to a server that loses its disk because it has left: nobody repeats it. Otherwise an
// old notification may tell it of a configuration of which it was the only voter. It believes that, and waits for
// itself.
func (w *network) silence(n *node) {
	for key, ch := range w.elect {
		if key[1] == n.id {
			ch.last, ch.slot = nil, nil
		}
	}
}

// connected tells a server that its election channel to another one is new.
func (w *network) connected(o, n *node) {
	if o.up && n.up {
		o.core.PeerUp(n.id)
		o.drain()
	}
}

// stall stops, or lets go, everything from a to b.
func (w *network) stall(a, b proto.ServerID, stop bool) {
	s := w.of
	key := [2]proto.ServerID{a, b}
	if stop {
		w.stalled[key] = true
		return
	}
	delete(w.stalled, key)
	for _, e := range slices.Clone(s.node(a).ends) {
		if e.peer == nil || e.peer.n.id != b {
			continue
		}
		waiting := e.waiting
		e.waiting = nil
		for _, do := range waiting {
			w.queue(e, do)
		}
	}
	if ch := w.elect[key]; ch != nil && ch.slot != nil {
		m := *ch.slot
		ch.slot = nil
		w.carry(ch, m)
	}
	if ch := w.channel(key); ch.anew {
		ch.anew = false
		w.connected(s.node(a), s.node(b))
	}
}
