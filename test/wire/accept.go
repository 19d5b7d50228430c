package wire

import (
	"slices"

	"github.com/seed94657493/warren/proto"
)

// accept checks one frame and hands it to the call that it is for.
func (c *Conn) accept(payload []byte) error {
	if len(payload) < proto.ReplyHeaderSize {
		return violationf("reply of %d bytes: %x", len(payload), payload)
	}
	var h proto.ReplyHeader
	if err := h.ReadFrom(payload); err != nil {
		return violationf("reply header: %v: %x", err, payload)
	}
	body := payload[proto.ReplyHeaderSize:]
	if h.Xid == proto.XidNotification && !c.expects(h.Xid) {
		return c.acceptEvent(h, body)
	}
	if h.Xid == proto.XidPing && h.Zxid == proto.LeaveZxid {
		return nil // the server asks this client to go to another one; it stays, as a client of ZooKeeper does
	}
	call, err := c.take(h)
	if err != nil {
		return err
	}
	call.Reply.Header, call.Reply.Body = h, body
	if call.Reply.Value, err = decodeBody(call.Request.Op, h.Err, body); err == nil {
		err = c.checkZxid(call.Request.Op, h)
	}
	if c.observe != nil && err == nil {
		c.observe(Packet{Call: call})
	}
	call.err = err
	close(call.done)
	return err
}

// expects reports whether the oldest unanswered request has this xid.
func (c *Conn) expects(xid int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0 && replyXid(c.pending[0].Request) == xid
}

// replyXid is the xid of the reply to req: its own, but always -2 for a ping.
func replyXid(req Request) int32 {
	if req.Op == proto.OpPing {
		return proto.XidPing
	}
	return req.Xid
}

// take removes the request that h answers: the oldest, or an auth or sasl that overtook it.
func (c *Conn) take(h proto.ReplyHeader) (*Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, call := range c.pending {
		if replyXid(call.Request) != h.Xid {
			continue
		}
		if op := call.Request.Op; i > 0 && op != proto.OpAuth && op != proto.OpSasl {
			break
		}
		c.pending = slices.Delete(c.pending, i, i+1)
		return call, nil
	}
	if len(c.pending) == 0 {
		return nil, violationf("reply with xid %d, err %d to nothing", h.Xid, h.Err)
	}
	head := c.pending[0].Request
	return nil, violationf("reply with xid %d, err %d out of order: the oldest request is %v with xid %d",
		h.Xid, h.Err, head.Op, head.Xid)
}

// checkZxid refuses a zxid that goes back. Replies that are not made in the pipeline carry 0 or
// -1 and are not compared. Source: client-protocol 4.4.
func (c *Conn) checkZxid(op proto.OpCode, h proto.ReplyHeader) error {
	switch {
	case op == proto.OpAuth || op == proto.OpSasl || h.Err == proto.ErrSessionClosedRequireAuth:
		if h.Zxid != 0 {
			return violationf("%v: reply with zxid %v, want 0", op, h.Zxid)
		}
		return nil
	case h.Err == proto.ErrUnimplemented && h.Zxid == -1:
		return nil // unknown operation; the connection closes
	case (h.Err == proto.ErrNoAuth || h.Err == proto.ErrInvalidACL) && h.Zxid == 0:
		return nil // eager ACL check
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Zxid < c.zxid {
		return violationf("%v: reply with zxid %v after %v", op, h.Zxid, c.zxid)
	}
	c.zxid = h.Zxid
	return nil
}

// acceptEvent checks a notification. Source: client-protocol 9.1.
func (c *Conn) acceptEvent(h proto.ReplyHeader, body []byte) error {
	var w proto.WatcherEvent
	r := proto.NewReader(body)
	w.Decode(&r)
	if err := checkRecord(proto.OpNotification, &w, &r, body); err != nil {
		return err
	}
	switch {
	case h.Err != proto.OK:
		return violationf("notification with error %d", h.Err)
	case w.Type < proto.EventNodeCreated || w.Type > proto.EventNodeChildrenChanged:
		return violationf("notification of type %d", w.Type)
	case w.State != proto.StateSyncConnected:
		return violationf("notification with state %d", w.State)
	case w.Path == nil:
		return violationf("notification without a path")
	case h.Zxid != -1 && h.Zxid <= 0:
		return violationf("notification with zxid %v", h.Zxid)
	}
	if c.observe != nil {
		c.observe(Packet{Event: &Event{Type: w.Type, Path: w.Path.String(), Zxid: h.Zxid}})
	}
	return nil
}
