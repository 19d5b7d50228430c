package model_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// record is a request that can be encoded.
type record interface{ AppendTo([]byte) []byte }

// step does one random operation, and now and then applies what has been prepared.
func (w *world) step() {
	for len(w.prepared) > 0 && w.rand.IntN(w.depth+1) == 0 {
		w.apply()
	}
	w.stepSnapshots()
	if len(w.conns) == 0 {
		w.openSession()
	}
	c := w.conns[w.rand.IntN(len(w.conns))]
	switch p := w.rand.IntN(100); {
	case p < 47:
		op, body := w.drawWrite()
		w.write(c, c.session, op, w.mangle(body))
	case p < 57:
		w.write(c, c.session, proto.OpMulti, w.mangle(w.drawMulti()))
	case p < 62:
		w.quotaOp(c)
	case p < 77:
		op, body := w.drawRead()
		w.read(c, op, w.mangle(body))
	case p < 89:
		op, body := w.drawWatch(c)
		w.read(c, op, body)
	case p < 92:
		w.expireZnode()
	case p < 94 && len(w.conns) < 6:
		w.openSession()
	case p < 95:
		w.write(c, c.session, proto.OpCloseSession, nil)
	case p < 96:
		w.reconnect(c)
	case p < 97:
		w.authenticate(c)
	case p < 98:
		w.now += int64(w.rand.IntN(400_000))
	case p < 99:
		w.newLeader()
	default:
		w.beginSnapshot()
	}
}

// mangle spoils a few of the bodies.
func (w *world) mangle(body []byte) []byte {
	switch w.rand.IntN(40) {
	case 0:
		return body[:w.rand.IntN(len(body)+1)]
	case 1:
		return append(body, 1, 2, 3) // legal: extra bytes are ignored
	case 2:
		if len(body) > 0 {
			body[w.rand.IntN(len(body))] ^= 1 << w.rand.IntN(8)
		}
	}
	return body
}

// openSession begins a session and a connection of it.
func (w *world) openSession() {
	w.opens++
	session := proto.SessionID([]int64{1, 0x0100_0000_0000_0000, -0x7000_0000_0000_0000}[w.opens%3] + int64(w.opens))
	ids := []auth.Identity{auth.NewIPIdentity(netip.AddrFrom4([4]byte{10, 0, 0, byte(w.opens % 3)}))}
	c := w.newConn(session, ids)
	w.write(nil, session, proto.OpCreateSession, proto.AppendInt32(nil, int32(4000+w.rand.IntN(1000))))
	if w.rand.IntN(3) == 0 {
		w.authenticate(c)
	}
}

func (w *world) authenticate(c *conn) {
	id := auth.NewDigestIdentity([]string{"bob", "eve"}[w.rand.IntN(2)], "secret")
	if w.rand.IntN(25) == 0 {
		id = auth.SuperIdentity("")
	}
	if !slices.Contains(c.ids, id) {
		c.ids = append(slices.Clone(c.ids), id)
	}
	ids := modelIDs(c.ids)
	w.model.Authenticate(c.number, ids[len(ids)-1])
	w.model.Connect(c.number, ids)
	w.log("     connection %d is %v", c.number, ids)
}

// reconnect gives a session another connection, which registers some watches again.
func (w *world) reconnect(c *conn) {
	closing, seen, ids := c.closing, c.seen, c.ids
	w.dropConn(c)
	c = w.newConn(c.session, ids)
	c.closing, c.seen = closing, seen
	if w.rand.IntN(3) > 0 {
		seen -= proto.Zxid(w.rand.IntN(20))
	}
	list := func() (paths []proto.Text) {
		paths = []proto.Text{}
		for range w.rand.IntN(4) {
			paths = append(paths, w.text(w.drawPath()))
		}
		return paths
	}
	w.read(c, proto.OpSetWatches2, (&proto.SetWatches2{
		RelativeZxid: seen, DataWatches: list(), ExistWatches: list(), ChildWatches: list(),
		PersistentWatches: list(), PersistentRecursiveWatches: list(),
	}).AppendTo(nil))
}

