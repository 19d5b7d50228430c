package prepare

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// The order of checks. Each row of a table of client-protocol 11.2 is a violation that
// can be put into a request independently of the others, as far as that is possible at all. Every
// pair of violations is sent, and the one that stands higher must win.

// violation is one way to spoil a request. Exclusive marks violations of the same field, which
// cannot be combined.
type violation[R any] struct {
	name      string
	err       proto.ErrCode
	exclusive string
	spoil     func(l *pipeline, r *R)
}

// orderTree is the tree in which the requests are sent: it has a znode for every wish.
func orderTree(t testing.TB) *pipeline {
	l := newPipeline(t, func(c *Config) { c.EnforceQuota, c.ExtendedTypes = true, false })
	nobody := entry(0, "world", "anyone")
	create1 := func(path string, acl ...proto.ACL) {
		r := create(path, proto.ModePersistent)
		if acl != nil {
			r.Acl = acl
		}
		l.must(proto.OK, proto.OpCreate, r)
	}
	for _, root := range []string{"/open", "/quota"} {
		create1(root)
		create1(root + "/child")
		create1(root + "/empty")
		create1(root + "/full")
		create1(root + "/full/x")
		create1(root+"/locked", nobody)
		l.must(proto.OK, proto.OpCreate, create(root+"/eph", proto.ModeEphemeral))
	}
	// The znodes below a znode without permissions: created first, locked afterwards.
	for _, root := range []string{"/open", "/quota"} {
		for _, dir := range []string{"/dir", "/ephdir"} {
			create1(root + dir)
			create1(root + dir + "/empty")
			create1(root + dir + "/full")
			create1(root + dir + "/full/x")
			l.must(proto.OK, proto.OpSetACL, setACL(root+dir, -1, nobody))
		}
	}
	create1("/zookeeper/quota/quota")
	create1("/zookeeper/quota/quota/zookeeper_stats")
	limits := create("/zookeeper/quota/quota/zookeeper_limits", proto.ModePersistent)
	limits.Data = []byte("count=1,bytes=1=;byteHardLimit=1;countHardLimit=1")
	l.must(proto.OK, proto.OpCreate, limits)
	l.applyAll()
	return l
}

func testOrder[R any](
	t *testing.T, op proto.OpCode, base func() *R, violations []violation[R],
	send func(l *pipeline, r *R) proto.ErrCode,
) {
	l := orderTree(t)
	for i, first := range violations {
		for j := i; j < len(violations); j++ {
			second := violations[j]
			if i != j && first.exclusive != "" && first.exclusive == second.exclusive {
				continue
			}
			name := fmt.Sprintf("%v: %s before %s", op, first.name, second.name)
			r := base()
			l.session, l.ids, l.local = testSession, nil, false
			second.spoil(l, r)
			if i != j {
				first.spoil(l, r)
			}
			require.Equal(t, first.err, send(l, r), name)
		}
	}
	l.session, l.ids, l.local = testSession, nil, false
	require.Equal(t, proto.OK, send(l, base()), "%v without violation", op)
	l.applyAll()
}

func unknownSession(l *pipeline) { l.session = 0x77 }

