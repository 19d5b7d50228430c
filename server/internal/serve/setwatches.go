package serve

import (
	"encoding/binary"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// A client that reconnects with very many watches must not delay other clients, nor take memory for the whole list.
// So a long setWatches is registered while it arrives, from the buffer of the socket, when nothing of its
// connection is in flight. A bounded number of watches is registered under one hold of the locks. No event is lost
// between two holds: a change then either finds the path registered, or is found when the path is registered. If
// the list turns out to be malformed, the watches before the fault exist. If it has more than the connection may
// watch, in paths or in bytes, the watches end with the connection.

const (
	// SetWatchesLimit is the longest frame of setWatches and setWatches2, in bytes.
	SetWatchesLimit = 64 << 20
	// LongSetWatches is the length of a setWatches, in bytes, above which it is registered while it arrives.
	LongSetWatches = 8 << 10
	// WatchesPerLock is how many watches are registered under one hold of the locks.
	WatchesPerLock = 128
)

// Arrival is a long setWatches that has begun to arrive. Owned by the reader.
type Arrival struct {
	xid       int32
	Op        proto.OpCode
	Left      int          // bytes of the frame that are not handled yet
	begun     bool         // Relative was read
	Relative  proto.Zxid   // last zxid that the client has seen
	Lists     []watch.Kind // lists that have not begun
	Kind      watch.Kind   // of the list that has begun
	Paths     int          // how many paths of this list follow
	Wanted    int          // paths that the connection watches, and will watch
	Malformed bool         // the rest of the frame is dropped
}

// longWatches reports whether a frame of n bytes, with its first bytes in the buffer, is a long setWatches. known
// is false if too few bytes have arrived to tell.
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

// beginWatches begins a long setWatches of n bytes. It returns false if that has to wait until the connection's
// requests in flight are answered.
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
	if c.mu.queue.Len() > 0 || c.pauses() {
		c.needs = needAlone
		return false
	}
	c.Unlock()
	a.Lists = WatchLists(a.Op)
	c.In.R += 4 + proto.RequestHeaderSize
	c.Arriving = a
	return true
}

// WatchLists are the kinds of the lists in the body, in their order.
func WatchLists(op proto.OpCode) []watch.Kind {
	kinds := []watch.Kind{watch.Data, watch.Exist, watch.Child, watch.Persistent, watch.Recursive}
	if op == proto.OpSetWatches {
		return kinds[:3]
	}
	return kinds
}

// setArriving registers the watches of a long setWatches that have arrived, and answers it when all have. If not
// done, more tells why: true if the client has to take events first, false if it has to send the rest. REQUIRES: no
// lock.
func (c *Conn) setArriving() (done, more bool) {
	a := c.Arriving
	for !a.Over() {
		if !c.setSome() {
			c.mu.Lock()
			defer c.mu.Unlock()
			return false, c.ended || c.pauses()
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
	c.srv.Stats.Count(a.Op)
	return true, false
}

// setSome registers some of the watches that have arrived, under one hold of the locks. It returns false if nothing
// could be done: too little has arrived, the client has to take events first, or the connection has ended.
func (c *Conn) setSome() bool {
	c.lockRead()
	defer c.Unlock()
	st, ws := c.srv.Store, c.srv.Watchers
	ws.Mu.Lock()
	defer ws.Mu.Unlock()
	id := ws.slot(c)
	if id == 0 || !c.mu.out.open() {
		c.ended = true
		return false
	}
	if c.pauses() {
		return false
	}
	a, before := c.Arriving, c.Arriving.Left
	if !a.begun {
		a.Wanted, _ = ws.Registry.Use(id)
	}
	for n := 0; n < WatchesPerLock && !a.Over(); n++ {
		if a.Paths == 0 {
			if !a.Head(&c.In) {
				break
			}
			if limit := c.srv.Config.MaxWatches; limit > 0 && a.Wanted > limit {
				c.refuseWatches(limitWatches)
				c.ended = true
				return false
			}
			continue
		}
		path, ok := a.Path(&c.In, c.srv.Config.JuteMaxBuffer)
		if !ok {
			break
		}
		event, limit := ws.rewatch(st.State, id, a.Kind, path, a.Relative)
		if limit != "" {
			c.refuseWatches(limit)
			c.ended = true
			return false
		}
		if event != 0 {
			c.mu.out.buf = AppendEvent(c.mu.out.buf, event, path, -1)
		}
	}
	c.mu.out.seal()
	return a.Left < before || a.Malformed
}

// rewatch is Registry.Rewatch. It returns the event that is to be sent, 0 if there is none, and the limit that does
// not allow the watch. REQUIRES: Store.Mu for reading, watchers.Mu.
func (ws *watchers) rewatch(
	s *datatree.State, id watch.WatcherID, kind watch.Kind, path []byte, relative proto.Zxid,
) (event proto.EventType, limit string) {
	if limit = ws.exceeds(id, path); limit != "" {
		return 0, limit
	}
	event, fire, ok := ws.Registry.Rewatch(s, id, kind, path, relative)
	switch {
	case !ok:
		return 0, limitWatchMemory
	case fire:
		return event, ""
	}
	return 0, ""
}

// refuseWatches ends a connection that brings more watches than the limit of that name allows. After an error the
// client would still believe that it watches. REQUIRES: Conn.mu.
func (c *Conn) refuseWatches(limit string) {
	c.srv.Log.Warn("closing a connection that brings more watches than its limit allows",
		zap.Stringer("client_addr", c.Remote), zap.String("limit", limit))
	c.srv.Watchers.Refused.Add(1)
	c.mu.out.closing = true
}

// Over reports whether the rest of the frame does not matter.
func (a *Arrival) Over() bool { return a.Malformed || a.begun && a.Paths == 0 && len(a.Lists) == 0 }

// Head reads what precedes the paths of the next list. It returns false if that has not arrived or is malformed.
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

// Path reads a path, which is valid until the input changes. It returns false if the path has not arrived or is
// malformed. A null path is malformed, and so is one longer than most bytes: no other request could have watched it.
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
	if n < 0 || n > a.Left-4 || n > most {
		a.Malformed = true
		return nil, false
	}
	if b, ok = a.take(in, 4+n); !ok {
		return nil, false
	}
	a.Paths--
	return b[4:], true
}

// take takes n bytes of the frame from the input. It returns false if they have not arrived, or the frame has
// fewer.
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