// newLeader drops what has been prepared and not applied, as when another leader is elected.
func (w *world) newLeader() {
	w.log("     new leader, %d writes are lost", len(w.prepared))
	for _, wr := range w.prepared {
		if wr.by != nil && wr.request.Op == proto.OpCloseSession {
			wr.by.closing = false
		}
	}
	w.prepared = nil
	w.preparer.Reset()
	w.zxid = proto.MakeZxid(w.zxid.Epoch()+1, 0)
}

// expireZnode is the server's reaper: it asks for what is due, or for anything.
func (w *world) expireZnode() {
	path := w.drawPath()
	if w.rand.IntN(2) == 0 {
		w.state.EachDue(w.now, w.cfg.MaxContainerNeverUsedMs, func(due []byte) bool {
			path = string(due)
			return w.rand.IntN(2) == 0
		})
	}
	w.write(nil, 0, proto.OpDeleteContainer, (&proto.PathRequest{Path: w.text(path)}).AppendTo(nil))
}

// quotaOp works at a quota: it makes the next znode of one that is missing, or changes it.
func (w *world) quotaOp(c *conn) {
	target := []string{"/a", "/a/b", "/b"}[w.rand.IntN(3)]
	place := "/zookeeper/quota"
	for _, name := range append(strings.Split(target[1:], "/"), "zookeeper_limits", "zookeeper_stats") {
		at := place + "/" + name
		if !strings.HasPrefix(name, "zookeeper_") {
			place = at
		}
		if _, _, _, ok := w.model.Znode(at); !ok {
			w.write(c, c.session, proto.OpCreate,
				(&proto.CreateRequest{Path: w.text(at), Data: w.drawLimits(), Acl: open()}).AppendTo(nil))
			return
		}
	}
	at := place + "/zookeeper_" + []string{"limits", "limits", "limits", "stats"}[w.rand.IntN(4)]
	if w.rand.IntN(3) == 0 {
		w.write(c, c.session, proto.OpDelete, (&proto.DeleteRequest{Path: w.text(at), Version: -1}).AppendTo(nil))
		return
	}
	data := w.drawLimits()
	if strings.HasSuffix(at, "stats") {
		data = fmt.Appendf(nil, "count=%d,bytes=%d", w.rand.IntN(10)-5, w.rand.IntN(100)-50)
	}
	w.write(c, c.session, proto.OpSetData,
		(&proto.SetDataRequest{Path: w.text(at), Data: data, Version: -1}).AppendTo(nil))
}

func (w *world) drawLimits() []byte {
	n := func() int { return w.rand.IntN(30) - 1 }
	switch w.rand.IntN(8) {
	case 0:
		return nil
	case 1:
		return []byte("junk;;=,count,bytes=x")
	case 2:
		return fmt.Appendf(nil, "count=%d,bytes=%d", n(), n())
	}
	return fmt.Appendf(nil, "count=%d,bytes=%d=;byteHardLimit=%d;countHardLimit=%d", n(), n(), n(), n())
}

// drawWrite draws a write that is no multi.
func (w *world) drawWrite() (proto.OpCode, []byte) {
	switch p := w.rand.IntN(20); {
	case p < 9:
		op, r := w.drawCreate()
		return op, r.AppendTo(nil)
	case p < 14:
		return proto.OpSetData, w.drawSetData().AppendTo(nil)
	case p < 17:
		return proto.OpDelete, w.drawDelete().AppendTo(nil)
	case p < 19:
		path := w.drawPath()
		_, _, stat, _ := w.model.Znode(path)
		return proto.OpSetACL,
			(&proto.SetACLRequest{Path: w.text(path), Acl: w.drawACL(),
				Version: w.drawVersion(stat.Aversion)}).AppendTo(nil)
	case w.rand.IntN(4) > 0:
		return w.drawWrite()
	}
	return proto.OpReconfig,
		(&proto.ReconfigRequest{NewMembers: proto.Text("server.1=a:1:2"), CurConfigID: -1}).AppendTo(nil)
}

