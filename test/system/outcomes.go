package system

import (
	"bytes"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
	"github.com/seed94657493/warren/test/wire"
)

// lose keeps what was not answered on the connection that ends, in the order in which it was sent, in front of what
// was to be sent again on it. Source: extensions 2.
func (c *client) lose() {
	s := c.session
	if !c.w.has(Outcomes) || c.conn.forgets {
		s.lost = nil
		return
	}
	var lost []*request
	for _, q := range c.conn.pending {
		switch q.op {
		case proto.OpAuth, proto.OpPing, proto.OpSetWatches, proto.OpSetWatches2, proto.OpCloseSession,
			proto.OpOutcomes, proto.OpCheck:
		default:
			lost = append(lost, q)
		}
	}
	s.lost = append(lost, s.lost...)
}

// ask asks what has become of writes that were not answered on earlier connections. Without a grant nothing is ever
// known of them.
func (c *client) ask(conn *connection) {
	s := c.session
	if !conn.granted {
		s.lost = nil
		return
	}
	var ask proto.OutcomesRequest
	for _, q := range s.lost {
		if !q.op.IsWrite() {
			continue
		}
		if len(ask.Xids) == 0 || q.known < ask.After {
			ask.After = q.known
		}
		ask.Xids = append(ask.Xids, q.xid)
	}
	if len(ask.Xids) > 0 {
		c.send(asked{Request: wire.Request{Op: proto.OpOutcomes, Body: ask.AppendTo(nil)}})
		c.answers(conn)
	}
}

// learned takes the reply to ask.
func (c *client) learned(s *session, it *item) error {
	if it.err == proto.ErrUnimplemented { // the log does not reach back
		s.lost = nil
		return nil
	}
	var resp proto.OutcomesResponse
	if err := resp.ReadFrom(it.body); it.err != proto.OK || err != nil {
		return broken(Outcome, "the question what has become of requests is answered with %v, %v", it.err.Name(), err)
	}
	told := map[int32]*proto.Outcome{}
	for i := range resp.Outcomes {
		o := &resp.Outcomes[i]
		if told[o.Xid] != nil || o.Zxid > it.zxid {
			return broken(Outcome, "the request with xid %d was executed at %v, and at another time", o.Xid, o.Zxid)
		}
		told[o.Xid] = o
	}
	var again []*request
	for _, q := range s.lost {
		o := told[q.xid]
		switch {
		case o == nil || !q.op.IsWrite():
			q.never = q.op.IsWrite()
			again = append(again, q)
			continue
		case q.never:
			return broken(Outcome, "session %v, xid %d was executed at %v, and was said never to be", s.id, q.xid,
				o.Zxid)
		}
		q.told = o
		c.w.outcomes++
		delete(told, q.xid)
	}
	if len(told) > 0 {
		return broken(Outcome, "session %v is told of requests of which it has not asked: %v", s.id, told)
	}
	s.lost = again
	return nil
}

// sendAgain sends what was not executed on earlier connections, with the old xids.
func (c *client) sendAgain() {
	s := c.session
	for len(s.lost) > 0 && !c.broken {
		q := s.lost[0]
		s.lost = s.lost[1:]
		a := asked{path: q.path, watch: q.watch}
		a.Request = wire.Request{Op: q.op, Body: q.body, Xid: q.xid, FixedXid: true}
		if q.op.IsWrite() {
			c.w.repeats++
		}
		c.send(a)
	}
}

// toldRight compares what a server has told of a request with its txn. The Stat after setData, setACL or reconfig is
// partly that of now, and the creates of a multi are answered as those of create2.
func (q *request) toldRight(zxid proto.Zxid, want model.Result) error {
	o := q.told
	if o.Zxid != zxid || o.Err != want.Err {
		return broken(Outcome, "%v xid %d was said to be executed at %v with %v, and was at %v with %v", q.op, q.xid,
			o.Zxid, o.Err.Name(), zxid, want.Err.Name())
	}
	isSame := bytes.Equal(o.Body, want.Body)
	switch {
	case want.Err != proto.OK:
		isSame = len(o.Body) == 0
	case q.op == proto.OpSetData:
		a, b := proto.NewReader(o.Body), proto.NewReader(want.Body)
		isSame = sameWrite(&a, &b)
	case q.op == proto.OpSetACL:
		var got, is proto.Stat
		isSame = got.ReadFrom(o.Body) == nil && is.ReadFrom(want.Body) == nil && got.Aversion == is.Aversion
	case q.op == proto.OpReconfig:
		a, b := proto.NewReader(o.Body), proto.NewReader(want.Body)
		isSame = bytes.Equal(a.Buffer(), b.Buffer()) && sameWrite(&a, &b)
	case q.op == proto.OpMulti:
		isSame = len(o.Body) >= len(want.Body)
	}
	if !isSame {
		return broken(Outcome, "%v xid %d was said to be answered with %q, the model says %q", q.op, q.xid, o.Body,
			want.Body)
	}
	return nil
}

// sameWrite compares what two Stats say of the last change of the data.
func sameWrite(a, b *proto.Reader) bool {
	var got, is proto.Stat
	got.Decode(a)
	is.Decode(b)
	return a.Err() == nil && a.Len() == 0 && got.Mzxid == is.Mzxid && got.Mtime == is.Mtime &&
		got.Version == is.Version && got.DataLength == is.DataLength
}
