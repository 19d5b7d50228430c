//go:build interop

package interop

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// Regions of the tree. In open every client may read everything, so that the watches of exists mean the same in 3.8;
// in secure any ACL may appear; quota is under a hard quota.
const (
	openRegion   = "/o"
	secureRegion = "/s"
	quotaRegion  = "/q"
	quotaNode    = "/zookeeper/quota/q"
)

// generator makes requests from a seed and from what the left server has answered.
type generator struct {
	rand     *rand.Rand
	ttl      bool             // TTL znodes are switched on
	versions map[string]int32 // data versions, as replies have shown them
	extra    []string         // paths with sequence suffixes
	known    []string         // znodes that exist, below the regions
}

func newGenerator(seed uint64, ttl bool) *generator {
	return &generator{rand: rand.New(rand.NewPCG(seed, 0x77617272656e)), ttl: ttl, versions: map[string]int32{}}
}

func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

func pick[T any](g *generator, list ...T) T { return list[g.rand.IntN(len(list))] }

// badPaths are refused by writes or simply missing, each for a reason of client-protocol 12.1.
var badPaths = []string{"", "a", "a/b", "//a", "/o/", "/o//a", "/o/.", "/o/..", "/o/.a", "/o/a.", "/o/...",
	"/o/a\x00b", "/o/\x01", "/o/\x1f", "/o/\x7f", "/o/\u0080", "/o/\u009f", "/o/\u00a0", "/o/\ue000", "/o/\uf8ff",
	"/o/\ufff0", "/o/\uffef", "/o/\u2028", "/o/\U0001F600", "/o/\xff\xfe", "/zz/.", "/zz/y", "/o/a/./b", "/o/ ", "/",
	"/zookeeper", "/zookeeper/quota", "/zookeeper/config"}

// region returns one of the three regions; quota only if single is set, because the reference
// checks quotas against what is applied and so lets a burst overshoot.
func (g *generator) region(single bool) string {
	if single && g.chance(15) {
		return quotaRegion
	}
	return pick(g, openRegion, openRegion, secureRegion)
}

// path returns a path in a region: itself, or up to three levels of few names.
func (g *generator) path(single bool) string {
	if len(g.extra) > 0 && g.chance(10) {
		return pick(g, g.extra...)
	}
	region := g.region(single)
	if g.chance(60) {
		for range 4 {
			if p := pick(g, append(g.known, region)...); strings.HasPrefix(p, region) {
				return p
			}
		}
	}
	p := region
	for range g.rand.IntN(4) {
		p += "/" + pick(g, "a", "b", "c")
	}
	return p
}

// newPath returns a path whose parent is likely to exist.
func (g *generator) newPath(single bool) string {
	if g.chance(25) {
		return g.anyPath(single)
	}
	p := g.path(single)
	if strings.Count(p, "/") > 4 {
		return p
	}
	return p + "/" + pick(g, "a", "b", "c", "d")
}

// anyPath is a path that may also be bad or a system znode.
func (g *generator) anyPath(single bool) string {
	if g.chance(6) {
		return pick(g, badPaths...)
	}
	return g.path(single)
}

func (g *generator) data() []byte {
	switch g.rand.IntN(8) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return []byte(strings.Repeat("x", g.rand.IntN(600)))
	}
	return fmt.Appendf(nil, "d%d", g.rand.IntN(1000))
}

func (g *generator) version(path string) int32 {
	switch g.rand.IntN(10) {
	case 0:
		return pick(g, int32(-2), 0, 1, 2, 3, 1<<31-1, -1<<31)
	case 1, 2, 3, 4:
		return g.versions[path]
	}
	return -1
}

// bobDigest is digest of bob:secret, a user of the sessions. Source: client-protocol 10.6.
const bobDigest = "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="

