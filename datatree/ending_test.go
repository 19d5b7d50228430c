package datatree

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/test/must"
)

// modelWatches are the watches of one connection: it is the Sink and the Interest of a State.
type modelWatches struct {
	state  func() *State
	on     map[string]watchBits
	events []string
}

type watchBits uint8

const (
	watchesData watchBits = 1 << iota
	watchesChildren
	watchesForGood
	watchesBelow
	watchesOnce = watchesData | watchesChildren
)

// nobody is interested in no deletion.
type nobody struct{}

func (nobody) Below([]byte) Deletions { return NoDeletion }
func (nobody) At([]byte) bool         { return false }

func (m *modelWatches) At(path []byte) bool { return m.on[string(path)] != 0 }

func (m *modelWatches) Below(path []byte) Deletions {
	on := m.on[string(path)]
	switch {
	case on&watchesForGood != 0, m.above(string(path) + "/x"):
		return EveryDeletion
	case on&watchesChildren != 0:
		return FirstDeletion
	}
	return NoDeletion
}

// above reports whether an ancestor of a path is watched with all that is below it.
func (m *modelWatches) above(path string) bool {
	for len(path) > 1 {
		path = string(paths.Parent([]byte(path)))
		if m.on[path]&watchesBelow != 0 {
			return true
		}
	}
	return false
}

func (m *modelWatches) Changed(c Change) {
	if c.Type != proto.EventNodeDeleted {
		return
	}
	path, parent := string(c.Path), string(paths.Parent(c.Path))
	acls := m.state().ACLs()
	if m.on[path] != 0 || m.above(path) {
		m.events = append(m.events, fmt.Sprint(path, " deleted at ", c.Zxid, " of ", c.Owner, acls.List(c.ACL)))
		m.on[path] &^= watchesOnce
	}
	if m.on[parent]&(watchesChildren|watchesForGood) != 0 {
		m.events = append(m.events, fmt.Sprint(parent, " children at ", c.Zxid, acls.List(c.ParentACL)))
		m.on[parent] &^= watchesChildren
	}
}

var super = []auth.Identity{auth.SuperIdentity("")}

// twins apply the same txns to two States, one of which ends sessions by Endings, with random slices, and is read in
// slices meanwhile.
type twins struct {
	*randomTxns
	t       *testing.T
	other   *State
	watches [2]*modelWatches // of x.s and of other
	ending  *Ending
	ended   int
	late    int
	// what reads other in slices
	walker   *Walker
	body     []byte
	from     int // the first txn of the log after the walker has begun
	replays  []func()
	listing  *Listing
	listed   string
	listings int
}

func newTwins(t *testing.T, r *rand.Rand) *twins {
	w := &twins{t: t, other: NewState(Config{})}
	w.randomTxns = &randomTxns{txns: newTxns(t, NewState(Config{})), r: r}
	for i, state := range []func() *State{func() *State { return w.s }, func() *State { return w.other }} {
		w.watches[i] = &modelWatches{state: state, on: map[string]watchBits{}}
	}
	w.cuts = r.Intn(4) == 0
	w.model, w.before = w.watches[0], w.prepare
	if r.Intn(2) == 0 {
		for _, q := range []string{"/a", "/b/c", "/a/b/c", "/d/e/a"}[r.Intn(3):] {
			w.quota(q)
		}
	}
	return w
}

func (w *twins) quota(path string) {
	for at := 1; at <= len(path); at++ {
		if at == len(path) || path[at] == '/' {
			if w.s.Lookup([]byte(quota.Root+path[:at])) == 0 {
				w.create(quota.Root+path[:at], nil)
				w.follow()
			}
		}
	}
	for _, name := range []string{quota.LimitsName, quota.StatsName} {
		w.create(quota.Root+path+"/"+name, []byte("count=100,bytes=-1"))
		w.follow()
	}
}

// prepare prepares the end of a session for other, before the txn is applied to either.
func (w *twins) prepare(payload []byte) {
	payload = slices.Clone(payload)
	if w.r.Intn(4) == 0 { // the others, too, have to get along with what is not reaped
		return
	}
	w.ending = w.other.NewEnding(payload, 1+w.r.Intn(2))
	if w.ending == nil {
		return
	}
	w.ending.slice, w.ending.mark = 1+w.r.Intn(3), int32(1+w.r.Intn(4))
	if !w.ending.Prepare(w.watches[1], w.rest) {
		w.ending = nil
		return
	}
	w.ended++
	if w.ending.all || len(w.ending.late) > 0 {
		w.late++
	}
}

