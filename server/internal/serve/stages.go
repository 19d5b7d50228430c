package serve

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/stages"
	"github.com/seed94657493/warren/server/internal/topk"
)

// What package stages is told of the requests of clients.

// followedMax bounds the operations of a connection whose replies wait for the socket.
const followedMax = 256

// largeAnswer is how many bytes wait for the socket when a read is followed although it was fast.
const largeAnswer = 64 << 10

// measure gives the write of an item to the stages, if it may be slow or is traced. The batch is applied and answered
// at now. oldest is whether the item is the oldest of its batch that is answered.
func (s *Front) measure(b *flow.ApplyBatch, it *flow.Item, now int64, oldest bool) {
	c, r := connOf(it), s.Stages
	if c == nil || it.Drop {
		return
	}
	sampled := r.Samples(it.Session.ID, it.Xid)
	followed := sampled || r.Suspects(now-it.Received) || c.stuck.Load()
	if !followed && !oldest {
		return
	}
	if !followed {
		var o stages.Operation
		o.Reset(stages.Whole, it.Op, it.Session.ID, it.Xid, it.Received)
		cut(&o, b, it, now)
		r.Observe(&o)
		return
	}
	o := stages.Begin(stages.Whole, it.Op, it.Session.ID, it.Xid, it.Received)
	o.Sampled = sampled
	cut(o, b, it, now)
	if oldest {
		r.Observe(o)
	}
	o.SetPath(firstPath(it.Payload))
	c.mu.Lock()
	c.follow(o)
	c.mu.Unlock()
}

// cut ends the stages of a write, up to its application at now.
func cut(o *stages.Operation, b *flow.ApplyBatch, it *flow.Item, now int64) {
	o.End(stages.Queue, it.Taken)
	way, rest := stages.Prepare, stages.Quorum
	if it.Forwarded {
		way, rest = stages.Forward, stages.Forward
	}
	switch {
	case it.Payload == nil: // a sync or a refusal, which has its place between txns
		o.Err = it.Err
		if it.Taken != 0 {
			o.End(rest, now)
		}
	default:
		cutAgreement(o, b, it, way, rest)
	}
	o.End(stages.Apply, now)
}

// cutAgreement ends the stages of a txn up to its commitment: way leads to the log, rest is the one stage if nothing
// is known of the log.
func cutAgreement(o *stages.Operation, b *flow.ApplyBatch, it *flow.Item, way, rest stages.Stage) {
	o.Zxid = flow.HeaderOf(it.Payload).Zxid
	if leg := b.LegOf(o.Zxid); leg.Asked != 0 {
		o.End(way, leg.Asked)
		if leg.Logged != 0 {
			o.End(stages.Sync, leg.Logged)
		}
		rest = stages.Quorum
	}
	o.End(rest, b.Agreed)
}

// measureRemote gives the part of a leader in the request of a learner to the traces.
func (s *Front) measureRemote(b *flow.ApplyBatch, it *flow.Item) {
	r := s.Stages
	if it.Received == 0 || it.Taken == 0 || it.Payload == nil || it.Session != nil {
		return // not a request of a learner
	}
	session, xid := flow.SenderOf(it.Payload)
	sampled := r.Samples(session, xid)
	if !sampled && !r.Suspects(b.Agreed-it.Received) {
		return
	}
	o := stages.Begin(stages.Led, it.Op, session, xid, it.Received)
	o.Sampled = sampled
	o.End(stages.Queue, it.Taken)
	cutAgreement(o, b, it, stages.Prepare, stages.Quorum)
	r.Done(o)
}

// firstPath is the path of a txn, of a multi the first one; nil if there is none.
func firstPath(payload []byte) []byte {
	if payload == nil {
		return nil
	}
	r := proto.NewReader(payload)
	var h proto.TxnHeader
	h.Decode(&r)
	op := h.Type
	if op == proto.OpMulti {
		if r.Int32() < 1 { // number of operations
			return nil
		}
		op = proto.OpCode(r.Int32())
		r = proto.NewReader(r.Buffer())
	}
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete,
		proto.OpDeleteContainer, proto.OpSetData, proto.OpSetACL, proto.OpCheck, proto.OpReconfig:
		if path := r.Text(); r.Err() == nil {
			return path
		}
	}
	return nil
}

// measureRead gives a read that took from received to now to the stages, if it may be slow or is traced. Its execution
// began at began. REQUIRES: Conn.mu, and that its reply is in the output.
func (c *Conn) measureRead(q *request, received, began, now int64, sampled bool) {
	o := stages.Begin(stages.Whole, q.op, c.sessionID(), q.xid, received)
	o.Sampled = sampled
	o.End(stages.Queue, began)
	o.End(stages.Apply, now)
	var room [1][]byte
	if all := topk.PathsOf(room[:0], q.op, q.body); len(all) > 0 {
		o.SetPath(all[0])
	}
	c.follow(o)
}

// measureReads looks at the reads of a tally, which were received at received. REQUIRES: Conn.mu.
func (c *Conn) measureReads(t *tally, received, now int64) {
	r, q := c.srv.Stages, &t.first
	if t.executed > 0 && q.op != proto.OpPing && q.op != 0 && (r.Suspects(now-received) ||
		c.stuck.Load() || c.mu.out.waiting() >= largeAnswer && r != nil) {
		c.measureRead(q, received, min(t.begun+t.waited, now), now, false)
	}
}

// sampledRead executes a read that may be traced. REQUIRES: as Front.execute.
func (c *Conn) sampledRead(q *request, received int64) {
	began := c.srv.Clock.Now()
	c.srv.execute(c, q)
	if c.srv.Stages.MayTraceRead(began) {
		c.measureRead(q, received, began, c.srv.Clock.Now(), true)
	}
}

// runRead executes a read that has waited in the queue since received. now is when the queue began to run, 0 if that
// is not measured. REQUIRES: as Front.execute.
func (c *Conn) runRead(q *request, received, now int64) {
	if r := c.srv.Stages; r.Samples(c.sessionID(), q.xid) {
		c.sampledRead(q, received)
		return
	}
	c.srv.execute(c, q)
	if c.srv.Stages.Suspects(now - received) {
		c.measureRead(q, received, now, c.srv.Clock.Now(), false)
	}
}

// follow gives an operation to the stages when the output so far is handed to the socket. REQUIRES: Conn.mu.
func (c *Conn) follow(o *stages.Operation) {
	out := &c.mu.out
	if o.Mark = out.handed + int64(out.taken+out.waiting()); o.Mark <= out.handed || out.dead ||
		c.mu.followed.Len() >= followedMax {
		c.handed(o)
		return
	}
	c.mu.followed.Push(o)
}

// handed ends the last stage of an operation.
func (c *Conn) handed(o *stages.Operation) {
	o.End(stages.Socket, c.srv.Clock.Now())
	c.srv.Stages.Done(o)
}

// handedOn ends the operations whose replies were handed to the socket. REQUIRES: Conn.mu.
func (c *Conn) handedOn() {
	for f := &c.mu.followed; f.Len() > 0 && (*f.Front()).Mark <= c.mu.out.handed; f.Pop() {
		c.handed(*f.Front())
	}
}
