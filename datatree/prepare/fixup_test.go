package prepare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// The fix-up of server-semantics 9.4 and client-protocol 10.5.
func TestFixup(t *testing.T) {
	null := func(e proto.ACL, scheme, id bool) proto.ACL {
		if scheme {
			e.Id.Scheme = nil
		}
		if id {
			e.Id.Id = nil
		}
		return e
	}
	bob, joe := auth.NewDigestIdentity("bob", "secret"), auth.NewSASLIdentity("joe", "")
	peer := ip("127.0.0.1")
	world := openACL()[0]
	all := auth.DefaultProviders | auth.ProviderSASL | auth.ProviderX509
	for _, c := range []struct {
		name      string
		in        []proto.ACL
		ids       []auth.Identity
		providers auth.Providers
		out       []proto.ACL // nil: ErrInvalidACL
	}{
		{"open", openACL(), nil, 0, openACL()},
		{"null", nil, nil, all, nil},
		{"empty", []proto.ACL{}, nil, all, nil},
		{"duplicates", []proto.ACL{world, entry(1, "world", "anyone"), world}, nil, all,
			[]proto.ACL{world, entry(1, "world", "anyone")}},
		{"world with another id", []proto.ACL{entry(31, "world", "nobody")}, nil, all, nil},
		{"null scheme", []proto.ACL{world, null(world, true, false)}, nil, all, nil},
		{"null id of world", []proto.ACL{null(world, false, true)}, nil, all, nil},
		{"null id of digest", []proto.ACL{null(entry(31, "digest", ""), false, true)}, nil, all, nil},
		{"null id of auth", []proto.ACL{null(entry(31, "auth", ""), false, true)}, []auth.Identity{bob}, all,
			[]proto.ACL{entry(31, "digest", bob.ID)}},
		{"auth", []proto.ACL{entry(5, "auth", "whatever")}, []auth.Identity{peer, bob}, all,
			[]proto.ACL{entry(5, "digest", bob.ID)}},
		{"auth of several", []proto.ACL{entry(5, "auth", "")}, []auth.Identity{bob, joe, auth.SuperIdentity("")}, all,
			[]proto.ACL{entry(5, "digest", bob.ID), entry(5, "sasl", "joe")}},
		{"auth of an address", []proto.ACL{entry(5, "auth", "")},
			[]auth.Identity{peer, auth.SuperIdentity("")}, all, nil},
		{"auth of nobody", []proto.ACL{world, entry(5, "auth", "")}, nil, all, nil},
		{"auth may make duplicates", []proto.ACL{entry(5, "digest", bob.ID), entry(5, "auth", "")},
			[]auth.Identity{bob}, all, []proto.ACL{entry(5, "digest", bob.ID), entry(5, "digest", bob.ID)}},
		{"unknown scheme", []proto.ACL{entry(31, "foo", "bar")}, nil, all, nil},
		{"empty scheme", []proto.ACL{entry(31, "", "bar")}, nil, all, nil},
		{"super", []proto.ACL{entry(31, "super", "")}, []auth.Identity{auth.SuperIdentity("")}, all, nil},
		{"digest", []proto.ACL{entry(31, "digest", ":x")}, nil, all, []proto.ACL{entry(31, "digest", ":x")}},
		{"digest without colon", []proto.ACL{entry(31, "digest", "a")}, nil, all, nil},
		{"digest without hash", []proto.ACL{entry(31, "digest", "a:")}, nil, all, nil},
		{"digest with three parts", []proto.ACL{entry(31, "digest", "a:b:c")}, nil, all, nil},
		{"digest with colons behind", []proto.ACL{entry(31, "digest", "a:b:")}, nil, all,
			[]proto.ACL{entry(31, "digest", "a:b:")}},
		{"digest switched off", []proto.ACL{entry(31, "digest", "a:b")}, nil, auth.ProviderIP, nil},
		{"ip", []proto.ACL{entry(31, "ip", "10.0.0.0/8")}, nil, all, []proto.ACL{entry(31, "ip", "10.0.0.0/8")}},
		{"broken ip", []proto.ACL{entry(31, "ip", "10.0.0.0/33")}, nil, all, nil},
		{"sasl", []proto.ACL{entry(31, "sasl", "zk/host@REALM")}, nil, all,
			[]proto.ACL{entry(31, "sasl", "zk/host@REALM")}},
		{"sasl not set up", []proto.ACL{entry(31, "sasl", "joe")}, nil, auth.DefaultProviders, nil},
		{"broken sasl", []proto.ACL{entry(31, "sasl", "a@b@c")}, nil, all, nil},
		{"x509", []proto.ACL{entry(31, "x509", "CN=a,O=b")}, nil, all, []proto.ACL{entry(31, "x509", "CN=a,O=b")}},
		{"x509 not set up", []proto.ACL{entry(31, "x509", "CN=a")}, nil, auth.DefaultProviders, nil},
		{"permissions are not judged", []proto.ACL{entry(0, "world", "anyone"), entry(-1, "world", "anyone")}, nil,
			all, []proto.ACL{entry(0, "world", "anyone"), entry(-1, "world", "anyone")}},
	} {
		var f fixup
		err := f.run(c.in, c.ids, c.providers, 1<<20)
		if c.out == nil {
			require.Equal(t, proto.ErrInvalidACL, err, c.name)
			continue
		}
		require.Equal(t, proto.OK, err, c.name)
		require.Equal(t, c.out, decodeACL(t, f.encoded), c.name)
		require.Equal(t, len(c.out) == 1 && equalEntries(&c.out[0], &world), f.open, c.name)
	}
}