// Create: the wishes about the place of the znode are combined in its path by hand, because a
// path can carry more than one of them.
func TestCreateOrder(t *testing.T) {
	type R = proto.CreateTTLRequest
	send := func(l *pipeline, r *R) proto.ErrCode {
		if proto.CreateMode(r.Flags).IsTTL() {
			return l.do(proto.OpCreateTTL, r)
		}
		return l.do(proto.OpCreate, &proto.CreateRequest{Path: r.Path, Data: r.Data, Acl: r.Acl, Flags: r.Flags})
	}
	path := func(p string) func(*pipeline, *R) {
		return func(_ *pipeline, r *R) { r.Path = proto.Text(p) }
	}
	testOrder(t, proto.OpCreate, func() *R { return createTTL("/open/new", 0, 0) }, []violation[R]{
		{"unknown flags", proto.ErrBadArguments, "flags", func(_ *pipeline, r *R) { r.Flags = 7 }},
		{"ttl while it is off", proto.ErrUnimplemented, "flags", func(_ *pipeline, r *R) { r.Flags = 5; r.Ttl = -1 }},
		{"ephemeral on a local session", proto.ErrEphemeralOnLocalSession, "flags",
			func(l *pipeline, r *R) { r.Flags = 1; l.local = true }},
		{"session", proto.ErrSessionExpired, "session", func(l *pipeline, r *R) { unknownSession(l) }},
		{"null path", proto.ErrBadArguments, "path", func(_ *pipeline, r *R) { r.Path = nil }},
		{"no slash", proto.ErrBadArguments, "path", path("new")},
		{"NUL", proto.ErrBadArguments, "path", path("/none/\x00")},
		{"null ACL", proto.ErrInvalidACL, "acl", func(_ *pipeline, r *R) { r.Acl = nil }},
		{"bad ACL", proto.ErrInvalidACL, "acl",
			func(_ *pipeline, r *R) { r.Acl = []proto.ACL{entry(31, "foo", "bar")} }},
		{"no parent", proto.ErrNoNode, "path", path("/none/new")},
		{"no parent, bad leaf", proto.ErrNoNode, "path", path("/none/.")},
		{"double slash", proto.ErrNoNode, "path", path("/open//new")},
		{"no slash in front", proto.ErrNoNode, "path", path("a/b")},
		{"no permission", proto.ErrNoAuth, "path", path("/open/locked/new")},
		{"no permission, bad leaf", proto.ErrNoAuth, "path", path("/open/locked/..")},
		{"no permission, exists", proto.ErrNoAuth, "path", path("/open/dir/empty")},
		{"bad leaf", proto.ErrBadArguments, "path", path("/open/..")},
		{"slash at the end", proto.ErrBadArguments, "path", path("/open/")},
		{"bad leaf below an ephemeral", proto.ErrBadArguments, "path", path("/open/eph/\x01")},
		{"exists", proto.ErrNodeExists, "path", path("/open/child")},
		{"root", proto.ErrNodeExists, "path", path("/")},
		{"exists, over quota", proto.ErrNodeExists, "path", path("/quota/child")},
		{"below an ephemeral", proto.ErrNoChildrenForEphemerals, "path", path("/open/eph/x")},
		{"below an ephemeral, over quota", proto.ErrNoChildrenForEphemerals, "path", path("/quota/eph/x")},
		{"quota", proto.ErrQuotaExceeded, "path", path("/quota/new")},
	}, send)
}

func TestTTLRules(t *testing.T) {
	on := newPipeline(t, func(c *Config) { c.ExtendedTypes = true })
	off := newPipeline(t, nil)
	for _, c := range []struct {
		op      proto.OpCode
		mode    proto.CreateMode
		ttl     int64
		on, off proto.ErrCode
	}{
		{proto.OpCreateTTL, proto.ModePersistentTTL, 1, proto.OK, proto.ErrUnimplemented},
		{proto.OpCreateTTL, proto.ModePersistentSequentialTTL, proto.MaxTTL, proto.OK, proto.ErrUnimplemented},
		{proto.OpCreateTTL, proto.ModePersistentTTL, 0, proto.ErrBadArguments, proto.ErrUnimplemented},
		{proto.OpCreateTTL, proto.ModePersistentTTL, -1, proto.ErrBadArguments, proto.ErrUnimplemented},
		{proto.OpCreateTTL, proto.ModePersistentTTL, proto.MaxTTL + 1, proto.ErrBadArguments, proto.ErrUnimplemented},
		{proto.OpCreateTTL, proto.ModePersistent, 5, proto.ErrBadArguments, proto.ErrBadArguments},
		// Kills the reference.
		{proto.OpCreateTTL, proto.ModePersistent, -1, proto.ErrBadArguments, proto.ErrBadArguments},
		{proto.OpCreateTTL, proto.ModeContainer, -1, proto.ErrBadArguments, proto.ErrBadArguments},
		{proto.OpCreateTTL, 7, 1, proto.ErrBadArguments, proto.ErrBadArguments},
		{proto.OpCreate, proto.ModePersistentTTL, 0, proto.ErrBadArguments, proto.ErrUnimplemented},
		{proto.OpCreate2, proto.ModePersistentSequentialTTL, 0, proto.ErrBadArguments, proto.ErrUnimplemented},
		{proto.OpCreateContainer, proto.ModePersistentTTL, 0, proto.ErrBadArguments, proto.ErrUnimplemented},
		{proto.OpCreate, -1, 0, proto.ErrBadArguments, proto.ErrBadArguments},
	} {
		var r encodable = createTTL("/t", c.mode, c.ttl)
		if c.op != proto.OpCreateTTL {
			r = create("/t", c.mode)
		}
		require.Equal(t, c.on, on.do(c.op, r), "%v mode %d ttl %d", c.op, c.mode, c.ttl)
		require.Equal(t, c.off, off.do(c.op, r), "%v mode %d ttl %d, switched off", c.op, c.mode, c.ttl)
	}
	on.applyAll()
	off.applyAll()
}

