package datatree

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/seed94657493/warren/proto"
	"github.com/stretchr/testify/require"
)

func entry(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

func openACL() []proto.ACL { return []proto.ACL{entry(proto.PermAll, "world", "anyone")} }

func ip(text string) Identity { return NewIPIdentity(netip.MustParseAddr(text)) }

// The hashes of client-protocol section 10.6.
func TestDigestIdentity(t *testing.T) {
	require.Equal(t, "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=", NewDigestIdentity("bob", "secret").ID)
	require.Equal(t, "super:D/InIHSb7yEEbrWz8b9l71RjZJU=", NewDigestIdentity("super", "test").ID)
	require.Equal(t, "nocolon:Ra+cHr2ZoHvBjtNArFGNGlVie4g=", DigestIdentity("nocolon").ID)
	require.Equal(t, NewDigestIdentity("a", "b:c"), DigestIdentity("a:b:c"))
}

func TestIPIdentityText(t *testing.T) {
	require.Equal(t, "127.0.0.1", ip("127.0.0.1").ID)
	require.Equal(t, "127.0.0.1", ip("::ffff:127.0.0.1").ID)
	require.Equal(t, "0:0:0:0:0:0:0:1", ip("::1").ID)
	require.Equal(t, "fe80:0:0:0:0:0:0:ab", ip("fe80::00ab%eth0").ID)
	require.Equal(t, "", NewIPIdentity(netip.Addr{}).Addr().Zone())
}

func TestNetworks(t *testing.T) {
	for text, valid := range map[string]bool{
		"127.0.0.1": true, "10.0.0.0/8": true, "0.0.0.0/0": true, "1.2.3.4/32": true, "010.0.0.1": true,
		"1.2.3.4/33": false, "1.2.3.4/-1": false, "1.2.3.4/": false, "1.2.3.4/x": false, "1.2.3": false,
		"1.2.3.4.5": false, "1.2.3.256": false, "1.2.3.": false, "": false, "/8": false, "1.2.3.a": false,
		"localhost": false, "1.2.3.4/8/8": false, "99999999999999999999.0.0.0": false,
		"::": true, "::1": true, "1::": true, "fe80::/10": true, "2001:db8::1:0/128": true,
		"1:2:3:4:5:6:7:8": true, "1:2:3:4:5:6:7": false, "1:2:3:4:5:6:7:8:9": false, "1::2::3": false,
		"1:2:3:4:5:6:7::": true, "1:2:3:4:5:6:7:8::": false, "::1/129": false, ":": false, ":::": false,
		"12345::": false, "g::": false, ":1": false, "1:": false, "FE80::AB": true,
	} {
		_, ok := parseNetwork([]byte(text))
		require.Equal(t, valid, ok, "%q", text)
	}
	for _, c := range []struct {
		network, addr string
		in            bool
	}{
		{"10.0.0.0/8", "10.255.1.2", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.1.2.3/8", "10.9.9.9", true}, // bits behind the mask do not matter
		{"10.0.0.0/9", "10.127.0.0", true},
		{"10.0.0.0/9", "10.128.0.0", false},
		{"0.0.0.0/0", "1.2.3.4", true},
		{"0.0.0.0/0", "::1", false},
		{"::/0", "1.2.3.4", false},
		{"::/0", "fe80::1", true},
		{"fe80::/10", "febf::1", true},
		{"fe80::/10", "fec0::1", false},
		{"::1", "::1", true},
		{"0:0:0:0:0:0:0:1", "::1", true},
		{"127.0.0.1", "::ffff:127.0.0.1", true},
	} {
		n, ok := parseNetwork([]byte(c.network))
		require.True(t, ok)
		id := ip(c.addr)
		require.Equal(t, c.in, n.contains(id.Addr()), "%s in %s", c.addr, c.network)
	}
}

// What netip takes, the parser takes with the same meaning (IPv4 inside IPv6 and zones aside).
func FuzzNetwork(f *testing.F) {
	f.Add("10.0.0.0/8")
	f.Add("fe80::1:0/64")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseNetwork([]byte(text))
		if ok {
			require.LessOrEqual(t, n.bits, n.size*8)
		}
		want, err := netip.ParseAddr(text)
		if err != nil || want.Zone() != "" || want.Is6() && containsByte(text, '.') {
			return
		}
		require.True(t, ok, text)
		id := Identity{addr: want}
		require.True(t, n.contains(id.addr))
	})
}

