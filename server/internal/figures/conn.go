package figures

import "github.com/seed94657493/warren/proto"

// Ms converts ns to ms.
func Ms(ns int64) int64 { return ns / 1e6 }

// Conn holds the figures of one connection, as cons shows them. It has no lock: its connection guards it.
type Conn struct {
	Received, Sent int64 // frames
	LastOp         proto.OpCode
	LastXid        int32
	LastZxid       proto.Zxid
	LastResponse   int64 // ns on the server's clock

	// Latency of answered requests, ms.
	LastLatency, MinLatency, MaxLatency int64
	LatencySum                          int64
	AnsweredTotal                       int64

	// Figures that Server.Publish has not taken yet.
	replies      SizeRange
	bytesReplies int64
	bytesEvents  int64
}

// Reset does what crst asks for. Figures that were not published stay.
func (cs *Conn) Reset(now int64) {
	*cs = Conn{LastXid: -1, LastResponse: now, replies: cs.replies, bytesReplies: cs.bytesReplies,
		bytesEvents: cs.bytesEvents}
}

// Account notes packets that were received, of which executed were answered at once, within took ns.
func (cs *Conn) Account(packets, executed, took, now int64) {
	cs.Received += packets
	if executed > 0 {
		cs.observe(Ms(took), executed, now)
	}
}

// Replied notes a reply. LastXid stays as it is if xid is negative, as that of a ping is.
func (cs *Conn) Replied(op proto.OpCode, xid int32, zxid proto.Zxid) {
	cs.Sent++
	cs.LastOp, cs.LastZxid = op, zxid
	if xid >= 0 {
		cs.LastXid = xid
	}
}

// Answered notes the reply to a write. received and now are ns on the server's clock.
func (cs *Conn) Answered(op proto.OpCode, xid int32, zxid proto.Zxid, received, now int64) {
	cs.Replied(op, xid, zxid)
	cs.observe(Ms(now-received), 1, now)
}

// observe notes n requests that took ms each.
func (cs *Conn) observe(ms, n, now int64) {
	if cs.AnsweredTotal == 0 || ms < cs.MinLatency {
		cs.MinLatency = ms
	}
	cs.MaxLatency = max(cs.MaxLatency, ms)
	cs.LastLatency = ms
	cs.LatencySum += ms * n
	cs.AnsweredTotal += n
	cs.LastResponse = now
}

// Responded notes that a reply to a request takes n bytes. ZooKeeper does not count the length in front of it.
func (cs *Conn) Responded(n int) {
	n -= lengthBytes
	cs.replies.Add(int64(n))
	cs.bytesReplies += int64(n)
}

// lengthBytes is the length before every frame.
const lengthBytes = 4

// EventSent notes a watch event of n bytes, the length in front of it included.
func (cs *Conn) EventSent(n int) {
	cs.Sent++
	cs.bytesEvents += int64(n - lengthBytes)
}