// rest is between two slices: others read, and begin to watch.
func (w *twins) rest() {
	w.read()
	if w.r.Intn(6) == 0 {
		path, bits := w.watch()
		below := NoDeletion
		switch {
		case bits&(watchesForGood|watchesBelow) != 0:
			below = EveryDeletion
		case bits&watchesChildren != 0:
			below = FirstDeletion
		}
		w.ending.Late([]byte(path), below, bits&watchesBelow != 0)
	}
}

// burst makes ephemerals of one session, some of them beside those of others.
func (w *twins) burst() {
	w.session = proto.SessionID(100 + w.r.Intn(4))
	parents := []string{"", "/a", "/b", w.randomPath(3), w.randomPath(2)}
	for range 1 + w.r.Intn(12) {
		parent := parents[w.r.Intn(len(parents))]
		path := fmt.Sprintf("%s/%c", parent, 'e'+w.r.Intn(12))
		id := w.s.Lookup([]byte(parent))
		if id == 0 || proto.IsSessionOwner(w.s.Node(id).Owner) || w.s.Lookup([]byte(path)) != 0 {
			continue
		}
		w.do(proto.OpCreate, w.createTxn(path, w.randomData(), w.randomACL(), w.r.Intn(8) > 0))
		w.follow()
		w.read()
	}
}

// someEphemeral returns the path of an ephemeral if there is one.
func (w *twins) someEphemeral() string {
	path := w.randomPath(4)
	n := w.r.Intn(20)
	w.s.EachEphemeral(proto.SessionID(100+w.r.Intn(4)), func(id NodeID) {
		if n--; n >= 0 {
			path = string(w.s.AppendPath(nil, id))
		}
	})
	return path
}

// watch begins to watch a path.
func (w *twins) watch() (path string, bits watchBits) {
	switch w.r.Intn(10) {
	case 0:
		path = "/"
	case 1, 2, 3:
		path = w.randomPath(3)
	case 4:
		path = string(paths.Parent([]byte(w.someEphemeral())))
	default:
		path = w.someEphemeral()
	}
	bits = watchesData
	if k := w.r.Intn(12); k > 9 {
		bits = 1 << (k - 8)
	} else if k > 5 {
		bits = watchesChildren
	}
	for _, m := range w.watches {
		m.on[path] |= bits
	}
	return path, bits
}

// read is one slice of those who read other.
func (w *twins) read() {
	if w.walker != nil {
		var done bool
		if w.body, done = w.walker.Next(w.body, 1+w.r.Intn(200)); done {
			w.walked()
		}
	}
	if w.listing == nil {
		return
	}
	if !w.listing.Of(w.other) {
		require.Zero(w.t, w.s.Lookup([]byte(w.listed)))
		w.listing.Close()
		w.listing = nil
		return
	}
	if w.listing.Next(1 + w.r.Intn(2)) {
		count, chunks, code := w.listing.Children(super)
		require.Equal(w.t, proto.OK, code)
		w.listing.Close()
		got := decodeNames(w.t, count, chunks)
		slices.Sort(got)
		require.Equal(w.t, childrenOf(w.other, w.listed), got)
		w.listing = nil
		w.listings++
		return
	}
	w.listing.Sift()
}

// walked keeps the snapshot that is complete, to be replayed in the end.
func (w *twins) walked() {
	body, from := w.body, w.from
	zxid := w.walker.Zxid()
	last, digest := w.walker.End()
	w.walker.Close()
	w.walker, w.body = nil, nil
	if w.cuts || w.s.quota != 0 && w.s.FirstChild(w.s.quota) != 0 {
		return // replay may leave another pzxid, or another use
	}
	w.replays = append(w.replays, func() {
		s, _ := must.Do2(loadBody(body, zxid))(w.t)
		for _, payload := range w.log[from:] {
			_, applied := must.Do2(s.Apply(payload, nil, nil, false))(w.t)
			if applied.Header.Zxid == last {
				require.Equal(w.t, digest, s.Digest(), "snapshot at its end, zxid %v", last)
			}
			if applied.Header.Zxid >= last {
				require.False(w.t, applied.DigestMismatch, "zxid %v", applied.Header.Zxid)
			}
		}
		s.check()
		requireSameState(w.t, w.s, s)
	})
}