// drawMulti draws a multi. Half of them do what mostly succeeds, so that not all end in a rollback.
func (w *world) drawMulti() []byte {
	var b []byte
	isPlain := w.rand.IntN(2) == 0
	for range w.rand.IntN(6) {
		if isPlain {
			b = w.appendPlain(b)
			continue
		}
		var op proto.OpCode
		var r record
		switch p := w.rand.IntN(20); {
		case p < 9:
			op, r = w.drawCreate()
		case p < 13:
			op, r = proto.OpSetData, w.drawSetData()
		case p < 16:
			op, r = proto.OpDelete, w.drawDelete()
		default:
			path := w.drawPath()
			_, _, stat, _ := w.model.Znode(path)
			op, r = proto.OpCheck, &proto.CheckVersionRequest{Path: w.text(path), Version: w.drawVersion(stat.Version)}
		}
		if w.rand.IntN(150) == 0 {
			op = proto.OpSetACL // not allowed here
		}
		b = r.AppendTo(proto.AppendMultiOp(b, op))
	}
	return proto.AppendMultiEnd(b)
}

// appendPlain appends an operation that seldom fails.
func (w *world) appendPlain(b []byte) []byte {
	mode := int32(2 + w.rand.IntN(2)) // sequential
	create := proto.CreateRequest{Path: proto.Text("/" + names[w.rand.IntN(len(names))]), Data: w.drawData(),
		Acl: open(), Flags: mode}
	paths := w.model.Paths()
	path := proto.Text(paths[w.rand.IntN(len(paths))])
	switch w.rand.IntN(5) {
	case 0:
		return create.AppendTo(proto.AppendMultiOp(b, proto.OpCreate))
	case 1:
		return create.AppendTo(proto.AppendMultiOp(b, proto.OpCreate2))
	case 2:
		return (&proto.CheckVersionRequest{Path: path, Version: -1}).AppendTo(proto.AppendMultiOp(b, proto.OpCheck))
	case 3:
		for _, path := range slices.Backward(paths) {
			if path > "/" && !strings.HasPrefix(path, "/zookeeper") && len(w.model.Children(path)) == 0 &&
				w.rand.IntN(3) == 0 {
				b = proto.AppendMultiOp(b, proto.OpDelete)
				return (&proto.DeleteRequest{Path: proto.Text(path), Version: -1}).AppendTo(b)
			}
		}
	}
	b = proto.AppendMultiOp(b, proto.OpSetData)
	return (&proto.SetDataRequest{Path: path, Data: w.drawData(), Version: -1}).AppendTo(b)
}

func (w *world) drawCreate() (proto.OpCode, record) {
	path, data, acl := w.drawNewPath(), w.drawData(), w.drawACL()
	mode := int32(w.rand.IntN(4))
	switch p := w.rand.IntN(20); {
	case p < 3:
		return proto.OpCreateContainer, &proto.CreateRequest{Path: w.text(path), Data: data, Acl: acl,
			Flags: w.oddly(4)}
	case p < 6:
		ttl := int64(1 + w.rand.IntN(500_000))
		if w.rand.IntN(8) == 0 {
			ttl = []int64{0, -1, 1<<40 - 1, 1 << 40, -1 << 63}[w.rand.IntN(5)]
		}
		return proto.OpCreateTTL, &proto.CreateTTLRequest{Path: w.text(path), Data: data, Acl: acl,
			Flags: w.oddly(5 + int32(w.rand.IntN(2))), Ttl: ttl}
	case p < 10:
		return proto.OpCreate2, &proto.CreateRequest{Path: w.text(path), Data: data, Acl: acl, Flags: w.oddly(mode)}
	}
	return proto.OpCreate, &proto.CreateRequest{Path: w.text(path), Data: data, Acl: acl, Flags: w.oddly(mode)}
}

// oddly is flags, or now and then any others.
func (w *world) oddly(flags int32) int32 {
	if w.rand.IntN(15) == 0 {
		return int32(w.rand.IntN(10)) - 1
	}
	return flags
}

func (w *world) drawSetData() *proto.SetDataRequest {
	path := w.drawPath()
	_, _, stat, _ := w.model.Znode(path)
	return &proto.SetDataRequest{Path: w.text(path), Data: w.drawData(), Version: w.drawVersion(stat.Version)}
}

