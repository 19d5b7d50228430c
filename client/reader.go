package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/proto"
)

// deadlineReader reads the socket of a conn. It gives up after two thirds of the session timeout without a byte.
// It also gives up when the server may not have heard of the session for the whole timeout.
type deadlineReader conn

func (d *deadlineReader) Read(b []byte) (int, error) {
	// Moving the deadline costs more than reading the clock, so it is moved in steps of a thirtieth of the timeout.
	now, known := time.Now(), time.Duration(d.contact.latest.Load())
	if step := d.timeout / 30; now.Sub(d.heard) > step || known-d.known > step {
		if err := (*conn)(d).moveDeadline(now, known); err != nil {
			return 0, err
		}
	}
	return d.nc.Read(b)
}

func (cn *conn) moveDeadline(now time.Time, known time.Duration) error {
	cn.heard, cn.known = now, known
	deadline, end := now.Add(2*cn.timeout/3), now.Add(known+cn.timeout-cn.contact.at(now))
	if end.Before(deadline) {
		deadline = end
	}
	return cn.nc.SetReadDeadline(deadline)
}

// read handles frames until the connection ends.
func (cn *conn) read() error {
	for {
		frame, err := cn.in.next()
		if err == nil {
			err = cn.handle(frame)
		}
		if err == nil && cn.isLeaving && cn.isIdle() {
			err = errLeft
		}
		if err != nil {
			return fmt.Errorf("client: read from %s: %w", cn.addr, err)
		}
	}
}

// handle processes one frame of the server. An error ends the connection.
func (cn *conn) handle(frame []byte) error {
	var h proto.ReplyHeader
	if err := h.ReadFrom(frame); err != nil {
		return fmt.Errorf("%w: reply header: %w", ErrProtocol, err)
	}
	body := frame[proto.ReplyHeaderSize:]
	switch h.Xid {
	case proto.XidNotification:
		return cn.notify(&h, body)
	case proto.XidPing:
		if h.Err != proto.OK {
			return h.Err // the server requires authentication
		}
		if h.Zxid == proto.LeaveZxid {
			cn.leave()
			return nil
		}
		if int64(h.Zxid) > cn.floor.Load() {
			cn.floor.Store(int64(h.Zxid))
		}
		cn.mu.Lock()
		cn.contact.hears(&cn.contact.pings)
		cn.mu.Unlock()
		return nil
	case proto.XidAuth:
		return cn.authReply(&h)
	case proto.XidSetWatches:
		return cn.rearmReply(&h)
	}
	return cn.reply(&h, body)
}

// leave lets no more calls onto the connection, whose server is about to end it. The connection ends when everything
// is answered, so that no call is lost; calls that come meanwhile wait for the next connection.
func (cn *conn) leave() {
	cn.isLeaving = true
	cn.mu.Lock()
	cn.leaving = true
	cn.mu.Unlock()
}

// isIdle reports whether the server owes nothing.
func (cn *conn) isIdle() bool {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return cn.pending.n == 0 && len(cn.auths) == 0 && cn.rearming == 0
}

func (cn *conn) notify(h *proto.ReplyHeader, body []byte) error {
	var e proto.WatcherEvent
	if err := e.ReadFrom(body); err != nil {
		return fmt.Errorf("%w: watch event: %w", ErrProtocol, err)
	}
	if e.Type < proto.EventNodeCreated || e.Type > proto.EventNodeChildrenChanged {
		return nil // for no watch; a newer server may know more types
	}
	if int64(h.Zxid) > cn.told.Load() { // a server of ZooKeeper 3.8 sends -1
		cn.told.Store(int64(h.Zxid))
	}
	cn.watches.fire(EventType(e.Type), e.Path, h.Zxid)
	return nil
}

func (cn *conn) authReply(h *proto.ReplyHeader) error {
	cn.mu.Lock()
	if len(cn.auths) == 0 {
		cn.mu.Unlock()
		return fmt.Errorf("%w: reply to an auth packet that was not sent", ErrProtocol)
	}
	a := cn.auths[0]
	cn.auths = cn.auths[1:]
	cn.mu.Unlock()
	return cn.onAuth(a, h.Err)
}

func (cn *conn) rearmReply(h *proto.ReplyHeader) error {
	if cn.rearming == 0 {
		return fmt.Errorf("%w: reply to setWatches that was not sent", ErrProtocol)
	}
	cn.rearming--
	cn.mu.Lock()
	cn.contact.hears(&cn.contact.rearms)
	cn.mu.Unlock()
	switch {
	case errors.Is(h.Err, proto.ErrUnimplemented):
		cn.watches.losePersistent(h.Err) // the server is older than the previous one
		return h.Err
	case h.Err != proto.OK:
		return fmt.Errorf("client: set watches again: %w", h.Err)
	case cn.rearming == 0:
		cn.watches.rearmed()
		return cn.deliver()
	}
	return nil
}

func (cn *conn) reply(h *proto.ReplyHeader, body []byte) error {
	cn.mu.Lock()
	cl := cn.pending.pop()
	if cl != nil && cn.sent > 0 {
		cn.sent--
	}
	if cl != nil && cl.xid == h.Xid {
		cn.contact.hears(&cn.contact.calls)
	}
	if cn.room != nil && !cn.leaving && cn.pending.n <= cn.cfg.outstandingMax/2 && len(cn.out) <= outputBytesMax/2 {
		close(cn.room)
		cn.room = nil
	}
	cn.mu.Unlock()
	if cl == nil {
		return fmt.Errorf("%w: reply with xid %d to no request", ErrProtocol, h.Xid)
	}
	if cl.xid != h.Xid {
		err := fmt.Errorf("%w: reply with xid %d where %d is next", ErrProtocol, h.Xid, cl.xid)
		cl.mayHave = cl.op.IsWrite()
		complete(cn.watches, cl, ErrConnectionLoss)
		return err
	}
	return cn.answer(cl, h.Zxid, h.Err, body)
}

// answer gives a call its reply.
func (cn *conn) answer(cl *call, zxid Zxid, code proto.ErrCode, body []byte) error {
	if int64(zxid) > cn.zxid.Load() {
		cn.zxid.Store(int64(zxid)) // only the reader of the one live connection stores
	}
	cl.zxid = zxid
	if code != proto.OK {
		complete(cn.watches, cl, code)
		return nil
	}
	if err := cl.decode(body); err != nil {
		err = fmt.Errorf("%w: reply to %v: %w", ErrProtocol, cl.op, err)
		cl.mayHave = cl.op.IsWrite()
		complete(cn.watches, cl, err)
		return err
	}
	complete(cn.watches, cl, nil)
	return nil
}

// complete gives a call its result. A watch is set before its caller learns of it and before the next event is
// read, so that none of its events is missed and no earlier event is delivered to it.
func complete(watches *watchSet, cl *call, err error) {
	cl.err, cl.data = err, nil
	if err == nil && cl.op == proto.OpRemoveWatches {
		watches.lose(joinChroot(cl.chroot, cl.path), WatcherType(cl.version))
	}
	isAwaited := cl.op == proto.OpExists && err == error(proto.ErrNoNode) // the watch is set on the creation
	if !cl.state.CompareAndSwap(callWaiting, callCompleted) {
		if cl.watch != nil {
			watches.drop(cl.watch, err == nil || isAwaited)
		}
		cl.release()
		return
	}
	if w := cl.watch; w != nil {
		switch {
		case err == nil:
			watches.activate(w)
		case isAwaited:
			watches.activateAs(w, watchExist)
		default:
			watches.drop(w, false)
		}
	}
	cl.finish()
}