func containsByte(s string, c byte) bool {
	for i := range len(s) {
		if s[i] == c {
			return true
		}
	}
	return false
}

func TestACLMatching(t *testing.T) {
	bob, eve := NewDigestIdentity("bob", "secret"), NewDigestIdentity("eve", "secret")
	for _, c := range []struct {
		name   string
		list   []proto.ACL
		wanted int32
		ids    []Identity
		allow  bool
	}{
		{"world", openACL(), proto.PermWrite, nil, true},
		{"world without the bit", []proto.ACL{entry(proto.PermRead, "world", "anyone")}, proto.PermWrite, nil, false},
		{"one of two wanted bits", []proto.ACL{entry(proto.PermAdmin, "world", "anyone")}, proto.PermRead | proto.PermAdmin, nil, true},
		{"no bits lock everyone out", []proto.ACL{entry(0, "world", "anyone")}, proto.PermRead, nil, false},
		{"bits beyond 31", []proto.ACL{entry(1<<20, "world", "anyone")}, proto.PermAll, nil, false},
		{"super", []proto.ACL{entry(0, "world", "anyone")}, proto.PermRead, []Identity{SuperIdentity("")}, true},
		{"digest", []proto.ACL{entry(31, "digest", bob.ID)}, proto.PermRead, []Identity{eve, bob}, true},
		{"other digest", []proto.ACL{entry(31, "digest", bob.ID)}, proto.PermRead, []Identity{eve}, false},
		{"right id, wrong scheme", []proto.ACL{entry(31, "sasl", bob.ID)}, proto.PermRead, []Identity{bob}, false},
		{"permissions do not add up over entries", []proto.ACL{entry(proto.PermRead, "digest", bob.ID), entry(proto.PermWrite, "digest", eve.ID)},
			proto.PermWrite, []Identity{bob}, false},
		{"second entry", []proto.ACL{entry(proto.PermRead, "digest", bob.ID), entry(proto.PermWrite, "digest", bob.ID)},
			proto.PermWrite, []Identity{bob}, true},
		{"ip", []proto.ACL{entry(31, "ip", "10.0.0.0/8")}, proto.PermRead, []Identity{ip("10.1.1.1")}, true},
		{"other ip", []proto.ACL{entry(31, "ip", "10.0.0.0/8")}, proto.PermRead, []Identity{ip("12.1.1.1")}, false},
		{"broken ip", []proto.ACL{entry(31, "ip", "10.0.0.0/99")}, proto.PermRead, []Identity{ip("10.1.1.1")}, false},
		{"identity of scheme ip without address", []proto.ACL{entry(31, "ip", "0.0.0.0/0")}, proto.PermRead, []Identity{{Scheme: "ip", ID: "10.1.1.1"}}, false},
		{"sasl", []proto.ACL{entry(31, "sasl", "joe")}, proto.PermRead, []Identity{NewSASLIdentity("joe", "")}, true},
		{"sasl super user", []proto.ACL{entry(31, "sasl", "joe")}, proto.PermRead, []Identity{NewSASLIdentity("super", "")}, true},
		{"any sasl user", []proto.ACL{entry(31, "sasl", "anybody")}, proto.PermRead, []Identity{NewSASLIdentity("eve", "anybody")}, true},
		{"other sasl user", []proto.ACL{entry(31, "sasl", "joe")}, proto.PermRead, []Identity{NewSASLIdentity("eve", "anybody")}, false},
		{"no any-user matches the empty id", []proto.ACL{entry(31, "sasl", "")}, proto.PermRead, []Identity{NewSASLIdentity("eve", "")}, false},
		{"x509", []proto.ACL{entry(31, "x509", "CN=a")}, proto.PermRead, []Identity{NewX509Identity("CN=a", "")}, true},
		{"x509 super user", []proto.ACL{entry(31, "x509", "CN=a")}, proto.PermRead, []Identity{NewX509Identity("CN=root", "CN=root")}, true},
		{"other x509", []proto.ACL{entry(31, "x509", "CN=a")}, proto.PermRead, []Identity{NewX509Identity("CN=b", "CN=root")}, false},
		{"empty list", []proto.ACL{}, proto.PermWrite, nil, true},
	} {
		table := newACLTable(false)
		id := table.acquire(c.list)
		require.Equal(t, c.allow, table.Allows(id, c.wanted, c.ids), c.name)
		require.True(t, newACLTable(true).Allows(id, c.wanted, c.ids), c.name)
		if len(c.list) > 0 {
			encoded := proto.AppendInt32(nil, int32(len(c.list)))
			for i := range c.list {
				encoded = c.list[i].AppendTo(encoded)
			}
			require.Equal(t, c.allow, allowsEncoded(encoded, c.wanted, c.ids), c.name)
		}
	}
	table := newACLTable(false)
	require.False(t, table.Allows(77, proto.PermRead, []Identity{bob}), "a list that is missing allows nobody")
	require.True(t, table.Allows(77, proto.PermRead, []Identity{SuperIdentity("")}))
}

