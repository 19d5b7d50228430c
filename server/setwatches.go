package server

import (
	"encoding/binary"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// A client that comes back with very many watches must not hold up the others, nor take memory for the list of them: a long setWatches
// is registered while it arrives, from the buffer of the socket, when nothing of its connection is in flight, and so many watches
// under one hold of the locks. A change between two holds finds each path registered already or shows when it comes to be: no
// event is lost. If the list turns out to be malformed, or longer than the connection may watch, the watches before that exist; in the
// second case they go with the connection.

const (
	// setWatchesLimit is the longest frame of setWatches and setWatches2, in bytes.
	setWatchesLimit = 64 << 20
	// longSetWatches is the length of a setWatches, in bytes, from which on it is registered while it arrives.
	longSetWatches = 8 << 10
	// watchesPerLock is how many watches are registered under one hold of the locks.
	watchesPerLock = 128
)

// arrival is a long setWatches that has begun to arrive. The reader owns it.
type arrival struct {
	xid       int32
	op        proto.OpCode
	left      int          // bytes of the frame that were not looked at yet
	begun     bool         // relative was read
	relative  proto.Zxid   // the last that the client has seen
	lists     []watch.Kind // that have not begun
	kind      watch.Kind   // of the list that has
	paths     int          // of it that are to come
	wanted    int          // paths that the connection watches, and will
	malformed bool         // what is left is dropped
}

// longWatches reports whether a frame of n bytes, whose first bytes are in the buffer, is a long setWatches, and if not, whether that is
// known.
func (c *conn) longWatches(n uint32) (is, known bool) {
	if n <= longSetWatches || c.session.Load() == nil {
		return false, true
	}
	rest := c.in.bytes()
	if len(rest) < 4+proto.RequestHeaderSize {
		return false, false
	}
	op := proto.OpCode(binary.BigEndian.Uint32(rest[8:]))
	return op == proto.OpSetWatches || op == proto.OpSetWatches2, true
}

// beginWatches begins a long setWatches of n bytes. It returns false if that has to wait until the connection's requests in flight are
// answered.
func (c *conn) beginWatches(n uint32) bool {
	rest := c.in.bytes()
	a := &arrival{
		xid: int32(binary.BigEndian.Uint32(rest[4:])), op: proto.OpCode(binary.BigEndian.Uint32(rest[8:])),
		left: int(n) - proto.RequestHeaderSize,
	}
	if !c.mayAskFor(a.xid, a.op) {
		return true
	}
	c.lockQueue()
	if c.mu.queue.Len() > 0 || c.mu.out.pauses() {
		c.needs = needAlone
		return false
	}
	c.unlock()
	a.lists = watchLists(a.op)
	c.in.r += 4 + proto.RequestHeaderSize
	c.arriving = a
	return true
}

// watchLists is the kinds of the lists in the body, in their order.
func watchLists(op proto.OpCode) []watch.Kind {
	kinds := []watch.Kind{watch.Data, watch.Exist, watch.Child, watch.Persistent, watch.Recursive}
	if op == proto.OpSetWatches {
		return kinds[:3]
	}
	return kinds
}

// setArriving registers what has arrived of a long setWatches, and answers it when that is all. If it is not, more tells whether the
// client has to take events before the rest is looked at, or has to send it. It is called without a lock.
func (c *conn) setArriving() (done, more bool) {
	a := c.arriving
	for !a.over() {
		if !c.setSome() {
			c.mu.Lock()
			defer c.mu.Unlock()
			return false, c.ended || c.mu.out.pauses()
		}
		if c.srv.clock.now()-c.shareBegan >= int64(turnTime) {
			c.workOn()
		}
	}
	n := min(a.left, len(c.in.bytes()))
	c.in.r += n
	if a.left -= n; a.left > 0 {
		return false, false
	}
	c.arriving = nil
	code := proto.OK
	if a.malformed {
		code = proto.ErrMarshallingError
	}
	c.lockRead()
	c.answer(appendHeaderReply(nil, a.xid, c.srv.store.state.LastZxid(), code), flow.QueuedReply)
	c.srv.stats.CountRead(a.op)
	return true, false
}

// setSome registers some of the watches that have arrived under one hold of the locks. It returns false if there was nothing to be done
// with what has arrived, the client has to take events first, or the connection is over.
func (c *conn) setSome() bool {
	c.lockRead()
	defer c.unlock()
	st := c.srv.store
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	id := st.slot(c)
	if id == 0 || !c.mu.out.open() {
		c.ended = true
		return false
	}
	if c.mu.out.pauses() {
		return false
	}
	a, before := c.arriving, c.arriving.left
	if !a.begun {
		a.wanted = st.watches.PathsOf(id)
	}
	for n := 0; n < watchesPerLock && !a.over(); n++ {
		if a.paths == 0 {
			if !a.head(&c.in) {
				break
			}
			if limit := c.srv.cfg.MaxWatches; limit > 0 && a.wanted > limit {
				c.refuseWatches(a.wanted)
				c.ended = true
				return false
			}
			continue
		}
		path, ok := a.path(&c.in, c.srv.cfg.JuteMaxBuffer)
		if !ok {
			break
		}
		if event, fire := st.watches.Rewatch(st.state, id, a.kind, path, a.relative); fire {
			c.mu.out.buf = appendEvent(c.mu.out.buf, event, path, -1)
		}
	}
	c.mu.out.seal()
	return a.left < before || a.malformed
}

// refuseWatches ends a connection that brings more watches than it may have: an error would leave the client believing that it watches.
// REQUIRES: c.mu.
func (c *conn) refuseWatches(wanted int) {
	c.srv.log.Warn("closing a connection that brings more watches than warren.maxWatches", zap.Stringer("client_addr", c.remote), zap.Int("watches", wanted))
	c.mu.out.closing = true
}

// over reports whether what is left of the frame does not matter.
func (a *arrival) over() bool { return a.malformed || a.begun && a.paths == 0 && len(a.lists) == 0 }

// head reads what stands in front of the paths of the first list, or of the next. It returns false if that has not arrived or is malformed.
func (a *arrival) head(in *input) bool {
	if !a.begun {
		b, ok := a.take(in, 8)
		if ok {
			a.relative, a.begun = proto.Zxid(binary.BigEndian.Uint64(b)), true
		}
		return ok
	}
	b, ok := a.take(in, 4)
	if !ok {
		return false
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n == -1 || n > a.left/4 {
		a.malformed = true
		return false
	}
	a.kind, a.lists = a.lists[0], a.lists[1:]
	a.paths = max(n, 0)
	a.wanted += a.paths
	return true
}

// path reads a path, which is valid until the input changes. It returns false if the path has not arrived or is malformed: also if it is
// longer than most bytes, which nobody could have watched by another request.
func (a *arrival) path(in *input, most int) (path []byte, ok bool) {
	b := in.bytes()
	if a.left < 4 {
		a.malformed = true
		return nil, false
	}
	if len(b) < 4 {
		return nil, false
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < -1 || n > a.left-4 || n > most {
		a.malformed = true
		return nil, false
	}
	n = max(n, 0) // null is as good as empty
	if b, ok = a.take(in, 4+n); !ok {
		return nil, false
	}
	a.paths--
	return b[4:], true
}

// take takes n bytes of the frame off the input. It returns false if they have not arrived, or are none of the frame.
func (a *arrival) take(in *input, n int) ([]byte, bool) {
	b := in.bytes()
	if n > a.left {
		a.malformed = true
		return nil, false
	}
	if n > len(b) {
		return nil, false
	}
	in.r += n
	a.left -= n
	return b[:n], true
}