func TestDeleteOrder(t *testing.T) {
	type R = proto.DeleteRequest
	path := func(p string) func(*pipeline, *R) {
		return func(_ *pipeline, r *R) { r.Path = proto.Text(p) }
	}
	testOrder(t, proto.OpDelete, func() *R { return del("/open/empty", 0) }, []violation[R]{
		{"session", proto.ErrSessionExpired, "", func(l *pipeline, r *R) { unknownSession(l) }},
		{"null path", proto.ErrBadArguments, "path", func(_ *pipeline, r *R) { r.Path = nil }},
		{"no slash", proto.ErrBadArguments, "path", path("none")},
		{"NUL", proto.ErrBadArguments, "path", path("/none/\x00")},
		{"root", proto.ErrBadArguments, "path", path("/")},
		{"/zookeeper", proto.ErrBadArguments, "path", path("/zookeeper")},
		{"/zookeeper/quota", proto.ErrBadArguments, "path", path("/zookeeper/quota")},
		{"/zookeeper/config", proto.ErrBadArguments, "path", path("/zookeeper/config")},
		{"no parent", proto.ErrNoNode, "path", path("/none/x")},
		{"no slash in front", proto.ErrNoNode, "path", path("a/b")},
		{"no permission, missing", proto.ErrNoAuth, "path", path("/open/dir/none")},
		{"no permission", proto.ErrNoAuth, "path", path("/open/dir/empty")},
		{"no permission, not empty", proto.ErrNoAuth, "path", path("/open/dir/full")},
		{"missing", proto.ErrNoNode, "path", path("/open/none")},
		{"slash at the end", proto.ErrNoNode, "path", path("/open/")},
		{"slash in front", proto.ErrNoNode, "path", path("//open")},
		{"slash between", proto.ErrNoNode, "path", path("/open//empty")},
		{"version", proto.ErrBadVersion, "", func(_ *pipeline, r *R) { r.Version = 3 }},
		{"not empty", proto.ErrNotEmpty, "path", path("/open/full")},
	}, func(l *pipeline, r *R) proto.ErrCode { return l.do(proto.OpDelete, r) })
}