// follow applies to other what was applied to x.s.
func (w *twins) follow() {
	payload := w.payload
	if w.other.LastZxid() == w.s.LastZxid() {
		return // the step did nothing
	}
	if w.ending != nil {
		require.Equal(w.t, w.applied, w.ending.Apply(w.watches[1]))
		w.ending = nil
	} else {
		_, applied := must.Do2(w.other.Apply(payload, w.watches[1], nil, false))(w.t)
		require.Equal(w.t, w.applied, applied)
	}
	require.Equal(w.t, w.watches[0].events, w.watches[1].events)
	w.watches[0].events, w.watches[1].events = nil, nil
	require.Equal(w.t, w.watches[0].on, w.watches[1].on)
}

// childrenOf is the names of the children of a path, sorted.
func childrenOf(s *State, path string) []string {
	names := []string{}
	s.EachChild(s.Lookup([]byte(path)), func(id NodeID) bool {
		names = append(names, string(s.Name(id)))
		return true
	})
	slices.Sort(names)
	return names
}

// compare compares all that can be read.
func (w *twins) compare() {
	requireSameState(w.t, w.s, w.other)
	requireSameState(w.t, w.other, w.s)
	require.Equal(w.t, w.s.Wide(), w.other.Wide())
	for id := proto.SessionID(100); id < 104; id++ {
		own, _ := w.s.ReadEphemerals(nil, id, nil)
		other, _ := w.other.ReadEphemerals(nil, id, nil)
		require.Equal(w.t, own, other)
	}
	for _, path := range []string{"/", "/a", "/b", "/a/b", w.randomPath(3)} {
		want, code := w.s.ReadChildren2(nil, []byte(path), super)
		got, other := w.other.ReadChildren2(nil, []byte(path), super)
		require.Equal(w.t, code, other)
		require.Equal(w.t, want, got)
		want, _ = w.s.ReadAllChildrenNumber(nil, []byte(path), super)
		got, _ = w.other.ReadAllChildrenNumber(nil, []byte(path), super)
		require.Equal(w.t, want, got)
	}
	require.Equal(w.t, due(w.s), due(w.other))
	w.other.check()
}

func due(s *State) (all []string) {
	s.EachDue(1<<40, 1, func(path []byte) bool {
		all = append(all, string(path))
		return true
	})
	slices.Sort(all)
	return all
}

// Whatever happens between the steps of an Ending, the tree and the events are those of a txn that is applied at
// once.
func TestEndingIsApply(t *testing.T) {
	r := newRand(t)
	ended, late, replays, listings := 0, 0, 0, 0
	for range 100 {
		w := newTwins(t, r)
		for range 30 + r.Intn(250) {
			if w.walker == nil && r.Intn(10) == 0 {
				w.walker, w.from = w.other.NewWalker(), len(w.log)
			}
			if w.listing == nil && r.Intn(4) == 0 {
				w.listed = w.randomPath(2)
				w.listing, _ = w.other.NewListing([]byte(w.listed), super)
			}
			if r.Intn(3) == 0 {
				w.watch()
			}
			if r.Intn(5) == 0 {
				w.burst()
			}
			w.step()
			w.follow()
			if r.Intn(2) == 0 {
				w.other.Reap(r.Intn(3))
			}
			if r.Intn(8) == 0 {
				w.compare()
			}
			w.read()
		}
		w.compare()
		for w.other.Reap(1) {
		}
		w.compare()
		for _, replay := range w.replays {
			replay()
		}
		ended, late, replays, listings = ended+w.ended, late+w.late, replays+len(w.replays), listings+w.listings
	}
	t.Logf("%d sessions ended in steps, %d late watches, %d snapshots, %d listings", ended, late, replays, listings)
	require.Greater(t, ended, 150)
	require.Greater(t, late, 20)
	require.Greater(t, replays, 50)
	require.Greater(t, listings, 100)
}