func (w *world) drawDelete() *proto.DeleteRequest {
	path := w.drawPath()
	_, _, stat, _ := w.model.Znode(path)
	return &proto.DeleteRequest{Path: w.text(path), Version: w.drawVersion(stat.Version)}
}

// drawVersion is any, the current one, or a little off.
func (w *world) drawVersion(current int32) int32 {
	switch p := w.rand.IntN(10); {
	case p < 5:
		return -1
	case p < 8:
		return current
	}
	return current + int32(w.rand.IntN(5)) - 2
}

func (w *world) drawData() []byte {
	switch w.rand.IntN(8) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return make([]byte, w.rand.IntN(600))
	}
	return fmt.Appendf(nil, "data %d", w.rand.IntN(1000))
}

func (w *world) drawRead() (proto.OpCode, []byte) {
	ops := []proto.OpCode{
		proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2, proto.OpGetACL,
		proto.OpGetAllChildrenNumber, proto.OpGetEphemerals, proto.OpMultiRead,
	}
	switch op := ops[w.rand.IntN(len(ops))]; op {
	case proto.OpGetACL, proto.OpGetAllChildrenNumber:
		return op, (&proto.PathRequest{Path: w.text(w.drawPath())}).AppendTo(nil)
	case proto.OpGetEphemerals:
		prefix := [][]byte{nil, {}, []byte("/"), []byte("  "), []byte("/a"), []byte("/a/b")}[w.rand.IntN(6)]
		return op, (&proto.GetEphemeralsRequest{PrefixPath: prefix}).AppendTo(nil)
	case proto.OpMultiRead:
		var b []byte
		for range w.rand.IntN(4) {
			inner := []proto.OpCode{proto.OpGetData, proto.OpGetChildren}[w.rand.IntN(2)]
			if w.rand.IntN(40) == 0 {
				inner = proto.OpSetData // not allowed here
			}
			q := proto.PathWatchRequest{Path: proto.Text(w.drawPath()), Watch: w.rand.IntN(2) == 0}
			b = q.AppendTo(proto.AppendMultiOp(b, inner))
		}
		return op, proto.AppendMultiEnd(b)
	default:
		path := w.drawPath()
		if w.rand.IntN(20) == 0 {
			path += "\x00"
		}
		return op, (&proto.PathWatchRequest{Path: w.text(path), Watch: w.rand.IntN(2) == 0}).AppendTo(nil)
	}
}

// drawWatch draws an operation on watches. What a server refuses before it gets to Watches (modes
// and types that do not exist, null paths) is not drawn.
func (w *world) drawWatch(c *conn) (proto.OpCode, []byte) {
	path := proto.Text(w.drawPath())
	if c.watched != nil && w.rand.IntN(2) == 0 {
		path = c.watched
	}
	c.watched = path
	switch w.rand.IntN(5) {
	case 0:
		return proto.OpAddWatch, (&proto.AddWatchRequest{Path: path, Mode: int32(w.rand.IntN(2))}).AppendTo(nil)
	case 1:
		return proto.OpCheckWatches,
			(&proto.CheckWatchesRequest{Path: path, Type: proto.WatcherType(1 + w.rand.IntN(5))}).AppendTo(nil)
	case 2:
		return proto.OpRemoveWatches,
			(&proto.CheckWatchesRequest{Path: path, Type: proto.WatcherType(1 + w.rand.IntN(5))}).AppendTo(nil)
	}
	op := []proto.OpCode{proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2}[w.rand.IntN(4)]
	return op, (&proto.PathWatchRequest{Path: path, Watch: true}).AppendTo(nil)
}

var names = []string{"a", "b", "c", "ab", "a.b", "...", "ü", "0000000001", "x"}