// Long lists find their duplicates through a hash table: the result is that of comparing all
// pairs, and it takes a moment, not minutes.
func TestFixupOfLongLists(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	var f fixup
	for range 50 {
		var list, want []proto.ACL
		for range fixupQuadratic + rng.IntN(200) {
			list = append(list, entry(int32(rng.IntN(4)), "digest", fmt.Sprintf("u%d:x", rng.IntN(20))))
		}
		for i := range list {
			duplicate := false
			for j := range i {
				duplicate = duplicate || equalEntries(&list[i], &list[j])
			}
			if !duplicate {
				want = append(want, list[i])
			}
		}
		require.Equal(t, proto.OK, f.run(list, nil, auth.DefaultProviders, 1<<20))
		require.Equal(t, want, decodeACL(t, f.encoded), "seed %d", seed)
	}
	long := make([]proto.ACL, 80_000)
	for i := range long {
		long[i] = entry(int32(i), "world", "anyone")
	}
	require.Equal(t, proto.OK, f.run(long, nil, 0, 1<<22))
	require.Equal(t, len(long), len(decodeACL(t, f.encoded)))
}

// A request of many auth entries on a connection with many identities must not become a txn of
// gigabytes.
func TestFixupIsBounded(t *testing.T) {
	ids := make([]auth.Identity, 1000)
	for i := range ids {
		ids[i] = auth.NewDigestIdentity(fmt.Sprint("user", i), "x")
	}
	list := make([]proto.ACL, 1000)
	for i := range list {
		list[i] = entry(int32(i), "auth", "")
	}
	var f fixup
	require.Equal(t, proto.ErrInvalidACL, f.run(list, ids, auth.DefaultProviders, 1<<20))
	require.Less(t, cap(f.encoded), 4<<20)
}

// However a client combines auth entries with other large fields, no txn is larger than what ZooKeeper reads. Without
// auth entries a request of the largest size becomes a txn.
func TestTxnsWithAuthEntriesAreBounded(t *testing.T) {
	p := newPipeline(t, nil)
	for i := range 1000 {
		p.ids = append(p.ids, auth.NewDigestIdentity(fmt.Sprint("user", i), "x"))
	}
	const most = 1_000_000 // of a field
	multiplied := make([]proto.ACL, 33)
	for i := range multiplied {
		multiplied[i] = entry(int32(i), "auth", "")
	}
	long := "/" + strings.Repeat("p", most)
	p.must(proto.OK, proto.OpCreate, &proto.CreateRequest{Path: proto.Text(long), Acl: openACL()})
	large := &proto.CreateRequest{Path: proto.Text("/a"), Data: make([]byte, most), Acl: multiplied}
	p.must(proto.ErrInvalidACL, proto.OpCreate, large)
	p.must(proto.ErrInvalidACL, proto.OpSetACL, &proto.SetACLRequest{Path: proto.Text(long), Acl: multiplied})
	small := &proto.CreateRequest{Path: proto.Text("/a"), Acl: multiplied}
	multi := small.AppendTo(proto.AppendMultiOp(nil, proto.OpCreate))
	set := proto.SetDataRequest{Path: proto.Text("/a"), Data: make([]byte, most), Version: -1}
	multi = set.AppendTo(proto.AppendMultiOp(multi, proto.OpSetData))
	code, ok := p.send(proto.OpMulti, proto.AppendMultiEnd(multi))
	require.True(t, ok)
	require.Equal(t, proto.OK, code, "the slots have the error")
	p.must(proto.OK, proto.OpCreate, small)
	large.Path, large.Acl = proto.Text("/b"), openACL()
	p.must(proto.OK, proto.OpCreate, large)
	for _, q := range p.queue {
		require.LessOrEqual(t, len(q.payload), DefaultMaxTxnBytes)
	}
	p.applyAll()
}

func decodeACL(t *testing.T, b []byte) []proto.ACL {
	t.Helper()
	r := proto.NewReader(b)
	list := make([]proto.ACL, r.Count(12))
	for i := range list {
		list[i].Decode(&r)
	}
	require.NoError(t, r.Err())
	require.Zero(t, r.Len())
	return list
}