func TestAllowsDoesNotAllocate(t *testing.T) {
	table := newACLTable(false)
	ids := []Identity{ip("10.1.1.1"), ip("fe80::1"), NewDigestIdentity("bob", "secret")}
	id := table.acquire([]proto.ACL{entry(31, "ip", "11.0.0.0/8"), entry(31, "ip", "fe90::/16"), entry(31, "digest", ids[2].ID)})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if !table.Allows(id, proto.PermRead, ids) || !table.Allows(OpenACL, proto.PermRead, ids) {
			t.Fail()
		}
	}))
}

// The fix-up of server-semantics section 9.4 and client-protocol section 10.5.
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
	bob, joe := NewDigestIdentity("bob", "secret"), NewSASLIdentity("joe", "")
	peer := ip("127.0.0.1")
	world := openACL()[0]
	all := DefaultProviders | ProviderSASL | ProviderX509
	for _, c := range []struct {
		name      string
		in        []proto.ACL
		ids       []Identity
		providers Providers
		out       []proto.ACL // nil: ErrInvalidACL
	}{
		{"open", openACL(), nil, 0, openACL()},
		{"null", nil, nil, all, nil},
		{"empty", []proto.ACL{}, nil, all, nil},
		{"duplicates", []proto.ACL{world, entry(1, "world", "anyone"), world}, nil, all, []proto.ACL{world, entry(1, "world", "anyone")}},
		{"world with another id", []proto.ACL{entry(31, "world", "nobody")}, nil, all, nil},
		{"null scheme", []proto.ACL{world, null(world, true, false)}, nil, all, nil},
		{"null id of world", []proto.ACL{null(world, false, true)}, nil, all, nil},
		{"null id of digest", []proto.ACL{null(entry(31, "digest", ""), false, true)}, nil, all, nil},
		{"null id of auth", []proto.ACL{null(entry(31, "auth", ""), false, true)}, []Identity{bob}, all, []proto.ACL{entry(31, "digest", bob.ID)}},
		{"auth", []proto.ACL{entry(5, "auth", "whatever")}, []Identity{peer, bob}, all, []proto.ACL{entry(5, "digest", bob.ID)}},
		{"auth of several", []proto.ACL{entry(5, "auth", "")}, []Identity{bob, joe, SuperIdentity("")}, all,
			[]proto.ACL{entry(5, "digest", bob.ID), entry(5, "sasl", "joe")}},
		{"auth of an address", []proto.ACL{entry(5, "auth", "")}, []Identity{peer, SuperIdentity("")}, all, nil},
		{"auth of nobody", []proto.ACL{world, entry(5, "auth", "")}, nil, all, nil},
		{"auth may make duplicates", []proto.ACL{entry(5, "digest", bob.ID), entry(5, "auth", "")}, []Identity{bob}, all,
			[]proto.ACL{entry(5, "digest", bob.ID), entry(5, "digest", bob.ID)}},
		{"unknown scheme", []proto.ACL{entry(31, "foo", "bar")}, nil, all, nil},
		{"empty scheme", []proto.ACL{entry(31, "", "bar")}, nil, all, nil},
		{"super", []proto.ACL{entry(31, "super", "")}, []Identity{SuperIdentity("")}, all, nil},
		{"digest", []proto.ACL{entry(31, "digest", ":x")}, nil, all, []proto.ACL{entry(31, "digest", ":x")}},
		{"digest without colon", []proto.ACL{entry(31, "digest", "a")}, nil, all, nil},
		{"digest without hash", []proto.ACL{entry(31, "digest", "a:")}, nil, all, nil},
		{"digest with three parts", []proto.ACL{entry(31, "digest", "a:b:c")}, nil, all, nil},
		{"digest with colons behind", []proto.ACL{entry(31, "digest", "a:b:")}, nil, all, []proto.ACL{entry(31, "digest", "a:b:")}},
		{"digest switched off", []proto.ACL{entry(31, "digest", "a:b")}, nil, ProviderIP, nil},
		{"ip", []proto.ACL{entry(31, "ip", "10.0.0.0/8")}, nil, all, []proto.ACL{entry(31, "ip", "10.0.0.0/8")}},
		{"broken ip", []proto.ACL{entry(31, "ip", "10.0.0.0/33")}, nil, all, nil},
		{"sasl", []proto.ACL{entry(31, "sasl", "zk/host@REALM")}, nil, all, []proto.ACL{entry(31, "sasl", "zk/host@REALM")}},
		{"sasl not set up", []proto.ACL{entry(31, "sasl", "joe")}, nil, DefaultProviders, nil},
		{"broken sasl", []proto.ACL{entry(31, "sasl", "a@b@c")}, nil, all, nil},
		{"x509", []proto.ACL{entry(31, "x509", "CN=a,O=b")}, nil, all, []proto.ACL{entry(31, "x509", "CN=a,O=b")}},
		{"x509 not set up", []proto.ACL{entry(31, "x509", "CN=a")}, nil, DefaultProviders, nil},
		{"permissions are not judged", []proto.ACL{entry(0, "world", "anyone"), entry(-1, "world", "anyone")}, nil, all,
			[]proto.ACL{entry(0, "world", "anyone"), entry(-1, "world", "anyone")}},
	} {
		var f fixup
		err := f.run(c.in, c.ids, c.providers, 1<<20)
		if c.out == nil {
			require.Equal(t, proto.ErrInvalidACL, err, c.name)
			continue
		}
		require.Equal(t, proto.OK, err, c.name)
		require.Equal(t, c.out, decodeACL(t, f.encoded), c.name)
		require.Equal(t, len(c.out) == 1 && isOpen(c.out), f.open, c.name)
	}
}

