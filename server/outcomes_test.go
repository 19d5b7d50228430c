package server

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// offers is a connection of a client that offers the extension.
type offers struct {
	net.Conn
	t *testing.T
}

func offering(t *testing.T, s *Server) (offers, *proto.ConnectResponse) {
	t.Helper()
	c, granted := offers{dialRaw(t, s), t}, new(proto.ConnectResponse)
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 60_000})
	req.HasReadOnly, req.Extensions = true, -1
	require.NoError(t, wire.WriteFrame(c, req.AppendTo(nil)))
	frame := must.Do(wire.ReadFrame(c))(t)
	require.NoError(t, granted.ReadFrom(frame))
	return c, granted
}

// ask sends a request and returns its reply.
func (c offers) ask(op proto.OpCode, xid int32, body []byte) (h proto.ReplyHeader, reply []byte) {
	c.t.Helper()
	b := proto.AppendInt32(proto.AppendInt32(nil, xid), int32(op))
	require.NoError(c.t, wire.WriteFrame(c, append(b, body...)))
	frame := must.Do(wire.ReadFrame(c))(c.t)
	require.NoError(c.t, h.ReadFrom(frame))
	require.Equal(c.t, xid, h.Xid)
	return h, frame[proto.ReplyHeaderSize:]
}

// Every kind of write is asked about right after it was answered: its outcome is the reply that it had.
func TestOutcomesAreTheReplies(t *testing.T) {
	c, granted := offering(t, serveMem(t, memConfig(), nil))
	require.Equal(t, proto.ExtensionOutcomes, granted.Extensions)
	acl := wire.OpenACL
	multi := func(ops ...proto.OpCode) (b []byte) {
		for _, op := range ops {
			b = proto.AppendMultiOp(b, op)
			switch op {
			case proto.OpCreate2:
				b = (&proto.CreateRequest{Path: proto.Text("/m"), Data: []byte("1"), Acl: acl}).AppendTo(b)
			case proto.OpSetData:
				b = (&proto.SetDataRequest{Path: proto.Text("/m"), Data: []byte("22"), Version: 0}).AppendTo(b)
			case proto.OpCheck:
				b = (&proto.CheckVersionRequest{Path: proto.Text("/m"), Version: 1}).AppendTo(b)
			case proto.OpDelete:
				b = (&proto.DeleteRequest{Path: proto.Text("/none"), Version: -1}).AppendTo(b)
			}
		}
		return proto.AppendMultiEnd(b)
	}
	create := func(path string, mode proto.CreateMode) []byte {
		q := proto.CreateRequest{Path: proto.Text(path), Data: []byte("x"), Acl: acl, Flags: int32(mode)}
		return q.AppendTo(nil)
	}
	set := func(path string, version int32) []byte {
		return (&proto.SetDataRequest{Path: proto.Text(path), Data: []byte("yy"), Version: version}).AppendTo(nil)
	}
	for xid, q := range []struct {
		op   proto.OpCode
		body []byte
	}{
		{proto.OpCreate, create("/a", proto.ModePersistent)},
		{proto.OpCreate, create("/a", proto.ModePersistent)}, // it exists
		{proto.OpCreate2, create("/a/s-", proto.ModePersistentSequential)},
		{proto.OpCreate2, create("/a/e", proto.ModeEphemeral)},
		{proto.OpCreateContainer, create("/c", proto.ModeContainer)},
		{proto.OpSetData, set("/a", 0)},
		{proto.OpSetData, set("/a", 7)}, // not its version
		{proto.OpSetData, set("/none", 0)},
		{proto.OpSetACL, (&proto.SetACLRequest{Path: proto.Text("/a"), Acl: acl, Version: 0}).AppendTo(nil)},
		{proto.OpMulti, multi(proto.OpCreate2, proto.OpSetData, proto.OpCheck)},
		{proto.OpMulti, multi(proto.OpSetData, proto.OpDelete, proto.OpCheck)}, // refused as a whole
		{proto.OpDelete, (&proto.DeleteRequest{Path: proto.Text("/a/e"), Version: -1}).AppendTo(nil)},
		{proto.OpDelete, (&proto.DeleteRequest{Path: proto.Text("/a"), Version: -1}).AppendTo(nil)}, // not empty
	} {
		xid := int32(xid + 1)
		h, body := c.ask(q.op, xid, q.body)
		asked := proto.OutcomesRequest{After: granted.Zxid, Xids: []int32{xid, 1000}}
		got, found := c.ask(proto.OpOutcomes, 5000, asked.AppendTo(nil))
		require.Equal(t, proto.OK, got.Err)
		var r proto.OutcomesResponse
		require.NoError(t, r.ReadFrom(found))
		require.Len(t, r.Outcomes, 1, "%v", q.op)
		require.Equal(t, xid, r.Outcomes[0].Xid)
		require.Equal(t, h.Zxid, r.Outcomes[0].Zxid, "%v", q.op)
		require.Equal(t, h.Err, r.Outcomes[0].Err, "%v", q.op)
		require.Equal(t, string(body), string(r.Outcomes[0].Body), "%v", q.op)
	}
	asked := proto.OutcomesRequest{After: 1 << 62, Xids: []int32{1}}
	h, body := c.ask(proto.OpOutcomes, 5001, asked.AppendTo(nil))
	require.Equal(t, proto.OK, h.Err)
	require.Len(t, body, 4, "nothing is executed after that")
	h, _ = c.ask(proto.OpOutcomes, 5002, []byte{1, 2, 3})
	require.Equal(t, proto.ErrMarshallingError, h.Err)
}

// A client that offers no extension gets no byte of it, and the operation is unknown to it.
func TestOutcomesAreOnlyForThoseWhoOffer(t *testing.T) {
	c := dialWire(t, serveMem(t, memConfig(), nil), wire.Options{})
	asked := proto.OutcomesRequest{Xids: []int32{1}}
	reply := c.MustDo(t, wire.Request{Op: proto.OpOutcomes, Body: asked.AppendTo(nil)})
	require.Equal(t, proto.ErrUnimplemented, reply.Header.Err)
}
