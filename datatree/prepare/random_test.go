package prepare

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

var (
	prepareSeed  = flag.Uint64("prepare.seed", 0, "the only seed of the random tests, 0 for others")
	prepareSeeds = flag.Int("prepare.seeds", 40, "how many seeds TestPreparedAheadIsPreparedRight tries")
)

// generator draws requests over a small world, so that they meet often.
type generator struct {
	*rand.Rand
	ids []auth.Identity
}

func newGenerator(seed uint64) *generator {
	ids := []auth.Identity{auth.NewDigestIdentity("bob", "secret"), ip("10.0.0.9")}
	return &generator{rand.New(rand.NewPCG(seed, 1)), ids}
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// path draws mostly from a tree of 3 + 9 + 9 paths.
func (g *generator) path() proto.Text {
	if g.IntN(60) == 0 {
		return pick(g, proto.Text(nil), proto.Text("/"), proto.Text(""), proto.Text("a"), proto.Text("/a/"),
			proto.Text("//a"), proto.Text("/a//b"), proto.Text("/zookeeper"), proto.Text("/zookeeper/config"),
			proto.Text("/zookeeper/quota/a"), proto.Text("/\x00"), proto.Text("/./a"))
	}
	path := proto.Text{'/', byte('a' + g.IntN(3))}
	if depth := g.IntN(5); depth > 0 {
		path = append(path, '/', byte('a'+g.IntN(3)))
		if depth > 3 {
			path = append(path, "/x"...)
		}
	}
	return path
}

func (g *generator) data() []byte {
	if g.IntN(8) == 0 {
		return nil
	}
	return bytes.Repeat([]byte{byte(g.IntN(256))}, g.IntN(40))
}

func (g *generator) acl() []proto.ACL {
	if g.IntN(6) > 0 {
		return openACL()
	}
	if g.IntN(8) == 0 {
		return pick(g, nil, []proto.ACL{}, []proto.ACL{entry(31, "foo", "bar")})
	}
	list := []proto.ACL{}
	for range 1 + g.IntN(3) {
		perms := proto.PermAll &^ int32(1<<g.IntN(8))
		list = append(list, pick(g, entry(perms, "world", "anyone"), entry(perms, "auth", ""),
			entry(perms, "digest", g.ids[0].ID), entry(perms, "ip", "10.0.0.0/8")))
	}
	return list
}

func (g *generator) version() int32 { return pick[int32](g, -1, -1, -1, -1, -1, -1, 0, 0, 1, 2, -2) }

func (g *generator) simple() (proto.OpCode, encodable) {
	mode := pick[int32](g, 0, 0, 0, 1, 1, 2, 3, 4)
	if g.IntN(30) == 0 {
		mode = pick[int32](g, -1, 5, 6, 7)
	}
	switch op := pick(g, proto.OpCreate, proto.OpCreate, proto.OpCreate, proto.OpCreate2, proto.OpCreate2,
		proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete, proto.OpDelete, proto.OpDelete, proto.OpSetData,
		proto.OpSetData, proto.OpCheck); op {
	case proto.OpCreateTTL:
		return op, &proto.CreateTTLRequest{Path: g.path(), Data: g.data(), Acl: g.acl(),
			Flags: pick(g, mode, 5, 5, 5, 6), Ttl: pick[int64](g, 1, 20, 50, 50, 0)}
	case proto.OpDelete:
		return op, &proto.DeleteRequest{Path: g.path(), Version: g.version()}
	case proto.OpSetData:
		return op, &proto.SetDataRequest{Path: g.path(), Data: g.data(), Version: g.version()}
	case proto.OpCheck:
		return op, &proto.CheckVersionRequest{Path: g.path(), Version: g.version()}
	default:
		return op, &proto.CreateRequest{Path: g.path(), Data: g.data(), Acl: g.acl(), Flags: mode}
	}
}

func (g *generator) request() Request {
	req := Request{
		Session:    pick(g, testSession, testSession, testSession, otherSession, otherSession, 0x33),
		Cxid:       g.Int32(),
		Identities: pick(g, nil, g.ids[:1], g.ids[1:2], g.ids, []auth.Identity{auth.SuperIdentity("")}),
	}
	var r encodable
	switch n := g.IntN(100); {
	case n < 6:
		req.Op, r = proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: 1000}
	case n < 8:
		req.Op, r = proto.OpCloseSession, new(multiOf)
	case n < 14:
		req.Session, req.Op, r = 0, proto.OpDeleteContainer, &proto.PathRequest{Path: g.path()}
	case n < 20:
		req.Op, r = proto.OpSetACL, &proto.SetACLRequest{Path: g.path(), Acl: g.acl(), Version: g.version()}
	case n < 45:
		m := new(multiOf)
		for range 1 + g.IntN(3)*g.IntN(3) {
			m.add(g.simple())
		}
		req.Op, r = proto.OpMulti, m
	default:
		req.Op, r = g.simple()
		if req.Op == proto.OpCheck {
			req.Op, r = proto.OpMulti, new(multiOf).add(req.Op, r)
		}
	}
	req.Body = r.AppendTo(nil)
	return req
}

