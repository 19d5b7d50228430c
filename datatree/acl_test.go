package datatree

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

func entry(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

func openACL() []proto.ACL { return []proto.ACL{entry(proto.PermAll, "world", "anyone")} }

// one is a list with one entry.
func one(perms int32, scheme, id string) []proto.ACL { return []proto.ACL{entry(perms, scheme, id)} }

// identities returns the identities of a connection.
func identities(ids ...auth.Identity) []auth.Identity { return ids }

func ip(text string) auth.Identity { return auth.NewIPIdentity(netip.MustParseAddr(text)) }

func TestACLMatching(t *testing.T) {
	bob, eve := auth.NewDigestIdentity("bob", "secret"), auth.NewDigestIdentity("eve", "secret")
	for _, c := range []struct {
		name   string
		list   []proto.ACL
		wanted int32
		ids    []auth.Identity
		allow  bool
	}{
		{"world", openACL(), proto.PermWrite, nil, true},
		{"world without the bit", one(proto.PermRead, "world", "anyone"), proto.PermWrite, nil, false},
		{"one of two wanted bits", one(proto.PermAdmin, "world", "anyone"),
			proto.PermRead | proto.PermAdmin, nil, true},
		{"no bits lock everyone out", one(0, "world", "anyone"), proto.PermRead, nil, false},
		{"bits beyond 31", one(1<<20, "world", "anyone"), proto.PermAll, nil, false},
		{"super", one(0, "world", "anyone"), proto.PermRead, identities(auth.SuperIdentity("")), true},
		{"digest", one(31, "digest", bob.ID), proto.PermRead, identities(eve, bob), true},
		{"other digest", one(31, "digest", bob.ID), proto.PermRead, identities(eve), false},
		{"right id, wrong scheme", one(31, "sasl", bob.ID), proto.PermRead, identities(bob), false},
		{"permissions do not add up over entries",
			[]proto.ACL{entry(proto.PermRead, "digest", bob.ID), entry(proto.PermWrite, "digest", eve.ID)},
			proto.PermWrite, identities(bob), false},
		{"second entry",
			[]proto.ACL{entry(proto.PermRead, "digest", bob.ID), entry(proto.PermWrite, "digest", bob.ID)},
			proto.PermWrite, identities(bob), true},
		{"ip", one(31, "ip", "10.0.0.0/8"), proto.PermRead, identities(ip("10.1.1.1")), true},
		{"other ip", one(31, "ip", "10.0.0.0/8"), proto.PermRead, identities(ip("12.1.1.1")), false},
		{"broken ip", one(31, "ip", "10.0.0.0/99"), proto.PermRead, identities(ip("10.1.1.1")), false},
		{"identity of scheme ip without address", one(31, "ip", "0.0.0.0/0"), proto.PermRead,
			identities(auth.Identity{Scheme: "ip", ID: "10.1.1.1"}), false},
		{"sasl", one(31, "sasl", "joe"), proto.PermRead, identities(auth.NewSASLIdentity("joe", "")), true},
		{"sasl super user", one(31, "sasl", "joe"), proto.PermRead,
			identities(auth.NewSASLIdentity("super", "")), true},
		{"any sasl user", one(31, "sasl", "anybody"), proto.PermRead,
			identities(auth.NewSASLIdentity("eve", "anybody")), true},
		{"other sasl user", one(31, "sasl", "joe"), proto.PermRead,
			identities(auth.NewSASLIdentity("eve", "anybody")), false},
		{"no any-user matches the empty id", one(31, "sasl", ""), proto.PermRead,
			identities(auth.NewSASLIdentity("eve", "")), false},
		{"x509", one(31, "x509", "CN=a"), proto.PermRead, identities(auth.NewX509Identity("CN=a", "")), true},
		{"x509 super user", one(31, "x509", "CN=a"), proto.PermRead,
			identities(auth.NewX509Identity("CN=root", "CN=root")), true},
		{"other x509", one(31, "x509", "CN=a"), proto.PermRead,
			identities(auth.NewX509Identity("CN=b", "CN=root")), false},
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
			require.Equal(t, c.allow, table.AllowsEncoded(encoded, c.wanted, c.ids), c.name)
		}
	}
	table := newACLTable(false)
	require.False(t, table.Allows(77, proto.PermRead, []auth.Identity{bob}), "a list that is missing allows nobody")
	require.True(t, table.Allows(77, proto.PermRead, []auth.Identity{auth.SuperIdentity("")}))
}

func TestAllowsDoesNotAllocate(t *testing.T) {
	table := newACLTable(false)
	ids := []auth.Identity{ip("10.1.1.1"), ip("fe80::1"), auth.NewDigestIdentity("bob", "secret")}
	id := table.acquire([]proto.ACL{entry(31, "ip", "11.0.0.0/8"), entry(31, "ip", "fe90::/16"),
		entry(31, "digest", ids[2].ID)})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if !table.Allows(id, proto.PermRead, ids) || !table.Allows(OpenACL, proto.PermRead, ids) {
			t.Fail()
		}
	}))
}

func BenchmarkAllows(b *testing.B) {
	table := newACLTable(false)
	ids := []auth.Identity{ip("10.1.1.1"), auth.NewDigestIdentity("bob", "secret")}
	digest := table.acquire([]proto.ACL{entry(31, "digest", ids[1].ID)})
	network := table.acquire([]proto.ACL{entry(31, "ip", "10.0.0.0/8")})
	for _, c := range []struct {
		name string
		id   ACLID
	}{{"open", OpenACL}, {"digest", digest}, {"ip", network}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !table.Allows(c.id, proto.PermRead, ids) {
					b.Fatal(c.name)
				}
			}
		})
	}
}

// A client with as many identities as it may have, and an ACL of the largest size, which names none of them: to judge
// that takes little longer than for a client with few identities.
func TestManyIdentitiesMeetALongACL(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	table := newACLTable(false)
	var list []proto.ACL
	for i := range 15_000 {
		list = append(list, entry(31, "digest", fmt.Sprintf("none%04d:%028d", i%1000, i)))
	}
	var ids []auth.Identity
	for i := range 1000 {
		ids = append(ids, auth.NewDigestIdentity(fmt.Sprintf("user%04d", i), "p"))
	}
	id := table.acquire(list)
	encoded := proto.AppendInt32(nil, int32(len(list)))
	for i := range list {
		encoded = list[i].AppendTo(encoded)
	}
	cost := func(ids []auth.Identity) time.Duration {
		start := threadTime()
		for range 5 {
			require.False(t, table.Allows(id, proto.PermRead, ids))
			require.False(t, table.AllowsEncoded(encoded, proto.PermRead, ids))
		}
		return threadTime() - start
	}
	few, many := cost(ids[:10]), cost(ids)
	require.Less(t, many, 20*few)
	require.True(t, table.Allows(id, proto.PermRead, append(ids, auth.Identity{Scheme: "digest",
		ID: string(list[14_999].Id.Id)})))
}
