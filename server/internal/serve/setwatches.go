package serve

import (
	"github.com/seed94657493/warren/proto"
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
	if !r.alone() {
		return false
	}
	r.in.skip(4 + proto.RequestHeaderSize)
	r.arriving = newArrival(&f.request, f.size-proto.RequestHeaderSize)
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
	r.answer(appendHeaderReply(nil, a.xid, r.srv.Store.State.LastZxid(), code), queuedReply)
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
	out := &r.c.mu.out
	for range watchesPerLock {
		path, ok := a.next(&r.in, r.srv.Config.JuteMaxBuffer)
		limit := ""
		if most := r.srv.Config.MaxWatches; most > 0 && a.wanted > most {
			limit = limitWatches
		} else if ok {
			out.buf, limit = ws.rewatch(st.State, id, a, path, out.buf)
		}
		if limit != "" {
			r.c.refuseWatches(limit)
			r.ended = true
			return false
		}
		if !ok {
			break
		}
	}
	out.startBuffer()
	return a.unread < before || a.malformed
}
