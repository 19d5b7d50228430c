package auth

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func entryOf(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

// A Matcher gives the same answers as EntryAllows, for few and for many identities and entries.
func TestMatcherAgreesWithEntryAllows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	allowed := 0
	for range 300 {
		var ids []Identity
		for range r.IntN(60) {
			n := r.IntN(200)
			ids = append(ids, []Identity{
				NewDigestIdentity(fmt.Sprint("u", n), "p"), ip(fmt.Sprintf("10.0.0.%d", n)),
				NewSASLIdentity(fmt.Sprint("s", n), []string{"", "anybody"}[r.IntN(2)]),
				NewX509Identity(fmt.Sprint("CN=", n), ""),
			}[r.IntN(4)])
		}
		if r.IntN(20) == 0 {
			ids = append(ids, NewX509Identity("CN=root", "CN=root"))
		}
		entries := r.IntN(60)
		m := MatcherOf(ids, entries)
		for range entries {
			n := r.IntN(200)
			e := []proto.ACL{
				entryOf(int32(r.IntN(32)), SchemeDigest, NewDigestIdentity(fmt.Sprint("u", n), "p").ID),
				entryOf(int32(r.IntN(32)), SchemeIP, fmt.Sprintf("10.0.0.%d", n)),
				entryOf(int32(r.IntN(32)), SchemeIP, fmt.Sprintf("10.0.0.%d/29", n)),
				entryOf(int32(r.IntN(32)), SchemeSASL, fmt.Sprint("s", n)),
				entryOf(int32(r.IntN(32)), SchemeSASL, "anybody"),
				entryOf(int32(r.IntN(32)), SchemeX509, fmt.Sprint("CN=", n)),
				entryOf(int32(r.IntN(32)), SchemeWorld, anyone), entryOf(31, SchemeSASL, "CN=7"),
			}[r.IntN(8)]
			wanted := int32(1) << r.IntN(5)
			want := EntryAllows(&e, wanted, ids)
			require.Equal(t, want, m.Allows(&e, wanted), "%v for %v", e, ids)
			if want {
				allowed++
			}
		}
	}
	require.NotZero(t, allowed)
}
