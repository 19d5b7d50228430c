package datatree

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// wideState has a znode with count children, "/wide/c000000" and so on, and one beside it.
func wideState(t testing.TB, count int) *txns {
	x := newTxns(t, NewState(Config{}))
	x.create("/wide", nil)
	x.create("/other", nil)
	for i := range count {
		x.create(fmt.Sprintf("/wide/c%06d", i), nil)
	}
	return x
}

// remove deletes a znode without children.
func (x *txns) remove(path string) {
	require.Equal(x.tb, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)}), path)
}

// decodeNames is what a Listing says, as names.
func decodeNames(t testing.TB, count int32, chunks [][]byte) []string {
	names := []string{}
	for _, chunk := range chunks {
		for off := 0; off < len(chunk); {
			name := encodedName(chunk, off)
			names = append(names, string(name))
			off += 4 + len(name)
		}
	}
	require.Len(t, names, int(count))
	return names
}

// directly is the children as ReadChildren answers them.
func directly(t testing.TB, s *State, path string) []string {
	b, err := s.ReadChildren(nil, []byte(path), nil)
	require.Equal(t, proto.OK, err)
	var r proto.GetChildrenResponse
	require.NoError(t, r.ReadFrom(b))
	names := []string{}
	for _, name := range r.Children {
		names = append(names, string(name))
	}
	return names
}

// However the children change between the slices, and while it sifts, a Listing ends with those that are there.
func TestListingIsExact(t *testing.T) {
	for _, count := range []int{0, 1, 50, 3000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			r := newRand(t)
			x := wideState(t, count)
			for round := range 30 {
				l, err := x.s.NewListing([]byte("/wide"), nil)
				require.Equal(t, proto.OK, err)
				l.sorted = round%2 == 0
				change := func() {
					for range r.Intn(4) {
						path := fmt.Sprintf("/wide/c%06d", r.Intn(count+3))
						if x.s.Lookup([]byte(path)) == 0 {
							x.create(path, nil)
						} else {
							x.remove(path)
						}
					}
					x.create(fmt.Sprintf("/other/%d", x.zxid), nil) // is no child of it
				}
				for !l.Next(1 + r.Intn(count/3+1)) {
					change()
					l.Sift()
					if r.Intn(2) == 0 {
						change()
					}
				}
				n, chunks, err := l.Children(nil)
				require.Equal(t, proto.OK, err)
				l.Close()
				l.Close()
				require.Empty(t, x.s.listings.live)
				got, want := decodeNames(t, n, chunks), directly(t, x.s, "/wide")
				if l.sorted {
					require.Equal(t, want, got)
				}
				slices.Sort(got)
				require.Equal(t, want, got)
				b, _ := x.s.ReadChildren2(nil, []byte("/wide"), nil)
				require.Equal(t, b[len(b)-68:], l.AppendStat(nil))
			}
			x.s.check()
		})
	}
}

// A Listing of a znode that goes says so, even if another comes to its place.
func TestListingOfWhatGoes(t *testing.T) {
	x := wideState(t, 3)
	l, err := x.s.NewListing([]byte("/wide"), nil)
	require.Equal(t, proto.OK, err)
	require.False(t, l.Next(1))
	require.True(t, l.Of(x.s))
	require.False(t, l.Of(NewState(Config{})), "another state")
	for i := range 3 {
		x.remove(fmt.Sprintf("/wide/c%06d", i))
	}
	require.True(t, l.Of(x.s))
	x.remove("/wide")
	x.create("/wide", nil)
	require.False(t, l.Of(x.s))
	l.Close()

	_, err = x.s.NewListing([]byte("/none"), nil)
	require.Equal(t, proto.ErrNoNode, err)
}

// A connection without READ at the end gets the error, even if it had READ at the beginning.
func TestListingPermission(t *testing.T) {
	x := wideState(t, 3)
	l, err := x.s.NewListing([]byte("/wide"), nil)
	require.Equal(t, proto.OK, err)
	for !l.Next(2) {
		l.Sift()
	}
	list := []proto.ACL{acl(1, auth.SchemeDigest, "one:x")}
	locked := &proto.SetACLTxn{Path: proto.Text("/wide"), Acl: list, Version: 1}
	require.Equal(t, proto.OK, x.apply(proto.OpSetACL, locked))
	_, _, err = l.Children(nil)
	require.Equal(t, proto.ErrNoAuth, err)
	l.Close()
	_, err = x.s.NewListing([]byte("/wide"), nil)
	require.Equal(t, proto.ErrNoAuth, err)
}

func TestWide(t *testing.T) {
	x := wideState(t, WideChildren-1)
	require.Zero(t, x.s.Wide())
	require.False(t, x.s.IsWide([]byte("/wide")))
	x.create("/wide/one", nil)
	require.Equal(t, 1, x.s.Wide())
	require.True(t, x.s.IsWide([]byte("/wide")))
	require.False(t, x.s.IsWide([]byte("/other")))
	require.False(t, x.s.IsWide([]byte("/none")))
	require.Equal(t, 1, reload(t, x.s, 1000).Wide())
	x.remove("/wide/one")
	require.Zero(t, x.s.Wide())
	x.s.check()
}

// BenchmarkListing reads a million children in slices. The longest hold of the lock is one slice.
func BenchmarkListing(b *testing.B) {
	x := wideState(b, 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		l, _ := x.s.NewListing([]byte("/wide"), nil)
		for !l.Next(2048) {
			l.Sift()
		}
		l.Close()
	}
}
