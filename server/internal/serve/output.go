package serve

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

// AppendHeaderReply appends a reply without a body.
func AppendHeaderReply(b []byte, xid int32, zxid proto.Zxid, err proto.ErrCode) []byte {
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
	// OutputPause is how much may wait before no further request of the connection is served.
	OutputPause = 1 << 20
	// outputLimit is how much may wait before the connection is closed. Only watch events get
	// there, since they are neither delayed nor dropped: the client has to come back and ask
	// what it missed.
	outputLimit = 256 << 20
	// UndeliveredMax is how much may wait for all clients together, beyond OutputPause for each, before one that waits for more is
	// closed. Replies get there that are larger than OutputPause, and watch events.
	UndeliveredMax = 512 << 20
	// OutputChunk is the size of a buffer to which no event is added any more: a new one costs less than to copy what waits already.
	OutputChunk = 256 << 10
	// SharedEvent is the size from which on an event is kept once for all who watch.
	SharedEvent = 4 << 10
	// outputKept is the largest buffer a connection keeps for reuse.
	outputKept = 64 << 10
	// lingerTimeout is how long a connection that the server ends is still read, and the input
	// dropped, so that unread input does not turn the close into a reset that destroys the last reply.
	lingerTimeout = time.Second
)

// Output is the part of conn that is to be sent. Guarded by conn.mu.
type Output struct {
	full    [][]byte // not yet taken for writing, and not added to any more; may belong to others, too
	Buf     []byte   // not yet taken for writing, behind full
	spare   []byte   // the buffer that was written last, for reuse
	Writing bool     // somebody is in flush or drain
	Closing bool     // end the connection when everything is written
	Dead    bool     // the socket is closed: output is dropped

	finished bool // finish was called

	fullBytes   int   // length of full
	Own         bool  // the buffer that is being written may be reused
	Taken       int   // length of the buffer that is being written
	undelivered int64 // of buf and taken, as Server.undelivered counts them
}

// open reports whether something may be added: nothing follows what the connection ends with. REQUIRES: conn.mu.
func (o *Output) open() bool { return !o.Dead && !o.Closing }

// Waiting is how many bytes are not yet taken for writing. REQUIRES: conn.mu.
func (o *Output) Waiting() int { return o.fullBytes + len(o.Buf) }

// pauses reports whether so much waits that no further request is served. REQUIRES: conn.mu.
func (o *Output) pauses() bool { return o.Waiting() >= OutputPause }

// AddEvent adds an event. If it is shared, it is never changed. REQUIRES: conn.mu.
func (o *Output) AddEvent(event []byte, shared bool) {
	if shared {
		o.put(o.Buf)
		o.Buf = nil
		o.put(event)
		return
	}
	o.seal()
	o.Buf = append(o.Buf, event...)
}

// seal begins a new buffer if the last is large. REQUIRES: conn.mu.
func (o *Output) seal() {
	if len(o.Buf) >= OutputChunk {
		o.put(o.Buf)
		o.Buf = make([]byte, 0, OutputChunk)
	}
}

// put adds a buffer that is not added to any more. REQUIRES: conn.mu.
func (o *Output) put(b []byte) {
	if len(b) > 0 {
		o.full = append(o.full, b)
		o.fullBytes += len(b)
	}
}

// Next takes the buffer that is to be written next, empty if there is none. REQUIRES: conn.mu.
func (o *Output) Next() (b []byte) {
	if o.Own = len(o.full) == 0; o.Own {
		b, o.Buf, o.spare = o.Buf, o.spare[:0], nil
	} else {
		b, o.full[0] = o.full[0], nil
		o.full = o.full[1:]
		o.fullBytes -= len(b)
	}
	o.Taken = len(b)
	return b
}

// Flush writes what is to be sent as far as the socket takes it now.
func (c *Conn) Flush() {
	c.Mu.Lock()
	for !c.Mu.Out.Writing && !c.Mu.Out.Dead && !c.Mu.Out.finished {
		if c.Mu.Out.Waiting() == 0 {
			break
		}
		buf := c.Mu.Out.Next()
		c.Mu.Out.Writing = true
		c.srv.Stats.Publish(&c.Mu.stats)
		c.Mu.Unlock()
		n, err := c.writeNow(buf)
		if err != nil {
			c.Abort()
			return
		}
		if n < len(buf) {
			if !c.srv.Spawn("drain", func() { c.drain(buf[n:], buf) }) {
				c.Abort()
			}
			return
		}
		c.Mu.Lock()
		c.written(buf)
	}
	if c.Mu.Out.Closing && !c.Mu.Out.Writing && !c.Mu.Out.Dead {
		c.finish()
	}
	c.Mu.Unlock()
}