// Requests are prepared up to k ahead of what is applied, and on a second State one by one. The txns must be the
// same to the byte, digest included: how far ahead a server works must not be visible. Apply must find what was
// predicted.
func TestPreparedAheadIsPreparedRight(t *testing.T) {
	seeds := []uint64{*prepareSeed}
	if *prepareSeed == 0 {
		seeds = nil
		for i := range *prepareSeeds {
			seeds = append(seeds, uint64(i)+1)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("SEED=%d", seed), func(t *testing.T) { ahead(t, seed, 400) }) // replay: -prepare.seed
	}
}

func ahead(t *testing.T, seed uint64, requests int) {
	g := newGenerator(seed)
	change := func(c *Config) { c.ExtendedTypes, c.MaxContainerNeverUsedMs = true, 40 }
	fast, slow := newPipeline(t, change), newPipeline(t, change)
	slow.applyAll()
	depth := 1 + g.IntN(60)
	for i := range requests {
		req := g.request()
		nowMs := fast.nowMs + int64(i)
		zxid := fast.zxid + 1

		a, errA, okA := fast.p.Prepare(nil, &req, zxid, nowMs)
		b, errB, okB := slow.p.Prepare(nil, &req, zxid, nowMs)
		same := errA == errB && okA == okB && bytes.Equal(a, b)
		if !same && okA && okB && req.Op == proto.OpCloseSession {
			same = bytes.Equal(sortedList(t, b), sortedList(t, a))
		}
		if !same {
			t.Fatalf("SEED=%d request %d: %v of %v\nahead      %v %v %x\none by one %v %v %x",
				seed, i, req.Op, req.Session, errA, okA, a, errB, okB, b)
		}
		if !okA {
			continue
		}
		fast.zxid, slow.zxid = zxid, zxid
		fast.queue = append(fast.queue, prepared{a, errA})
		slow.queue = append(slow.queue, prepared{b, errB})
		slow.applyAll()
		if len(fast.queue) > depth {
			fast.apply(1 + g.IntN(len(fast.queue)))
		}
		if i%50 == 0 {
			fast.p.checkInvariants(t)
		}
	}
	fast.applyAll()
	require.Equal(t, slow.s.Digest(), fast.s.Digest())
	fast.p.catchUp()
	fast.p.checkInvariants(t)
	require.Zero(t, fast.p.overlay.used)
	require.Empty(t, fast.p.opened.newest)
}

// sortedList returns a closeSession txn with its list sorted: the order may depend on what was
// applied when it was prepared.
func sortedList(t *testing.T, payload []byte) []byte {
	var h proto.TxnHeader
	var body proto.CloseSessionTxn
	require.NoError(t, h.ReadFrom(payload))
	r := proto.NewReader(payload[proto.TxnHeaderSize:])
	body.Decode(&r)
	slices.SortFunc(body.Paths2Delete, func(a, b proto.Text) int { return bytes.Compare(a, b) })
	return append(body.AppendTo(h.AppendTo(nil)), r.Rest()...)
}

// checkInvariants checks what the overlay promises itself.
func (p *Preparer) checkInvariants(t *testing.T) {
	t.Helper()
	o := &p.overlay
	used := 0
	newest := map[int32]proto.Zxid{}
	for i := o.changes.head; i != o.changes.tail; i++ {
		c := *o.changes.at(i)
		require.LessOrEqual(t, newest[c.slot], c.zxid)
		newest[c.slot] = c.zxid
	}
	for _, entry := range o.table {
		if entry == 0 {
			continue
		}
		used++
		s := entry - 1
		at := &o.slots[s]
		require.Equal(t, s, o.find(at.path, o.hash(at.path)), "%s is found", at.path)
		require.Equal(t, newest[s], at.zxid, "%s is dropped with its newest change", at.path)
		require.NotContains(t, o.free, s)
		if at.node.exists {
			require.GreaterOrEqual(t, at.node.NumChildren, int32(0))
		} else {
			require.Equal(t, future{}, at.node)
		}
	}
	require.Equal(t, o.used, used)
	require.Equal(t, len(newest), used)
	require.Equal(t, len(o.slots), used+len(o.free))
	require.False(t, o.journaling)
	require.LessOrEqual(t, 2*o.used, len(o.table))
}

// Whatever a client sends, Prepare does not panic, and a refused request leaves no trace. An accepted request can
// be applied and does what was predicted.
func FuzzPrepare(f *testing.F) {
	g := newGenerator(3)
	for range 200 {
		req := g.request()
		f.Add(int32(req.Op), req.Body)
	}
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		g := &generator{rand.New(rand.NewPCG(4, 4)), g.ids}
		l := newPipeline(t, func(c *Config) { c.ExtendedTypes, c.EnforceQuota = true, true })
		l.ids = g.ids
		for i := range 30 {
			l.send(g.simple2())
			if i == 15 {
				l.applyAll()
			}
		}
		before := l.p.image()
		err, ok := l.send(proto.OpCode(op), body)
		if !ok {
			require.Contains(t, []proto.ErrCode{proto.ErrMarshallingError, proto.ErrUnimplemented}, err)
			require.Equal(t, before, l.p.image())
		} else if err != proto.OK {
			require.Equal(t, before, l.p.image())
		}
		l.p.checkInvariants(t)
		l.applyAll()
	})
}

func (g *generator) simple2() (proto.OpCode, []byte) {
	op, r := g.simple()
	return op, r.AppendTo(nil)
}
