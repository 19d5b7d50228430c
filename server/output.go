package server

import (
	"encoding/binary"
	"time"

	"github.com/seed94657493/warren/proto"
)

// replyPrefix is the frame length and the ReplyHeader before the body of a reply.
const replyPrefix = 4 + proto.ReplyHeaderSize

// beginReply leaves room for the prefix of a reply whose body is appended next.
func beginReply(b []byte) []byte {
	var room [replyPrefix]byte
	return append(b, room[:]...)
}

// endReply fills in the prefix that beginReply left at start.
func endReply(b []byte, start int, xid int32, zxid proto.Zxid, err proto.ErrCode) {
	endReplyOf(b, start, 0, xid, zxid, err)
}

// endReplyOf is endReply for a reply of which more bytes follow elsewhere.
func endReplyOf(b []byte, start, more int, xid int32, zxid proto.Zxid, err proto.ErrCode) {
	p := b[start : start+replyPrefix]
	binary.BigEndian.PutUint32(p, uint32(len(b)-start-4+more))
	binary.BigEndian.PutUint32(p[4:], uint32(xid))
	binary.BigEndian.PutUint64(p[8:], uint64(zxid))
	binary.BigEndian.PutUint32(p[16:], uint32(err))
}

// appendHeaderReply appends a reply without a body.
func appendHeaderReply(b []byte, xid int32, zxid proto.Zxid, err proto.ErrCode) []byte {
	start := len(b)
	b = beginReply(b)
	endReply(b, start, xid, zxid, err)
	return b
}

// Output of one connection. Whoever adds to it flushes it afterwards, without holding a lock:
// flush writes as much as the socket takes at once, and only if that is not all does a goroutine
// of its own (drain) wait for the socket. So neither the applier nor another client ever waits
// for a slow reader, and in the usual case nobody is woken.

// Bounds of what waits to be sent to one client.
const (
	// outputPause is how much may wait before no further request of the connection is served.
	outputPause = 1 << 20
	// outputLimit is how much may wait before the connection is closed. Only watch events get
	// there, since they are neither delayed nor dropped: the client has to come back and ask
	// what it missed.
	outputLimit = 256 << 20
	// undeliveredMax is how much may wait for all clients together, beyond outputPause for each, before one that waits for more is
	// closed. Replies get there that are larger than outputPause, and watch events.
	undeliveredMax = 512 << 20
	// outputChunk is the size of a buffer to which no event is added any more: a new one costs less than to copy what waits already.
	outputChunk = 256 << 10
	// sharedEvent is the size from which on an event is kept once for all who watch.
	sharedEvent = 4 << 10
	// outputKept is the largest buffer a connection keeps for reuse.
	outputKept = 64 << 10
	// lingerTimeout is how long a connection that the server ends is still read, and the input
	// dropped, so that unread input does not turn the close into a reset that destroys the last reply.
	lingerTimeout = time.Second
)

// output is the part of conn that is to be sent. Guarded by conn.mu.
type output struct {
	full    [][]byte // not yet taken for writing, and not added to any more; may belong to others, too
	buf     []byte   // not yet taken for writing, behind full
	spare   []byte   // the buffer that was written last, for reuse
	writing bool     // somebody is in flush or drain
	closing bool     // end the connection when everything is written
	dead    bool     // the socket is closed: output is dropped

	finished bool // finish was called

	fullBytes   int   // length of full
	own         bool  // the buffer that is being written may be reused
	taken       int   // length of the buffer that is being written
	undelivered int64 // of buf and taken, as Server.undelivered counts them
}

// open reports whether something may be added: nothing follows what the connection ends with. REQUIRES: conn.mu.
func (o *output) open() bool { return !o.dead && !o.closing }

// waiting is how many bytes are not yet taken for writing. REQUIRES: conn.mu.
func (o *output) waiting() int { return o.fullBytes + len(o.buf) }

// pauses reports whether so much waits that no further request is served. REQUIRES: conn.mu.
func (o *output) pauses() bool { return o.waiting() >= outputPause }

// addEvent adds an event. If it is shared, it is never changed. REQUIRES: conn.mu.
func (o *output) addEvent(event []byte, shared bool) {
	if shared {
		o.put(o.buf)
		o.buf = nil
		o.put(event)
		return
	}
	o.seal()
	o.buf = append(o.buf, event...)
}

// seal begins a new buffer if the last is large. REQUIRES: conn.mu.
func (o *output) seal() {
	if len(o.buf) >= outputChunk {
		o.put(o.buf)
		o.buf = make([]byte, 0, outputChunk)
	}
}

// put adds a buffer that is not added to any more. REQUIRES: conn.mu.
func (o *output) put(b []byte) {
	if len(b) > 0 {
		o.full = append(o.full, b)
		o.fullBytes += len(b)
	}
}

