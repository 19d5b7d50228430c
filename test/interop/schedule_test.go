//go:build interop

package interop

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// request returns one request of a burst that goes on after it.
func (g *generator) request(single bool) wire.Request {
	var r wire.Request
	switch n := g.rand.IntN(100); {
	case n < 40:
		r = g.write(single, false)
	case n < 50:
		r = g.multi(single)
	case n < 78:
		r = g.read(single)
	case n < 86:
		r = g.watchOp()
	case n < 89:
		r = wire.Sync(pick(g, "/", "/o", "nopath", ""))
	case n < 91:
		r = wire.WhoAmI()
	case n < 93:
		r = wire.Request{Op: proto.OpPing, Xid: pick(g, int32(-2), 7), FixedXid: true}
	case n < 96:
		r = g.mangled()
	case n < 97:
		r = g.nullPath()
	case n < 98:
		r = wire.Reconfig("", "", "", -1)
	default:
		r = g.read(single)
	}
	if !r.FixedXid && g.chance(2) {
		r.Xid, r.FixedXid = pick(g, int32(0), -3, -100, 1<<31-1, 5), true
	}
	return r
}

// burst returns what a session sends next. Everything that the reference does outside its
// pipeline, or that ends the connection, is alone.
func (g *generator) burst(session int) *burst {
	b := &burst{session: session}
	alone := func(r wire.Request) *burst {
		b.reqs = []wire.Request{r}
		return b
	}
	switch n := g.rand.IntN(1000); {
	case n < 30:
		return alone(wire.Auth("digest", []byte(pick(g, "bob:secret", "alice:pw", "nocolon", "eve:x:y", ""))))
	case n < 34:
		return alone(wire.Auth("ip", nil))
	case n < 38:
		// A null token is an exception in 3.8, which then closes the connection.
		return alone(wire.Sasl(pick(g, []byte{}, []byte("token"))))
	case n < 42:
		b.closes = true
		return alone(pick(g, wire.Auth("nope", []byte("x")), wire.Auth("digest", nil), wire.Auth("sasl", []byte("x")),
			wire.Auth("", []byte("x"))))
	case n < 46:
		b.closes = true
		return alone(wire.Request{Op: pick(g, proto.OpCode(0), -1, 10, 23, 99, 108, 999, -12)})
	case n < 49:
		b.closes = true
		// A frame one byte too long comes with a header: Warren takes long setWatches.
		b.raw = pick(g, []byte{0, 0, 0, 0}, []byte{0, 0, 0, 4, 0, 0, 0, 1}, []byte{0xff, 0xff, 0xff, 0xff},
			[]byte("ruok"), []byte{0, 0x10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5}, []byte{0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0},
			wire.AppendFrame(nil, []byte{0, 0, 0, 1, 0, 0, 0, 100, 0}))
		return b
	case n < 60:
		// What is in front of the close counts; the ephemerals of the burst go with the session.
		for range g.rand.IntN(6) {
			path := g.path(false)
			b.reqs = append(b.reqs, pick(g, wire.Create(path, g.data(), wire.OpenACL, proto.ModeEphemeral),
				wire.Create(path, g.data(), wire.OpenACL, proto.ModeEphemeralSequential), wire.Delete(path, -1),
				wire.GetData(path, g.watch(path))))
		}
		b.reqs = append(b.reqs, wire.CloseSession())
		b.closes, b.ends = true, true
		return b
	case n < 110:
		b.reqs = append(b.reqs, g.requests(g.rand.IntN(4))...)
		b.reqs = append(b.reqs, g.setACL())
		return b
	case n < 190:
		return alone(g.quotaRequest())
	case n < 500:
		return alone(g.request(true))
	}
	b.reqs = g.requests(2 + g.rand.IntN(14))
	return b
}

func (g *generator) requests(n int) []wire.Request {
	var list []wire.Request
	for range n {
		list = append(list, g.request(false))
	}
	return list
}

// quotaRequest changes or reads the quota's own znodes, with text that 3.8 can parse.
func (g *generator) quotaRequest() wire.Request {
	limits := pick(g, "count=5,bytes=-1=;byteHardLimit=-1;countHardLimit=5",
		"count=3,bytes=20=;byteHardLimit=15;countHardLimit=3", "count=-1,bytes=40=;byteHardLimit=40;countHardLimit=-1",
		"count=1,bytes=1", "count=100,bytes=1000=;byteHardLimit=900;countHardLimit=90")
	node := quotaNode + pick(g, "", "", "/a")
	path := quotaRegion + pick(g, "", "/a", "/b", "/a/a", "/a/b", "/c")
	switch g.rand.IntN(16) {
	case 0:
		return wire.Create(node, []byte{}, wire.OpenACL, 0)
	case 1:
		return wire.Create(node+"/zookeeper_stats", []byte("count=0,bytes=0"), wire.OpenACL, 0)
	case 2:
		return wire.Create(node+"/zookeeper_limits", []byte(limits), wire.OpenACL, 0)
	case 3:
		return wire.SetData(node+"/zookeeper_limits", []byte(limits), -1)
	case 4:
		return wire.Delete(node+"/"+pick(g, "zookeeper_limits", "zookeeper_limits", "zookeeper_stats"), -1)
	}
	if g.chance(60) {
		return pick(g, wire.Create(path, g.data(), wire.OpenACL, 0),
			wire.Create2(path+"/n-", nil, wire.OpenACL, proto.ModePersistentSequential),
			wire.SetData(path, g.data(), -1), wire.SetData(path, g.data(), 3), wire.Delete(path, -1))
	}
	return wire.GetData(node+"/"+pick(g, "zookeeper_limits", "zookeeper_stats"), false)
}

// learn keeps what replies show about the tree.
func (g *generator) learn(call *wire.Call) {
	if call.Reply.Header.Err != proto.OK {
		return
	}
	if call.Request.Op == proto.OpDelete {
		if path, ok := firstPath(call.Request.Body); ok {
			g.known = slices.DeleteFunc(g.known, func(p string) bool { return p == path })
		}
	}
	switch v := call.Reply.Value.(type) {
	case *proto.CreateResponse:
		g.created(call.Request, v.Path.String())
	case *proto.Create2Response:
		g.created(call.Request, v.Path.String())
	case *proto.StatResponse:
		if path, ok := firstPath(call.Request.Body); ok {
			g.versions[path] = v.Stat.Version
		}
	case *proto.GetDataResponse:
		if path, ok := firstPath(call.Request.Body); ok {
			g.versions[path] = v.Stat.Version
		}
	}
}

// created remembers a path with a suffix, of which only few are kept.
func (g *generator) created(req wire.Request, path string) {
	g.versions[path] = 0
	if len(g.known) < 60 && !strings.HasPrefix(path, "/zookeeper") {
		g.known = append(g.known, path)
	}
	if requested, ok := firstPath(req.Body); !ok || requested == path || strings.HasPrefix(path, quotaRegion) {
		return
	}
	if len(g.extra) < 12 {
		g.extra = append(g.extra, path)
		return
	}
	g.extra[g.rand.IntN(len(g.extra))] = path
}

func firstPath(body []byte) (string, bool) {
	r := proto.NewReader(body)
	path := r.Text()
	return path.String(), r.Err() == nil && path != nil && !bytes.ContainsRune(path, 0)
}
