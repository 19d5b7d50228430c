package serve

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
	// SetWatchesLimit is the longest frame of setWatches and setWatches2, in bytes.
	SetWatchesLimit = 64 << 20
	// LongSetWatches is the length of a setWatches, in bytes, from which on it is registered while it arrives.
	LongSetWatches = 8 << 10
	// WatchesPerLock is how many watches are registered under one hold of the locks.
	WatchesPerLock = 128
)

// Arrival is a long setWatches that has begun to arrive. The reader owns it.
type Arrival struct {
	xid       int32
	Op        proto.OpCode
	Left      int          // bytes of the frame that were not looked at yet
	begun     bool         // relative was read
	Relative  proto.Zxid   // the last that the client has seen
	Lists     []watch.Kind // that have not begun
	Kind      watch.Kind   // of the list that has
	Paths     int          // of it that are to come
	Wanted    int          // paths that the connection watches, and will
	Malformed bool         // what is left is dropped
}

// longWatches reports whether a frame of n bytes, whose first bytes are in the buffer, is a long setWatches, and if not, whether that is
// known.
func (c *Conn) longWatches(n uint32) (is, known bool) {
	if n <= LongSetWatches || c.Session.Load() == nil {
		return false, true
	}
	rest := c.In.Bytes()
	if len(rest) < 4+proto.RequestHeaderSize {
		return false, false
	}
	op := proto.OpCode(binary.BigEndian.Uint32(rest[8:]))
	return op == proto.OpSetWatches || op == proto.OpSetWatches2, true
}

// beginWatches begins a long setWatches of n bytes. It returns false if that has to wait until the connection's requests in flight are
// answered.
func (c *Conn) beginWatches(n uint32) bool {
	rest := c.In.Bytes()
	a := &Arrival{
		xid: int32(binary.BigEndian.Uint32(rest[4:])), Op: proto.OpCode(binary.BigEndian.Uint32(rest[8:])),
		Left: int(n) - proto.RequestHeaderSize,
	}
	if !c.mayAskFor(a.xid, a.Op) {
		return true
	}
	c.lockQueue()
	if c.Mu.Queue.Len() > 0 || c.Mu.Out.pauses() {
		c.needs = needAlone
		return false
	}
	c.Unlock()
	a.Lists = WatchLists(a.Op)
	c.In.R += 4 + proto.RequestHeaderSize
	c.Arriving = a
	return true
}

// WatchLists is the kinds of the lists in the body, in their order.
func WatchLists(op proto.OpCode) []watch.Kind {
	kinds := []watch.Kind{watch.Data, watch.Exist, watch.Child, watch.Persistent, watch.Recursive}
	if op == proto.OpSetWatches {
		return kinds[:3]
	}
	return kinds
}

// setArriving registers what has arrived of a long setWatches, and answers it when that is all. If it is not, more tells whether the
// client has to take events before the rest is looked at, or has to send it. It is called without a lock.
func (c *Conn) setArriving() (done, more bool) {
	a := c.Arriving
	for !a.Over() {
		if !c.setSome() {
			c.Mu.Lock()
			defer c.Mu.Unlock()
			return false, c.ended || c.Mu.Out.pauses()
		}
		if c.srv.Clock.Now()-c.shareBegan >= int64(turnTime) {
			c.workOn()
		}
	}
	n := min(a.Left, len(c.In.Bytes()))
	c.In.R += n
	if a.Left -= n; a.Left > 0 {
		return false, false
	}
	c.Arriving = nil
	code := proto.OK
	if a.Malformed {
		code = proto.ErrMarshallingError
	}
	c.lockRead()
	c.answer(AppendHeaderReply(nil, a.xid, c.srv.Store.State.LastZxid(), code), flow.QueuedReply)
	c.srv.Stats.CountRead(a.Op)
	return true, false
}

// setSome registers some of the watches that have arrived under one hold of the locks. It returns false if there was nothing to be done
// with what has arrived, the client has to take events first, or the connection is over.
func (c *Conn) setSome() bool {
	c.lockRead()
	defer c.Unlock()
	st, ws := c.srv.Store, c.srv.Watchers
	ws.Mu.Lock()
	defer ws.Mu.Unlock()
	id := ws.slot(c)
	if id == 0 || !c.Mu.Out.open() {
		c.ended = true
		return false
	}
	if c.Mu.Out.pauses() {
		return false
	}
	a, before := c.Arriving, c.Arriving.Left
	if !a.begun {
		a.Wanted = ws.Registry.PathsOf(id)
	}
	for n := 0; n < WatchesPerLock && !a.Over(); n++ {
		if a.Paths == 0 {
			if !a.Head(&c.In) {
				break
			}
			if limit := c.srv.Config.MaxWatches; limit > 0 && a.Wanted > limit {
				c.refuseWatches(a.Wanted)
				c.ended = true
				return false
			}
			continue
		}
		path, ok := a.Path(&c.In, c.srv.Config.JuteMaxBuffer)
		if !ok {
			break
		}
		if event, fire := ws.Registry.Rewatch(st.State, id, a.Kind, path, a.Relative); fire {
			c.Mu.Out.Buf = AppendEvent(c.Mu.Out.Buf, event, path, -1)
		}
	}
	c.Mu.Out.seal()
	return a.Left < before || a.Malformed
}

// refuseWatches ends a connection that brings more watches than it may have: an error would leave the client believing that it watches.
// REQUIRES: c.mu.
func (c *Conn) refuseWatches(wanted int) {
	c.srv.Log.Warn("closing a connection that brings more watches than warren.maxWatches", zap.Stringer("client_addr", c.Remote), zap.Int("watches", wanted))
	c.Mu.Out.Closing = true
}

// Over reports whether what is left of the frame does not matter.
func (a *Arrival) Over() bool { return a.Malformed || a.begun && a.Paths == 0 && len(a.Lists) == 0 }

// Head reads what stands in front of the paths of the first list, or of the next. It returns false if that has not arrived or is malformed.
func (a *Arrival) Head(in *Input) bool {
	if !a.begun {
		b, ok := a.take(in, 8)
		if ok {
			a.Relative, a.begun = proto.Zxid(binary.BigEndian.Uint64(b)), true
		}
		return ok
	}
	b, ok := a.take(in, 4)
	if !ok {
		return false
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n == -1 || n > a.Left/4 {
		a.Malformed = true
		return false
	}
	a.Kind, a.Lists = a.Lists[0], a.Lists[1:]
	a.Paths = max(n, 0)
	a.Wanted += a.Paths
	return true
}

// Path reads a path, which is valid until the input changes. It returns false if the path has not arrived or is malformed: also if it is
// longer than most bytes, which nobody could have watched by another request.
func (a *Arrival) Path(in *Input, most int) (path []byte, ok bool) {
	b := in.Bytes()
	if a.Left < 4 {
		a.Malformed = true
		return nil, false
	}
	if len(b) < 4 {
		return nil, false
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < -1 || n > a.Left-4 || n > most {
		a.Malformed = true
		return nil, false
	}
	n = max(n, 0) // null is as good as empty
	if b, ok = a.take(in, 4+n); !ok {
		return nil, false
	}
	a.Paths--
	return b[4:], true
}

// take takes n bytes of the frame off the input. It returns false if they have not arrived, or are none of the frame.
func (a *Arrival) take(in *Input, n int) ([]byte, bool) {
	b := in.Bytes()
	if n > a.Left {
		a.Malformed = true
		return nil, false
	}
	if n > len(b) {
		return nil, false
	}
	in.R += n
	a.Left -= n
	return b[:n], true
}