func decodeACL(t *testing.T, b []byte) []proto.ACL {
	t.Helper()
	r := proto.NewReader(b)
	list := make([]proto.ACL, r.Count(aclEntrySizeMin))
	for i := range list {
		list[i].Decode(&r)
	}
	require.NoError(t, r.Err())
	require.Zero(t, r.Len())
	return list
}

func TestKerberosNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"joe": true, "": true, "a/b/c": true, "a@R": true, "a/h@R": true, "@R": true, "a@": true,
		"a@b@c": false, "a/b/c@R": false, "a@R/x": false,
	} {
		require.Equal(t, valid, validKerberosName([]byte(name)), "%q", name)
	}
}

func TestDistinguishedNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"": true, "CN=a": true, "CN=a, O=b": true, "CN=a+OU=b;C=DE": true, "2.5.4.3=x": true, `CN="a,b"`: true,
		`CN=a\,b`: true, "CN=": true, "CN": false, "=a": false, "CN=a,": false, ",": false, `CN="a`: false,
		`CN=a\`: false, "C N=a": false,
	} {
		require.Equal(t, valid, validDistinguishedName([]byte(name)), "%q", name)
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
		require.Equal(t, proto.OK, f.run(list, nil, DefaultProviders, 1<<20))
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
	ids := make([]Identity, 1000)
	for i := range ids {
		ids[i] = NewDigestIdentity(fmt.Sprint("user", i), "x")
	}
	list := make([]proto.ACL, 1000)
	for i := range list {
		list[i] = entry(int32(i), "auth", "")
	}
	var f fixup
	require.Equal(t, proto.ErrInvalidACL, f.run(list, ids, DefaultProviders, 1<<20))
	require.Less(t, cap(f.encoded), 4<<20)
}
