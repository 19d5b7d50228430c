package abuse

import (
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// replies is small requests whose answers are large, or dear.
func replies() []abuse {
	return []abuse{
		{name: "getChildren of many, nothing read", memory: 900, prepare: manyChildren,
			run: unread(wire.GetChildren("/many", false))},
		{name: "getChildren of a million", memory: 1500, prepare: millionChildren,
			run: read(wire.GetChildren("/many", false))},
		{name: "getData of 1 MiB, nothing read", memory: 700, prepare: bigNode,
			run: unread(wire.GetData("/big", false))},
		{name: "getData of 1 MiB, many sessions that read nothing", memory: 350, prepare: bigNode, run: manyUnread},
		{name: "multiRead of 1 MiB each", memory: 1500, prepare: bigNode, run: multiReads},
		{name: "reads of 1 MiB behind writes", memory: 900, prepare: bigNode,
			run: behindWrites(wire.GetData("/big", false), false)},
		{name: "the same, nothing read", memory: 1500, prepare: bigNode,
			run: behindWrites(wire.GetData("/big", false), true)},
		{name: "getChildren of many behind writes", memory: 900, prepare: manyChildren,
			run: behindWrites(wire.GetChildren("/many", false), false)},
		{name: "getEphemerals that finds none", memory: 400, run: noEphemerals},
	}
}

func manyChildren(a *attack) {
	a.fill("/many", a.size(20_000, 100_000), proto.ModePersistent, a.helper())
	a.closeAll()
}

func millionChildren(a *attack) {
	a.fill("/many", a.size(50_000, 1_000_000), proto.ModePersistent, a.helper())
	a.closeAll()
}

func bigNode(a *attack) {
	_, err := a.helper().Create("/big", make([]byte, 1_000_000), proto.ModePersistent)
	require.NoError(a.t, err)
	a.closeAll()
}

// read sends a request over and over, and reads the replies.
func read(r wire.Request) func(*attack) {
	b := frame(nil, 1, r)
	return func(a *attack) {
		together(a.size(4, 16), func(i int) {
			s := a.begin(1)
			go a.skim(s)
			a.pump(s, b)
		})
	}
}

// unread pipelines a request and reads no reply.
func unread(r wire.Request) func(*attack) {
	var b []byte
	for i := range 100 {
		b = frame(b, int32(i), r)
	}
	return func(a *attack) {
		together(a.size(10, 50), func(i int) { a.pump(a.beginDeaf(1), b) })
	}
}

// manyUnread is unread of as many sessions as two addresses may have.
func manyUnread(a *attack) {
	var b []byte
	for i := range 100 {
		b = frame(b, int32(i), wire.GetData("/big", false))
	}
	together(a.size(40, 100), func(i int) { a.pump(a.beginDeaf(1+i%2), b) })
}

// multiReads asks for one large znode many times in a request.
func multiReads(a *attack) {
	var ops []wire.Request
	for range 100 {
		ops = append(ops, wire.GetData("/big", false))
	}
	b := frame(nil, 1, wire.MultiRead(ops...))
	together(a.size(2, 4), func(i int) { a.pump(a.beginDeaf(i), b) })
}

// behindWrites pipelines writes and as many reads behind each as may wait for it.
func behindWrites(r wire.Request, silent bool) func(*attack) {
	var b []byte
	for range 4 {
		b = frame(b, 1, wire.SetData("/zookeeper/quota", nil, -1))
		for range 255 {
			b = frame(b, 2, r)
		}
	}
	return func(a *attack) {
		together(a.size(4, 32), func(i int) {
			var s *session
			if silent {
				s = a.beginDeaf(1)
			} else {
				s = a.begin(1)
				go a.skim(s)
			}
			a.pump(s, b)
		})
	}
}

// noEphemerals asks a session with many ephemerals for those below a path where there are none.
func noEphemerals(a *attack) {
	h := a.helper()
	a.fill("/mine", a.size(10_000, 100_000), proto.ModeEphemeral, h)
	defer func() {
		require.NoError(a.t, h.CloseSession())
	}()
	for a.going() {
		var calls []*wire.Call
		for range a.size(50, 1000) {
			calls = append(calls, h.Send(wire.GetEphemerals("/none")))
		}
		for _, call := range calls {
			select {
			case <-call.Done():
				require.NoError(a.t, call.Wait())
			case <-a.ctx.Done():
			}
		}
	}
}
