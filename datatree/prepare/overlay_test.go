package prepare

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// naive is what an overlay means: the newest change of each path, and all changes in order.
type naive struct {
	newest  map[string]naiveChange
	changes []naiveKey
}

type naiveKey struct {
	zxid proto.Zxid
	path string
}

type naiveChange struct {
	zxid    proto.Zxid
	version int32
	acl     string
}

func (n *naive) clone() naive {
	return naive{maps.Clone(n.newest), append([]naiveKey{}, n.changes...)}
}

func (n *naive) drop(applied proto.Zxid) {
	for len(n.changes) > 0 && n.changes[0].zxid <= applied {
		if c := n.changes[0]; n.newest[c.path].zxid == c.zxid {
			delete(n.newest, c.path)
		}
		n.changes = n.changes[1:]
	}
}

// The overlay against the naive one: random changes, some undone, some dropped.
func TestOverlayIsAMapOfTheNewestChanges(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 9))
		o := newOverlay()
		n := naive{newest: map[string]naiveChange{}}
		applied := proto.Zxid(0)
		for zxid := proto.Zxid(1); zxid < 600; zxid++ {
			undo := rng.IntN(4) == 0
			var before naive
			if undo {
				before = n.clone()
				o.begin()
			}
			for range 1 + rng.IntN(6) {
				path := fmt.Sprintf("/%d", rng.IntN(80))
				node := future{exists: true, Node: datatree.Node{Version: rng.Int32(), ACL: datatree.OpenACL}}
				acl := ""
				if rng.IntN(2) == 0 {
					node.ACL = pendingACL
					acl = fmt.Sprint("list ", rng.IntN(1000))
				}
				hash := o.hash([]byte(path))
				o.store([]byte(path), hash, o.find([]byte(path), hash), zxid, &node, []byte(acl))
				n.newest[path] = naiveChange{zxid, node.Version, acl}
				n.changes = append(n.changes, naiveKey{zxid, path})
			}
			if undo {
				o.rollback()
				n = before
			}
			if rng.IntN(10) == 0 {
				applied = min(zxid, applied+proto.Zxid(rng.IntN(60)))
				o.drop(applied)
				n.drop(applied)
			}
			require.Equal(t, len(n.newest), o.used, "seed %d", seed)
			if zxid%8 != 0 {
				continue
			}
			for i := range 80 {
				path := []byte(fmt.Sprintf("/%d", i))
				want, ok := n.newest[string(path)]
				s := o.find(path, o.hash(path))
				if !ok && s == none {
					continue
				}
				require.NotEqual(t, none, s, "seed %d zxid %v path %s", seed, zxid, path)
				got := naiveChange{o.slots[s].zxid, o.slots[s].node.Version, ""}
				if o.slots[s].node.ACL == pendingACL {
					got.acl = string(o.slots[s].acl)
				}
				require.Equal(t, want, got, "seed %d zxid %v path %s", seed, zxid, path)
			}
		}
		o.drop(1 << 40)
		require.Zero(t, o.used)
		require.Zero(t, o.changes.len())
	}
}

// A burst must not keep its memory for good.
func TestOverlayShrinksAfterABurst(t *testing.T) {
	o := newOverlay()
	for i := range slotsKept + 1 {
		path := fmt.Appendf(nil, "/%d", i)
		o.store(path, o.hash(path), none, 1, &future{exists: true}, nil)
	}
	o.drop(1)
	require.Empty(t, o.slots)
	require.Len(t, o.table, len(newOverlay().table))
}

// Large paths and lists do not stay with the slots they were in.
func TestOverlayKeepsSmallBuffersOnly(t *testing.T) {
	o := newOverlay()
	big := make([]byte, bufferKept+1)
	o.begin()
	s := o.store(big, o.hash(big), none, 1, &future{exists: true, Node: datatree.Node{ACL: pendingACL}}, big)
	o.store(big, o.hash(big), s, 1, &future{exists: true, Node: datatree.Node{ACL: pendingACL}}, big)
	o.commit()
	o.drop(1)
	require.Nil(t, o.slots[s].path)
	require.Nil(t, o.slots[s].acl)
	for _, was := range o.journal[:cap(o.journal)] {
		require.LessOrEqual(t, cap(was.acl), bufferKept)
	}
}

func TestQueueIsARing(t *testing.T) {
	var q queue[int]
	next, oldest := 0, 0
	rng := rand.New(rand.NewPCG(5, 5))
	for range 10_000 {
		switch rng.IntN(5) {
		case 0, 1, 2:
			q.push(next)
			next++
		case 3:
			if q.len() > 0 {
				require.Equal(t, oldest, *q.front())
				q.pop()
				oldest++
			}
		case 4:
			if q.len() > 3 {
				q.truncate(q.tail - 2)
				next -= 2
			}
		}
		require.Equal(t, next-oldest, q.len())
	}
	for i := q.head; i != q.tail; i++ {
		require.Equal(t, oldest, *q.at(i))
		oldest++
	}
}