// written takes back a buffer that is written.
// REQUIRES: c.mu.
func (c *Conn) written(buf []byte) {
	c.Mu.Out.Writing, c.Mu.Out.Taken = false, 0
	_ = c.countUndelivered() // it is less now
	if c.Mu.Out.Own && cap(buf) <= outputKept {
		c.Mu.Out.spare = buf[:0]
	}
	c.wakeReader()
	c.help()
}

// drain writes rest, the end of buf, and everything that is added meanwhile, as long as the
// client takes something within its timeout.
func (c *Conn) drain(rest, buf []byte) {
	for {
		for len(rest) > 0 {
			_ = c.NC.SetWriteDeadline(c.srv.Clock.In(c.writeTimeout()))
			n, err := c.NC.Write(c.portion(rest))
			rest = rest[n:]
			if err != nil && n == 0 {
				c.Abort()
				return
			}
		}
		_ = c.NC.SetWriteDeadline(time.Time{}) // it would hold for writeNow, too, when it has passed
		c.Mu.Lock()
		c.written(buf)
		if c.Mu.Out.Waiting() == 0 || c.Mu.Out.Dead {
			if c.Mu.Out.Closing && !c.Mu.Out.Dead {
				c.finish()
			}
			c.Mu.Unlock()
			return
		}
		buf = c.Mu.Out.Next()
		c.Mu.Out.Writing = true
		rest = buf
		c.Mu.Unlock()
	}
}

// writeNow writes without waiting and returns how much the socket took. Only whoever has set
// writing may call it.
func (c *Conn) writeNow(b []byte) (int, error) {
	if c.raw == nil || c.Secure != nil {
		return 0, nil // not a plain socket: drain may wait for it
	}
	return c.now.WriteNow(c.raw, b)
}

// countUndelivered keeps undelivered, and reports false if the client has to go: it takes too little of too much, while all together take
// too little. REQUIRES: c.mu.
func (c *Conn) countUndelivered() bool {
	o := &c.Mu.Out
	n := int64(max(0, o.Waiting()+o.Taken-OutputPause))
	if o.Dead {
		n = 0
	}
	if n == o.undelivered {
		return true
	}
	total := c.srv.Undelivered.Add(n - o.undelivered)
	o.undelivered = n
	return n == 0 || total <= UndeliveredMax
}

// finish ends the connection so that what was written still arrives: the write side now, the
// read side when the reader has seen the client's end or its deadline.
//
// REQUIRES: c.mu.
func (c *Conn) finish() {
	if c.Mu.Out.finished {
		return
	}
	c.Mu.Out.finished = true
	c.wakeReader()
	_ = c.NC.SetReadDeadline(c.srv.Clock.In(lingerTimeout))
	if t, ok := c.NC.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
		return
	}
	_ = c.NC.Close()
}

// Abort closes the socket at once. The reader sees it and cleans up.
func (c *Conn) Abort() {
	c.Mu.Lock()
	c.Mu.Out.Dead = true
	c.Mu.Out.full, c.Mu.Out.fullBytes, c.Mu.Out.Buf, c.Mu.Out.spare = nil, 0, nil, nil
	_ = c.countUndelivered() // it is nothing now
	c.forget()
	c.wakeReader()
	c.Mu.Unlock()
	_ = c.NC.Close()
}

// Shut ends the connection when everything added so far is sent.
func (c *Conn) Shut() {
	c.Mu.Lock()
	c.Mu.Out.Closing = true
	if !c.Mu.Out.Writing && c.Mu.Out.Waiting() == 0 && !c.Mu.Out.Dead {
		c.finish()
	}
	c.Mu.Unlock()
}

// writeTimeout is how long a client may take nothing of what is sent to it.
func (c *Conn) writeTimeout() time.Duration {
	if s := c.Session.Load(); s != nil {
		return s.Timeout()
	}
	return c.srv.Config.SessionlessTimeout
}