// Wherever a Walker is when a session ends, it goes on with the next znode that stays.
func TestEndingMovesWalkers(t *testing.T) {
	const mine, others = 7, 8
	layout := []proto.SessionID{mine, mine, mine, others, mine, mine, mine, mine, 0, others, mine, mine}
	for mark := int32(1); mark < 5; mark++ {
		for at := 0; ; at++ {
			x := newTxns(t, NewState(Config{}))
			var stays []string
			for _, parent := range []string{"/a", "/b"} {
				x.create(parent, nil)
				for i, owner := range layout {
					path := fmt.Sprintf("%s/%d", parent, i)
					if x.session = owner; owner == 0 {
						x.create(path, nil)
					} else {
						x.ephemeral(path)
					}
					if owner != mine {
						stays = append(stays, path)
					}
				}
			}
			w := x.s.NewWalker()
			body, done := w.Next(nil, 1)
			for range at {
				if body, done = w.Next(body, 1); done {
					break
				}
			}
			if done {
				break
			}
			h := proto.TxnHeader{ClientID: mine, Zxid: x.zxid + 1, Type: proto.OpCloseSession}
			e := x.s.NewEnding(h.AppendTo(nil), 1)
			e.mark = mark
			require.True(t, e.Prepare(nobody{}, func() {}))
			e.Apply(nil)
			for x.s.Reap(1) {
			}
			for !done {
				body, done = w.Next(body, 1)
			}
			w.Close()
			s, _, err := loadBody(body, w.Zxid())
			require.NoError(t, err, "mark %d, after %d znodes", mark, at)
			for _, path := range stays {
				require.NotZero(t, s.Lookup([]byte(path)), "mark %d, after %d znodes: %s", mark, at, path)
			}
		}
	}
}

// A Finder does not go on with a znode that has gone with its session.
func TestEndingIsFound(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.ephemeral("/e")
	var f Finder
	require.Zero(t, f.Lookup(x.s, []byte("/e/below")))
	h := proto.TxnHeader{ClientID: x.session, Zxid: x.zxid + 1, Type: proto.OpCloseSession}
	e := x.s.NewEnding(h.AppendTo(nil), 1)
	require.True(t, e.Prepare(nobody{}, func() {}))
	e.Apply(nil)
	x.zxid++
	x.create("/e", nil)
	x.create("/e/below", nil)
	require.Equal(t, x.s.Lookup([]byte("/e/below")), f.Lookup(x.s, []byte("/e/below")))
	x.session++
	x.ephemeral("/again")
	x.s.check()
}

// Digests of an Ending are those that ZooKeeper computes: the one that a closeSession carries is compared.
func TestEndingComparesDigests(t *testing.T) {
	for _, wrong := range []int64{0, 1} {
		x, y := newTxns(t, NewState(Config{})), newTxns(t, NewState(Config{}))
		for _, s := range []*txns{x, y} {
			s.create("/p", []byte("data"))
			s.ephemeral("/p/e")
			s.ephemeral("/f")
		}
		end := &proto.CloseSessionTxn{Paths2Delete: []proto.Text{proto.Text("/f"), proto.Text("/p/e")}}
		require.Equal(t, proto.OK, x.apply(proto.OpCloseSession, end))
		digest := proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: x.s.Digest() + wrong}
		e := y.s.NewEnding(digest.AppendTo(slices.Clone(x.payload)), 2)
		require.True(t, e.Prepare(nobody{}, func() {}))
		applied := e.Apply(nil)
		require.Equal(t, wrong != 0, applied.DigestMismatch)
		require.Equal(t, wrong == 0, applied.DigestMatch)
		require.Equal(t, x.applied.Header, applied.Header)
		requireSameState(t, x.s, y.s)
	}
	x := newTxns(t, NewState(Config{}))
	x.ephemeral("/e")
	h := proto.TxnHeader{ClientID: x.session, Zxid: x.zxid + 1, Type: proto.OpCloseSession}
	require.Nil(t, x.s.NewEnding(h.AppendTo(nil), 2), "too few")
	require.Nil(t, x.s.NewEnding([]byte("short"), 0))
	h.Type = proto.OpError
	require.Nil(t, x.s.NewEnding(h.AppendTo(nil), 0))
	h.Type = proto.OpCloseSession
	missing := proto.CloseSessionTxn{Paths2Delete: []proto.Text{proto.Text("/gone")}}
	require.False(t, x.s.NewEnding(missing.AppendTo(h.AppendTo(nil)), 1).Prepare(nobody{}, func() {}))
}