// next takes the buffer that is to be written next, empty if there is none. REQUIRES: conn.mu.
func (o *output) next() (b []byte) {
	if o.own = len(o.full) == 0; o.own {
		b, o.buf, o.spare = o.buf, o.spare[:0], nil
	} else {
		b, o.full[0] = o.full[0], nil
		o.full = o.full[1:]
		o.fullBytes -= len(b)
	}
	o.taken = len(b)
	return b
}

// flush writes what is to be sent as far as the socket takes it now.
func (c *conn) flush() {
	c.mu.Lock()
	for !c.mu.out.writing && !c.mu.out.dead && !c.mu.out.finished {
		if c.mu.out.waiting() == 0 {
			break
		}
		buf := c.mu.out.next()
		c.mu.out.writing = true
		c.srv.stats.Publish(&c.mu.stats)
		c.mu.Unlock()
		n, err := c.writeNow(buf)
		if err != nil {
			c.Abort()
			return
		}
		if n < len(buf) {
			if !c.srv.start("drain", func() { c.drain(buf[n:], buf) }) {
				c.Abort()
			}
			return
		}
		c.mu.Lock()
		c.written(buf)
	}
	if c.mu.out.closing && !c.mu.out.writing && !c.mu.out.dead {
		c.finish()
	}
	c.mu.Unlock()
}

// written takes back a buffer that is written.
// REQUIRES: c.mu.
func (c *conn) written(buf []byte) {
	c.mu.out.writing, c.mu.out.taken = false, 0
	_ = c.countUndelivered() // it is less now
	if c.mu.out.own && cap(buf) <= outputKept {
		c.mu.out.spare = buf[:0]
	}
	c.wakeReader()
	c.help()
}

// drain writes rest, the end of buf, and everything that is added meanwhile, as long as the
// client takes something within its timeout.
func (c *conn) drain(rest, buf []byte) {
	for {
		for len(rest) > 0 {
			_ = c.nc.SetWriteDeadline(c.srv.clock.in(c.writeTimeout()))
			n, err := c.nc.Write(c.portion(rest))
			rest = rest[n:]
			if err != nil && n == 0 {
				c.Abort()
				return
			}
		}
		_ = c.nc.SetWriteDeadline(time.Time{}) // it would hold for writeNow, too, when it has passed
		c.mu.Lock()
		c.written(buf)
		if c.mu.out.waiting() == 0 || c.mu.out.dead {
			if c.mu.out.closing && !c.mu.out.dead {
				c.finish()
			}
			c.mu.Unlock()
			return
		}
		buf = c.mu.out.next()
		c.mu.out.writing = true
		rest = buf
		c.mu.Unlock()
	}
}

// writeNow writes without waiting and returns how much the socket took. Only whoever has set
// writing may call it.
func (c *conn) writeNow(b []byte) (int, error) {
	if c.raw == nil || c.secure != nil {
		return 0, nil // not a plain socket: drain may wait for it
	}
	return c.now.WriteNow(c.raw, b)
}

// countUndelivered keeps undelivered, and reports false if the client has to go: it takes too little of too much, while all together take
// too little. REQUIRES: c.mu.
func (c *conn) countUndelivered() bool {
	o := &c.mu.out
	n := int64(max(0, o.waiting()+o.taken-outputPause))
	if o.dead {
		n = 0
	}
	if n == o.undelivered {
		return true
	}
	total := c.srv.undelivered.Add(n - o.undelivered)
	o.undelivered = n
	return n == 0 || total <= undeliveredMax
}

// finish ends the connection so that what was written still arrives: the write side now, the
// read side when the reader has seen the client's end or its deadline.
//
// REQUIRES: c.mu.
func (c *conn) finish() {
	if c.mu.out.finished {
		return
	}
	c.mu.out.finished = true
	c.wakeReader()
	_ = c.nc.SetReadDeadline(c.srv.clock.in(lingerTimeout))
	if t, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
		return
	}
	_ = c.nc.Close()
}

// Abort closes the socket at once. The reader sees it and cleans up.
func (c *conn) Abort() {
	c.mu.Lock()
	c.mu.out.dead = true
	c.mu.out.full, c.mu.out.fullBytes, c.mu.out.buf, c.mu.out.spare = nil, 0, nil, nil
	_ = c.countUndelivered() // it is nothing now
	c.forget()
	c.wakeReader()
	c.mu.Unlock()
	_ = c.nc.Close()
}

// shut ends the connection when everything added so far is sent.
func (c *conn) shut() {
	c.mu.Lock()
	c.mu.out.closing = true
	if !c.mu.out.writing && c.mu.out.waiting() == 0 && !c.mu.out.dead {
		c.finish()
	}
	c.mu.Unlock()
}

// writeTimeout is how long a client may take nothing of what is sent to it.
func (c *conn) writeTimeout() time.Duration {
	if s := c.session.Load(); s != nil {
		return s.Timeout()
	}
	return c.srv.cfg.SessionlessTimeout
}
