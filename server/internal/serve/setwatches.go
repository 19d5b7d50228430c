package serve

import (
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
	// watchesPerLock is how many watches are registered under one hold of the locks.
	watchesPerLock = 128
)

// beginWatches begins a long setWatches. It returns false if that has to wait until the connection's requests in
// flight are answered.
func (r *reader) beginWatches(f *frame) bool {
	if !r.mayAskFor(&f.request) {
		return true
	}
	r.lockQueue()
	if r.c.mu.queue.Len() > 0 || r.c.pauses() {
		r.needs = needAlone
		return false
	}
	r.unlock()
	r.in.skip(4 + proto.RequestHeaderSize)
	r.arriving = &arrival{xid: f.xid, op: f.op, unread: f.size - proto.RequestHeaderSize, lists: watchLists(f.op)}
	return true
}

// setArriving registers the watches of a long setWatches that have arrived, and answers it when all have. If not
// done, more tells why: true if the client has to take events first, false if it has to send the rest. REQUIRES: no
// lock.
func (r *reader) setArriving() (done, more bool) {
	a := r.arriving
	for !a.over() {
		if !r.setSome() {
			r.c.mu.Lock()
			defer r.c.mu.Unlock()
			return false, r.ended || r.c.pauses()
		}
		if r.pace.overtime(r.srv.Clock.Now()) {
			r.workOn()
		}
	}
	n := min(a.unread, len(r.in.bytes()))
	r.in.skip(n)
	if a.unread -= n; a.unread > 0 {
		return false, false
	}
	r.arriving = nil
	code := proto.OK
	if a.malformed {
		code = proto.ErrMarshallingError
	}
	r.lockRead()
	r.answer(appendHeaderReply(nil, a.xid, r.srv.Store.State.LastZxid(), code), flow.QueuedReply)
	r.srv.Stats.Count(a.op)
	return true, false
}

// setSome registers some of the watches that have arrived, under one hold of the locks. It returns false if nothing
// could be done: too little has arrived, the client has to take events first, or the connection has ended.
func (r *reader) setSome() bool {
	r.lockRead()
	defer r.unlock()
	st, ws := r.srv.Store, r.srv.watchers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	id := ws.slot(r.c)
	if id == 0 || !r.c.mu.out.open() {
		r.ended = true
		return false
	}
	if r.c.pauses() {
		return false
	}
	a, before := r.arriving, r.arriving.unread
	if !a.begun {
		a.wanted, _ = ws.registry.Use(id)
	}
	for n := 0; n < watchesPerLock && !a.over(); n++ {
		if a.paths == 0 {
			if !a.head(&r.in) {
				break
			}
			if limit := r.srv.Config.MaxWatches; limit > 0 && a.wanted > limit {
				r.c.refuseWatches(limitWatches)
				r.ended = true
				return false
			}
			continue
		}
		path, ok := a.path(&r.in, r.srv.Config.JuteMaxBuffer)
		if !ok {
			break
		}
		event, limit := ws.rewatch(st.State, id, a.kind, path, a.relative)
		if limit != "" {
			r.c.refuseWatches(limit)
			r.ended = true
			return false
		}
		if event != 0 {
			r.c.mu.out.buf = appendEvent(r.c.mu.out.buf, event, path, -1)
		}
	}
	r.c.mu.out.seal()
	return a.unread < before || a.malformed
}

// rewatch is Registry.Rewatch. It returns the event that is to be sent, 0 if there is none, and the limit that does
// not allow the watch. REQUIRES: Store.Mu for reading, watchers.mu.
func (ws *watchers) rewatch(
	s *datatree.State, id watch.WatcherID, kind watch.Kind, path []byte, relative proto.Zxid,
) (event proto.EventType, limit string) {
	if limit = ws.exceeds(id, path); limit != "" {
		return 0, limit
	}
	event, fire, ok := ws.registry.Rewatch(s, id, kind, path, relative)
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
	c.srv.Log.Warn("closing client connection: it sets more watches than a limit allows",
		zap.Stringer("client_addr", c.Remote), zap.String("limit", limit))
	c.srv.watchers.refused.Add(1)
	c.mu.out.closing = true
}
