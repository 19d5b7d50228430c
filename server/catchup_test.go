package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestReadsBehindWritesKeepTheOrderOfTheSession(t *testing.T) {
	s, c := serveOne(t, memConfig())
	// Large values make the applier leave reads to catchUp, and the next write may be applied first: each read must
	// show the write before it.
	const size = 200 << 10
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	var reqs []wire.Request
	for i := range 40 {
		data := make([]byte, size)
		copy(data, fmt.Sprint(i, " "))
		reqs = append(reqs, wire.SetData("/n", data, int32(i)))
		for k := range 1 + i%7 {
			if k == 3 {
				reqs = append(reqs, wire.GetEphemerals("/"))
			}
			reqs = append(reqs, wire.GetData("/n", false))
		}
	}
	last := -1
	for i, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
		switch reqs[i].Op {
		case proto.OpSetData:
			require.NoError(t, call.Reply.Err())
			last++
		case proto.OpGetData:
			var body proto.GetDataResponse
			require.NoError(t, body.ReadFrom(call.Reply.Body))
			require.Equal(t, int32(last+1), body.Stat.Version)
			require.Equal(t, fmt.Sprint(last, " "), string(body.Data[:len(fmt.Sprint(last, " "))]))
		}
	}
	require.Eventually(t, func() bool { return s.InProcess.Load() == 0 }, hangGuard, time.Millisecond)
}

func TestAClientThatTakesNothingHoldsFewReplies(t *testing.T) {
	s, other := serveOne(t, memConfig())
	other.MustCreate(t, "/big", make([]byte, 1_000_000), proto.ModePersistent)
	nc := dialRaw(t, s)
	require.NoError(t, nc.SetReadBuffer(4096))
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	b := frame(nil, 1, wire.SetData("/", nil, -1))
	for range 255 { // as many as may wait
		b = frame(b, 2, wire.GetData("/big", false))
	}
	must.Do(nc.Write(b))(t)
	var c *serve.Conn
	s.front.Conns.Each(func(x *serve.Conn) {
		if x.Session.Load() != nil && x.Session.Load().ID != other.Session() {
			c = x
		}
	})
	require.NotNil(t, c)
	eventually(t, func() bool { return c.View().Queued > 0 && s.InProcess.Load() == 0 },
		"the applier has left the reads")
	for range 50 {
		other.MustSetData(t, "/", nil, -1)
	}
	require.Less(t, c.View().Unsent, 5<<20)
	require.Zero(t, s.InProcess.Load(), "what waits for the client is nothing that others wait for")
	require.NoError(t, nc.Close())
	require.Eventually(t, func() bool { return s.front.Conns.Len() == 1 }, hangGuard, time.Millisecond)
	require.Zero(t, c.View().Queued)
	require.Zero(t, s.InProcess.Load())
}

// A refusal ends the connection behind reads that the applier has left. It counts as in process, and no longer when
// the client has gone without taking anything: what is lost of this count would make every client slower for good.
func TestARefusalBehindReadsIsNotCountedForever(t *testing.T) {
	s, other := serveOne(t, memConfig())
	must.Do(other.Create("/big", make([]byte, 1_000_000), proto.ModePersistent))(t)
	nc := dialRaw(t, s)
	require.NoError(t, nc.SetReadBuffer(4096))
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	b := frame(nil, 1, wire.SetData("/", nil, -1))
	for range 100 {
		b = frame(b, 2, wire.GetData("/big", false))
	}
	must.Do(nc.Write(b))(t)
	waiting := func() (n int) {
		s.front.Conns.Each(func(c *serve.Conn) { n += c.View().Queued })
		return n
	}
	eventually(t, func() bool { return waiting() > 0 && s.InProcess.Load() == 0 }, "the applier has left the reads")
	must.Do(nc.Write(frame(nil, 3, wire.Request{Op: 999})))(t)
	eventually(t, func() bool { return s.InProcess.Load() == 1 }, "the refusal waits behind the reads")
	require.NoError(t, nc.Close())
	eventually(t, func() bool { return s.front.Conns.Len() == 1 }, "the connection has ended")
	require.Zero(t, s.InProcess.Load())
}