func TestSetDataOrder(t *testing.T) {
	type R = proto.SetDataRequest
	path := func(p string) func(*pipeline, *R) {
		return func(_ *pipeline, r *R) { r.Path = proto.Text(p) }
	}
	testOrder(t, proto.OpSetData, func() *R { return set("/open/child", "longer than before", 0) }, []violation[R]{
		{"session", proto.ErrSessionExpired, "", func(l *pipeline, r *R) { unknownSession(l) }},
		{"null path", proto.ErrBadArguments, "path", func(_ *pipeline, r *R) { r.Path = nil }},
		{"bad path", proto.ErrBadArguments, "path", path("/none/../x")},
		{"missing", proto.ErrNoNode, "path", path("/none")},
		{"no permission", proto.ErrNoAuth, "path", path("/open/locked")},
		{"no permission, over quota", proto.ErrNoAuth, "path", path("/quota/locked")},
		{"config", proto.ErrNoAuth, "path", path("/zookeeper/config")},
		{"quota", proto.ErrQuotaExceeded, "path", path("/quota/child")},
		{"version", proto.ErrBadVersion, "", func(_ *pipeline, r *R) { r.Version = 3 }},
	}, func(l *pipeline, r *R) proto.ErrCode { return l.do(proto.OpSetData, r) })
}

func TestSetACLOrder(t *testing.T) {
	type R = proto.SetACLRequest
	path := func(p string) func(*pipeline, *R) {
		return func(_ *pipeline, r *R) { r.Path = proto.Text(p) }
	}
	testOrder(t, proto.OpSetACL, func() *R { return setACL("/open/child", 0, openACL()...) }, []violation[R]{
		{"session", proto.ErrSessionExpired, "", func(l *pipeline, r *R) { unknownSession(l) }},
		{"null path", proto.ErrBadArguments, "path", func(_ *pipeline, r *R) { r.Path = nil }},
		{"bad path", proto.ErrBadArguments, "path", path("/none/")},
		{"bad ACL", proto.ErrInvalidACL, "", func(_ *pipeline, r *R) { r.Acl = nil }},
		{"missing", proto.ErrNoNode, "path", path("/none")},
		{"no permission", proto.ErrNoAuth, "path", path("/open/locked")},
		{"version", proto.ErrBadVersion, "", func(_ *pipeline, r *R) { r.Version = 3 }},
	}, func(l *pipeline, r *R) proto.ErrCode { return l.do(proto.OpSetACL, r) })
}

func TestCheckOrder(t *testing.T) {
	type R = proto.CheckVersionRequest
	path := func(p string) func(*pipeline, *R) {
		return func(_ *pipeline, r *R) { r.Path = proto.Text(p) }
	}
	testOrder(t, proto.OpCheck, func() *R { return check("/open/child", 0) }, []violation[R]{
		{"null path", proto.ErrBadArguments, "path", func(_ *pipeline, r *R) { r.Path = nil }},
		{"bad path", proto.ErrBadArguments, "path", path("//")},
		{"missing", proto.ErrNoNode, "path", path("/none")},
		{"no permission", proto.ErrNoAuth, "path", path("/open/locked")},
		{"version", proto.ErrBadVersion, "", func(_ *pipeline, r *R) { r.Version = 3 }},
	}, func(l *pipeline, r *R) proto.ErrCode { return l.multi(new(multiOf).add(proto.OpCheck, r))[0] })
}

func TestDeleteContainerOrder(t *testing.T) {
	l := newPipeline(t, func(c *Config) { c.ExtendedTypes = true })
	l.must(proto.OK, proto.OpCreate, create("/plain", proto.ModePersistent))
	l.must(proto.OK, proto.OpCreate, create("/eph", proto.ModeEphemeral))
	l.must(proto.OK, proto.OpCreate, create("/full", proto.ModePersistent))
	l.must(proto.OK, proto.OpCreate, create("/full/x", proto.ModePersistent))
	for path, err := range map[string]proto.ErrCode{
		"none":       proto.ErrBadArguments,
		"/zookeeper": proto.ErrBadArguments,
		"/":          proto.ErrBadArguments,
		"/none":      proto.ErrNoNode,
		"/none/x":    proto.ErrNoNode,
		"//plain":    proto.ErrNoNode,
		"/full":      proto.ErrNotEmpty,
		"/eph":       proto.ErrBadVersion,
		"/plain":     proto.ErrBadVersion,
	} {
		l.as(0).must(err, proto.OpDeleteContainer, &proto.PathRequest{Path: proto.Text(path)})
	}
	l.applyAll()
}