var weird = []string{
	"", "/", "a", "a/b", "/a/", "/a//b", "//", "//a", "/.", "/..", "/a/.", "/a/..", "/a/../b", "/a\x00b", "/a\x1f",
	"/\x7f", "/\u0085", "/\ue000", "/\ufff0", "/\U00010000", "/\xff", "/a/\xc3", "/zookeeper", "/zookeeper/quota",
	"/zookeeper/config", "/zookeeper/x", "/zookeeper/quota/zookeeper_limits", "/ \u2028\ufeff", "/none/none",
}

// drawPath draws a path, mostly one that exists.
func (w *world) drawPath() string {
	if w.rand.IntN(10) < 7 {
		paths := w.model.Paths()
		return paths[w.rand.IntN(len(paths))]
	}
	return w.drawNewPath()
}

// drawNewPath draws a path, mostly a child of one that exists.
func (w *world) drawNewPath() string {
	switch p := w.rand.IntN(20); {
	case p < 1:
		return weird[w.rand.IntN(len(weird))]
	case p < 9:
		paths := w.model.Paths()
		parent := paths[w.rand.IntN(len(paths))]
		if !strings.HasPrefix(parent, "/zookeeper") || w.rand.IntN(10) == 0 {
			return strings.TrimSuffix(parent, "/") + "/" + names[w.rand.IntN(len(names))]
		}
	}
	path := ""
	for range 1 + w.rand.IntN(3) {
		path += "/" + names[w.rand.IntN(3)]
	}
	return path
}

// text is path, or null where it is empty, now and then.
func (w *world) text(path string) proto.Text {
	if path == "" && w.rand.IntN(2) == 0 {
		return nil
	}
	return proto.Text(path)
}

func open() []proto.ACL { return []proto.ACL{acl(proto.PermAll, "world", "anyone")} }

func acl(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

// drawACL draws a list that is mostly open, sometimes narrow, and rarely malformed.
func (w *world) drawACL() []proto.ACL {
	if w.rand.IntN(3) > 0 {
		return open()
	}
	bob := auth.NewDigestIdentity("bob", "secret").ID
	good := []proto.ACL{
		acl(proto.PermRead, "world", "anyone"), acl(proto.PermAll, "auth", ""), acl(31, "digest", bob),
		acl(proto.PermRead|proto.PermAdmin, "digest", bob), acl(31, "ip", "10.0.0.1"), acl(31, "ip", "10.0.0.0/31"),
		acl(7, "ip", "::1"), acl(0, "world", "anyone"), acl(1<<10|1, "world", "anyone"),
		acl(31&^proto.PermRead, "world", "anyone"), acl(31, "digest", ":x"), acl(31, "digest", "a:b:"),
		acl(31&^proto.PermDelete, "world", "anyone"),
	}
	bad := []proto.ACL{
		acl(31, "world", "bob"), acl(31, "digest", "a"), acl(31, "digest", "a:"), acl(31, "digest", "a:b:c"),
		acl(31, "ip", "10.0.0.256"), acl(31, "ip", "10.0.0.0/33"), acl(31, "super", ""), acl(31, "sasl", "bob"),
		acl(31, "x509", "CN=bob"), acl(31, "", ""), {Perms: 31, Id: proto.ID{Id: proto.Text("anyone")}},
		{Perms: 31, Id: proto.ID{Scheme: proto.Text("world")}},
		{Perms: 31, Id: proto.ID{Scheme: proto.Text("digest")}},
	}
	null := proto.ACL{Perms: 31, Id: proto.ID{Scheme: proto.Text("auth")}} // null id: accepted
	var list []proto.ACL
	for range w.rand.IntN(4) {
		list = append(list, good[w.rand.IntN(len(good))])
	}
	switch w.rand.IntN(12) {
	case 0:
		list = append(list, bad[w.rand.IntN(len(bad))])
	case 1:
		list = append(list, null)
	case 2:
		list = append(list, list...)
	case 3:
		return []proto.ACL{}
	case 4:
		return nil
	}
	if len(list) == 0 {
		return open()
	}
	return list
}

// show returns a body in a form for failures.
func show(op proto.OpCode, body []byte) string {
	if len(body) > 200 {
		return fmt.Sprintf("%q... of %d bytes", body[:200], len(body))
	}
	return fmt.Sprintf("%q", body)
}
