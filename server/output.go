package server

import (
	"encoding/binary"
	"syscall"
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
	p := b[start : start+replyPrefix]
	binary.BigEndian.PutUint32(p, uint32(len(b)-start-4))
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
	// outputKept is the largest buffer a connection keeps for reuse.
	outputKept = 64 << 10
	// lingerTimeout is how long a connection that the server ends is still read, and the input
	// dropped, so that unread input does not turn the close into a reset that destroys the last reply.
	lingerTimeout = time.Second
)

// output is the part of conn that is to be sent. Guarded by conn.mu.
type output struct {
	buf     []byte // not yet taken for writing
	spare   []byte // the buffer that was written last, for reuse
	writing bool   // somebody is in flush or drain
	closing bool   // end the connection when everything is written
	dead    bool   // the socket is closed: output is dropped

	finished bool // finish was called
}

// open reports whether something may be added: nothing follows what the connection ends with. REQUIRES: conn.mu.
func (o *output) open() bool { return !o.dead && !o.closing }

// flush writes what is to be sent as far as the socket takes it now.
func (c *conn) flush() {
	c.mu.Lock()
	for !c.mu.out.writing && !c.mu.out.dead && !c.mu.out.finished {
		buf := c.mu.out.buf
		if len(buf) == 0 {
			break
		}
		c.mu.out.buf, c.mu.out.spare = c.mu.out.spare[:0], nil
		c.mu.out.writing = true
		c.srv.stats.publish(&c.mu.stats)
		c.mu.Unlock()
		n, err := c.writeNow(buf)
		if err != nil {
			c.abort()
			return
		}
		if n < len(buf) {
			if !c.srv.start("drain", func() { c.drain(buf[n:], buf) }) {
				c.abort()
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
	c.mu.out.writing = false
	if cap(buf) <= outputKept {
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
			_ = c.nc.SetWriteDeadline(time.Now().Add(c.writeTimeout()))
			n, err := c.nc.Write(c.portion(rest))
			rest = rest[n:]
			if err != nil && n == 0 {
				c.abort()
				return
			}
		}
		_ = c.nc.SetWriteDeadline(time.Time{}) // it would hold for writeNow, too, when it has passed
		c.mu.Lock()
		c.written(buf)
		if len(c.mu.out.buf) == 0 || c.mu.out.dead {
			if c.mu.out.closing && !c.mu.out.dead {
				c.finish()
			}
			c.mu.Unlock()
			return
		}
		buf, c.mu.out.buf, c.mu.out.spare = c.mu.out.buf, c.mu.out.spare[:0], nil
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
	c.nowBuf, c.nowN, c.nowErr = b, 0, nil
	err := c.raw.Write(c.nowFunc)
	c.nowBuf = nil
	if err == nil {
		err = c.nowErr
	}
	return c.nowN, err
}

// tryWrite is c.nowFunc: it never asks to be called again when the socket is ready.
func (c *conn) tryWrite(fd uintptr) bool {
	for c.nowN < len(c.nowBuf) {
		n, err := syscall.Write(int(fd), c.nowBuf[c.nowN:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			c.nowErr = err
			return true
		default:
			c.nowN += n
		}
	}
	return true
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
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTimeout))
	if t, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
		return
	}
	_ = c.nc.Close()
}

// abort closes the socket at once. The reader sees it and cleans up.
func (c *conn) abort() {
	c.mu.Lock()
	c.mu.out.dead = true
	c.mu.out.buf, c.mu.out.spare = nil, nil
	c.forget()
	c.wakeReader()
	c.mu.Unlock()
	_ = c.nc.Close()
}

// shut ends the connection when everything added so far is sent.
func (c *conn) shut() {
	c.mu.Lock()
	c.mu.out.closing = true
	if !c.mu.out.writing && len(c.mu.out.buf) == 0 && !c.mu.out.dead {
		c.finish()
	}
	c.mu.Unlock()
}

// writeTimeout is how long a client may take nothing of what is sent to it.
func (c *conn) writeTimeout() time.Duration {
	if s := c.session.Load(); s != nil {
		return s.timeout()
	}
	return c.srv.cfg.SessionlessTimeout
}