// acl returns a list for path: always readable by the world in the open region.
func (g *generator) acl(path string) []proto.ACL {
	if g.chance(60) {
		return wire.OpenACL
	}
	if !strings.HasPrefix(path, secureRegion) {
		list := wire.ACL(pick(g, int32(1), 5, 9, 13, 31, 63), "world", "anyone")
		if g.chance(30) {
			list = append(list, wire.ACL(31, "digest", bobDigest)...)
		}
		return list
	}
	var list []proto.ACL
	for range 1 + g.rand.IntN(3) {
		perms := pick(g, int32(0), 1, 2, 3, 4, 8, 12, 16, 17, 31, 31, 31, 63, -1)
		list = append(list, g.aclEntry(perms))
	}
	return list
}

func (g *generator) aclEntry(perms int32) proto.ACL {
	return pick(g,
		wire.ACL(perms, "world", "anyone"),
		wire.ACL(perms, "auth", ""),
		wire.ACL(perms, "digest", bobDigest),
		wire.ACL(perms, "digest", "eve:AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
		wire.ACL(perms, "digest", ":x"),
		wire.ACL(perms, "digest", "a:b:"),
		wire.ACL(perms, "ip", "127.0.0.1"),
		wire.ACL(perms, "ip", "127.0.0.0/8"),
		wire.ACL(perms, "ip", "10.0.0.0/8"),
		wire.ACL(perms, "ip", "0.0.0.0/0"),
	)[0]
}

// badACL is a list that must be refused.
func (g *generator) badACL() []proto.ACL {
	noID := []proto.ACL{{Perms: 31, Id: proto.ID{Scheme: proto.Text("world")}}}
	noScheme := []proto.ACL{{Perms: 31, Id: proto.ID{Id: proto.Text("anyone")}}}
	return pick(g, nil, []proto.ACL{}, noID, noScheme,
		wire.ACL(31, "world", "other"), wire.ACL(31, "world", ""), wire.ACL(31, "nope", "x"), wire.ACL(31, "", ""),
		wire.ACL(31, "super", ""), wire.ACL(31, "digest", "a"), wire.ACL(31, "digest", "a:"),
		wire.ACL(31, "digest", "a:b:c"), wire.ACL(31, "ip", ""), wire.ACL(31, "ip", "1.2.3"),
		wire.ACL(31, "ip", "1.2.3.4/33"), wire.ACL(31, "ip", "1.2.3.256"), wire.ACL(31, "ip", "1.2.3.4/x"),
		wire.ACL(31, "sasl", "bob"), wire.ACL(31, "x509", "CN=bob"),
		append(wire.ACL(31, "world", "anyone"), wire.ACL(31, "digest", "a")...))
}

// watchKind is the one kind of watch that is ever set on a path: 3.8 keeps one mode for each path
// and connection, so mixing them is not comparable.
func watchKind(path string) int {
	if len(path) < 3 {
		return 0
	}
	sum := 0
	for _, c := range []byte(path) {
		sum += int(c)
	}
	return sum % 3
}

// The kinds of watchKind.
const (
	kindStandard = iota
	kindPersistent
	kindRecursive
)

// watch decides whether a read of path sets a watch.
func (g *generator) watch(path string) bool { return watchKind(path) == kindStandard && g.chance(70) }

func (g *generator) mode() proto.CreateMode {
	return pick(g, proto.ModePersistent, proto.ModePersistent, proto.ModePersistent, proto.ModePersistent,
		proto.ModeEphemeral, proto.ModePersistentSequential, proto.ModeEphemeralSequential)
}

// create returns any request of the create family.
func (g *generator) create(single, inMulti bool) wire.Request {
	path := g.newPath(single)
	list := g.acl(path)
	if g.chance(5) {
		list = g.badACL()
		if inMulti {
			list = wire.ACL(31, "nope", "x")
		}
	}
	mode := g.mode()
	if g.chance(3) {
		mode = pick(g, proto.CreateMode(4), 5, 6, 7, -1, 100)
		if inMulti {
			mode = pick(g, proto.CreateMode(7), -1, 100)
		}
	}
	if mode.IsSequential() && g.chance(50) {
		path += pick(g, "/n-", "/", "-")
	}
	switch g.rand.IntN(12) {
	case 0, 1, 2:
		return wire.CreateOp(proto.OpCreate2, path, g.data(), list, mode)
	case 3:
		switch {
		case inMulti:
			mode = proto.ModeContainer
		case mode.IsEphemeral():
			mode-- // ZooKeeper refuses children of such a container until it is applied, and takes them afterwards
		}
		return wire.CreateOp(proto.OpCreateContainer, path, g.data(), list, pick(g, proto.ModeContainer, mode))
	case 4:
		// A mode that is not TTL with a negative ttl kills 3.8.
		ttl := pick(g, int64(60_000), 1, 1<<40-1, 0, -1, 1<<40)
		return wire.CreateTTL(path, g.data(), list,
			pick(g, proto.ModePersistentTTL, proto.ModePersistentSequentialTTL), ttl)
	case 5:
		if !inMulti {
			return wire.CreateTTL(path, g.data(), list, g.mode(), 1000)
		}
	}
	return wire.Create(path, g.data(), list, mode)
}

// write returns a write that may be part of a multi.
func (g *generator) write(single, inMulti bool) wire.Request {
	path := g.anyPath(single)
	switch g.rand.IntN(10) {
	case 0, 1, 2, 3, 4:
		return g.create(single, inMulti)
	case 5, 6:
		return wire.Delete(path, g.version(path))
	}
	return wire.SetData(path, g.data(), g.version(path))
}

// multi returns a multi of up to five operations. Only the first may touch the quota region, and
// no path is null: 3.8 does not survive it.
func (g *generator) multi(single bool) wire.Request {
	var ops []wire.Request
	for i := range pick(g, 0, 1, 2, 2, 3, 3, 5) {
		path := g.anyPath(false)
		if g.chance(25) {
			ops = append(ops, wire.Check(path, g.version(path)))
			continue
		}
		ops = append(ops, g.write(single && i == 0, true))
	}
	if g.chance(4) {
		ops = append(ops, pick(g, wire.SetACL("/o/a", wire.OpenACL, -1), wire.GetData("/o/a", false), wire.Sync("/o"),
			wire.CloseSession()))
	}
	return wire.Multi(ops...)
}

func (g *generator) multiRead(single bool) wire.Request {
	var ops []wire.Request
	for range g.rand.IntN(5) {
		path := g.anyPath(single)
		ops = append(ops, pick(g, wire.GetData(path, g.chance(30)), wire.GetChildren(path, g.chance(30))))
	}
	if g.chance(4) {
		ops = append(ops, wire.Delete("/o/a", -1))
	}
	return wire.MultiRead(ops...)
}

// read returns a read, perhaps with a watch.
func (g *generator) read(single bool) wire.Request {
	path := g.anyPath(single)
	if g.chance(3) {
		path = pick(g, "/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", quotaNode,
			quotaNode+"/zookeeper_limits", quotaNode+"/zookeeper_stats")
	}
	switch g.rand.IntN(12) {
	case 0, 1:
		// 3.8 sets the watch of exists also without READ.
		return wire.Exists(path, g.watch(path) && !strings.HasPrefix(path, secureRegion))
	case 2, 3, 4:
		return wire.GetData(path, g.watch(path))
	case 5:
		return wire.GetChildren(path, g.watch(path))
	case 6, 7:
		return wire.GetChildren2(path, g.watch(path))
	case 8:
		return wire.GetACL(path)
	case 9:
		return wire.GetAllChildrenNumber(path)
	case 10:
		return wire.GetEphemerals(pick(g, path, "/", "", " ", "/o", "/o/a"))
	}
	return g.multiRead(single)
}

// watchOp returns an operation on watches.
func (g *generator) watchOp() wire.Request {
	path := g.path(true)
	if g.chance(5) {
		path = pick(g, "/", "", "/zookeeper", "nopath")
	}
	kind := watchKind(path)
	switch g.rand.IntN(6) {
	case 0, 1, 2:
		switch kind {
		case kindPersistent:
			return wire.AddWatch(path, proto.AddWatchPersistent)
		case kindRecursive:
			return wire.AddWatch(path, proto.AddWatchPersistentRecursive)
		}
		return wire.AddWatch(path, pick(g, int32(2), -1, 7))
	case 3:
		// 3.8 takes children and data for any mode.
		if kind == kindStandard {
			return wire.CheckWatches(path, proto.WatcherType(1+g.rand.IntN(5)))
		}
		return wire.CheckWatches(path, pick(g, proto.WatcherAny, 0, 6))
	}
	if kind == kindStandard {
		return wire.RemoveWatches(path, pick(g, proto.WatcherChildren, proto.WatcherData, proto.WatcherAny))
	}
	return wire.RemoveWatches(path, pick(g, proto.WatcherAny, proto.WatcherAny, 0, -1, 6))
}

// setWatches returns one of the two requests of a reconnect.
func (g *generator) setWatches() func(relative proto.Zxid) wire.Request {
	var lists [5][]string
	for range g.rand.IntN(12) {
		path := g.path(true)
		switch watchKind(path) {
		case kindStandard:
			i := g.rand.IntN(3)
			lists[i] = append(lists[i], path)
		case kindPersistent:
			lists[3] = append(lists[3], path)
		case kindRecursive:
			lists[4] = append(lists[4], path)
		}
	}
	if g.chance(50) {
		return func(z proto.Zxid) wire.Request { return wire.SetWatches(z, lists[0], lists[1], lists[2]) }
	}
	return func(z proto.Zxid) wire.Request {
		return wire.SetWatches2(z, lists[0], lists[1], lists[2], lists[3], lists[4])
	}
}

// setACL ends its burst: 3.8 checks what is pipelined behind it against the old ACL.
func (g *generator) setACL() wire.Request {
	path := g.path(true)
	if g.chance(10) {
		path = pick(g, badPaths...)
	}
	list := g.acl(path)
	if g.chance(15) {
		list = g.badACL()
	}
	switch path {
	case "/", openRegion, secureRegion, quotaRegion, "/zookeeper", "/zookeeper/quota":
		list = wire.OpenACL
	}
	return wire.SetACL(path, list, pick(g, int32(-1), -1, -1, 0, 1, 2))
}

// mangled returns a request whose body is cut short or has impossible lengths.
func (g *generator) mangled() wire.Request {
	r := pick(g, g.read(false), g.write(false, false), wire.Multi(g.write(false, true)),
		wire.MultiRead(wire.GetData("/o", false)), wire.SetWatches(0, []string{"/o"}, nil, nil),
		wire.AddWatch("/o/a", proto.AddWatchPersistentRecursive), wire.CheckWatches("/o", 3),
		wire.SetACL("/o/a", wire.OpenACL, -1), wire.Sync("/o"), wire.Reconfig("", "", "", -1))
	switch g.rand.IntN(3) {
	case 0:
		if len(r.Body) > 0 {
			r.Body = r.Body[:g.rand.IntN(len(r.Body))]
		}
	case 1:
		// The length or count at the front: negative or huge.
		body := append([]byte{}, r.Body...)
		if len(body) >= 4 && r.Op != proto.OpMulti && r.Op != proto.OpMultiRead && r.Op != proto.OpSync {
			copy(body, pick(g, "\xff\xff\xff\xfe", "\x80\x00\x00\x00", "\x7f\xff\xff\xff", "\x00\x10\x00\x00"))
		}
		r.Body = body
	case 2:
		// Bytes after the record are ignored.
		r.Body = append(append([]byte{}, r.Body...), "tail"...)
	}
	return r
}

// nullPath returns a request with a null path.
func (g *generator) nullPath() wire.Request {
	null := func(op proto.OpCode, rest []byte) wire.Request {
		return wire.Request{Op: op, Body: append([]byte{0xff, 0xff, 0xff, 0xff}, rest...)}
	}
	return pick(g, null(proto.OpExists, []byte{0}), null(proto.OpGetData, []byte{1}),
		null(proto.OpGetChildren2, []byte{0}), null(proto.OpGetACL, nil), null(proto.OpSync, nil),
		null(proto.OpGetEphemerals, nil), null(proto.OpGetAllChildrenNumber, nil),
		wire.Request{Op: proto.OpCreate, Body: (&proto.CreateRequest{Acl: wire.OpenACL}).AppendTo(nil)})
}
