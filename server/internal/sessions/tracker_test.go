package sessions

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

const ms = int64(time.Millisecond)

// conn is a connection without a socket.
type conn struct{ ended bool }

func (c *conn) Abort() { c.ended = true }

func (c *conn) Supersede() { c.ended = true }

func trackAt(tick time.Duration) *Tracker {
	t := New(tick, 1, 1_700_000_000_000, 0)
	if err := t.Reserve(func(int64) error { return nil }); err != nil {
		panic(err)
	}
	return t
}

// TestExpiryBuckets is the formula of server-semantics 7.3, (floor((n+T)/I)+1)*I, and its measured examples.
func TestExpiryBuckets(t *testing.T) {
	for _, tc := range []struct{ tick, touched, timeout, expires int64 }{
		{2000, 1, 1000, 2000}, // measured: T = 1000 up to 2 s, 2000 and 3000 up to 4 s
		{2000, 1, 2000, 4000},
		{2000, 1, 3000, 4000},
		{2000, 0, 2000, 4000},
		{2000, 1999, 1, 4000}, // at the border itself it lives on for a tick
		{2000, 1999, 2000, 4000},
		{2000, 1998, 1, 2000},
		{2000, 5000, 4000, 10_000},
		{1, 7, 3, 11},
		{200, 1000, 400, 1600},
	} {
		tr := trackAt(time.Duration(tc.tick) * time.Millisecond)
		s := tr.Create(int32(tc.timeout), &conn{}, tc.touched*ms)
		require.Empty(t, tr.sweep(tc.expires*ms-1), "%+v", tc)
		require.False(t, s.IsClosing())
		require.Equal(t, []*Session{s}, tr.sweep(tc.expires*ms), "%+v", tc)
		require.True(t, s.IsClosing())
		require.Empty(t, tr.sweep((tc.expires+10*tc.tick)*ms), "once")
		require.Equal(t, 1, tr.Count(), "until its closeSession is applied")
		tr.Remove(s.ID)
		require.Zero(t, tr.Count())
	}
}

// TestSweepAfterAJumpOfTheClock sweeps once after a century with a tick of 1 ms. To look at every bucket that has
// passed would take days.
func TestSweepAfterAJumpOfTheClock(t *testing.T) {
	const century = 100 * 365 * 24 * int64(time.Hour)
	tr := trackAt(time.Millisecond)
	early, late := tr.Create(1000, &conn{}, 0), tr.Create(30_000, &conn{}, 0)
	heard, after := tr.Create(1000, &conn{}, 0), tr.Create(1000, &conn{}, century)
	heard.heard.Store(century)
	require.Equal(t, []*Session{early, late}, tr.sweep(century))
	require.Empty(t, tr.sweep(century+1000*ms-1))
	require.Equal(t, []*Session{heard, after}, tr.sweep(century+1001*ms))
	require.Empty(t, tr.mu.buckets)
}

// TestSessionsExpireBetweenTheirTimeoutAndATickMore touches at random and sweeps at every tick.
func TestSessionsExpireBetweenTheirTimeoutAndATickMore(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const tick = 100
	tr := trackAt(tick * time.Millisecond)
	touched := map[*Session]int64{}
	for i := range 500 {
		at := int64(r.IntN(50))
		var s *Session
		if i%3 > 0 {
			s = tr.Create(int32(50+r.IntN(2000)), &conn{}, at*ms)
		} else {
			s = tr.Restore(proto.SessionID(1000+i), int32(50+r.IntN(2000)), at*ms)
		}
		touched[s] = at
	}
	for now := int64(50); len(touched) > 0; now++ {
		for _, s := range tr.sweep(now * ms) {
			quiet := now - touched[s]
			if limit := s.Timeout().Milliseconds(); quiet <= limit || quiet > limit+tick {
				t.Fatalf("timeout %d ms, expired after %d ms", limit, quiet)
			}
			delete(touched, s)
		}
		for s := range touched {
			if now < 5000 && r.IntN(2000) == 0 {
				s.Touch(now * ms)
				touched[s] = now
			}
		}
	}
}

// TestSilentSessionsExpireBeforeTheTick lets clients go at random, and others come back.
func TestSilentSessionsExpireBeforeTheTick(t *testing.T) {
	const tick, timeout = 80, 400
	for heard := int64(0); heard < 2*tick; heard++ {
		tr := trackAt(tick * time.Millisecond)
		c := new(conn)
		gone, back := tr.Create(timeout, c, heard*ms), tr.Create(timeout, c, heard*ms)
		tr.Unbind(gone, c)
		tr.Unbind(back, c)
		tr.Resume(back.ID, timeout, c, heard*ms)
		ended := map[*Session]int64{}
		for now := heard; len(ended) < 2; now++ {
			for _, s := range tr.sweep(now * ms) {
				ended[s] = now - heard
			}
		}
		require.Greater(t, ended[gone], int64(timeout), "heard at %d", heard)
		require.LessOrEqual(t, ended[gone], int64(timeout+tick/parts), "heard at %d", heard)
		require.Equal(t, ((heard+timeout)/tick+1)*tick, heard+ended[back], "as on ZooKeeper")
	}
}

func TestTimeInWhichTheServerWasDeafDoesNotCount(t *testing.T) {
	tr := trackAt(time.Second)
	s := tr.Create(2000, &conn{}, 500*ms)
	late := tr.Create(2000, &conn{}, 8500*ms)
	tr.Postpone(8000*ms, 9000*ms) // the process was suspended for so long
	require.EqualValues(t, 8500*ms, s.Heard())
	require.EqualValues(t, 9000*ms, late.Heard(), "nobody is heard of in the future")
	require.Empty(t, tr.sweep(10_999*ms))
	require.Equal(t, []*Session{s}, tr.sweep(11_000*ms))
	tr.Postpone(500*ms, 11_500*ms)
	require.EqualValues(t, 8500*ms, s.Heard(), "what is closing stays so")
	require.EqualValues(t, 9500*ms, late.Heard())
}

// However busy the machine is, silence counts: less time is postponed than passes.
func TestSessionsEndOnABusyMachine(t *testing.T) {
	const tick = 50 * ms
	tr := trackAt(time.Duration(tick))
	tr.Create(1500, &conn{}, 0)
	for round := int64(1); ; round++ {
		now := round * 3 * tick // every look at the clock is late
		tr.Postpone(2*tick, now)
		if len(tr.sweep(now)) > 0 {
			require.LessOrEqual(t, round, int64(32))
			require.GreaterOrEqual(t, round, int64(30))
			return
		}
	}
}

func TestASessionEndsUntilItIsRemoved(t *testing.T) {
	tr := trackAt(time.Second)
	s := tr.Create(4000, &conn{}, 0)
	require.False(t, tr.Ends(s.ID))
	tr.SetClosing(s.ID)
	require.True(t, tr.Ends(s.ID))
	again, _ := tr.Resume(s.ID, 4000, &conn{}, 0)
	require.Nil(t, again)
	tr.Remove(s.ID)
	require.False(t, tr.Ends(s.ID), "it has ended")
}

func TestResumeMovesASessionAndItsTimeout(t *testing.T) {
	tr := trackAt(time.Second)
	first, second := new(conn), new(conn)
	s := tr.Create(10_000, first, 0)
	got, old := tr.Resume(s.ID, 2000, second, 500*ms)
	require.Same(t, s, got)
	require.Same(t, first, old)
	tr.Unbind(s, first) // the old connection cleans up late
	require.Same(t, second, s.conn)
	tr.Resume(s.ID, 2000, second, 400*ms)
	require.EqualValues(t, 500*ms, s.Heard(), "its client was heard of later than it came back")
	require.Equal(t, []*Session{s}, tr.sweep(3000*ms), "the new, shorter timeout counts")
	got, _ = tr.Resume(s.ID, 2000, &conn{}, 0)
	require.Nil(t, got, "closing")
	got, _ = tr.Resume(77, 2000, &conn{}, 0)
	require.Nil(t, got, "unknown")
	require.Same(t, second, tr.Remove(s.ID))
	require.Nil(t, tr.Remove(s.ID))
	require.Empty(t, tr.mu.sessions)
}

func TestSessionIDs(t *testing.T) {
	for name, tc := range map[string]struct {
		server       proto.ServerID
		wallMs, base int64
		want         proto.SessionID
	}{
		// Until 2022 the clock's bit 39 was clear; since then a signed shift would fill the top byte
		// (ZOOKEEPER-1622).
		"2021":               {1, 1_609_459_200_000, 0, 0x0176_bb3e_7000_0000},
		"2023":               {1, 1_700_000_000_000, 0, 0x018b_cfe5_6800_0000},
		"server 2":           {2, 1_700_000_000_000, 0, 0x028b_cfe5_6800_0000},
		"server 0":           {0, 1_700_000_000_000, 0, 0x008b_cfe5_6800_0000},
		"server 255":         {255, 1_700_000_000_000, 0, -0x74_301a_9800_0000},
		"no session":         {0, 0, 0, 1},
		"not a container":    {128, 0, 0, proto.OwnerContainer + 1},
		"before 1970":        {1, -5, 0, 0x0100_0000_0000_0000},
		"only 40 bits":       {1, 1 << 40, 0, 0x0100_0000_0000_0000},
		"sixteen low zero":   {1, 1, 0, 0x0100_0000_0001_0000},
		"clock set back":     {1, 1_600_000_000_000, 1_700_000_000_000<<16 + 5, 0x018b_cfe5_6800_0005},
		"clock goes on":      {1, 1_700_000_000_000, 1_600_000_000_000 << 16, 0x018b_cfe5_6800_0000},
		"clock of 1970":      {1, 0, 7, 0x0100_0000_0000_0007},
		"numbers come round": {255, 0, 1<<56 - 1, -1},
	} {
		n := newIDs(tc.server, tc.wallMs, tc.base)
		_, ok := n.next()
		require.False(t, ok, "none is reserved")
		n.base += 9
		first, ok := n.next()
		require.True(t, ok)
		require.Equal(t, tc.want, first, "%s: %#x", name, uint64(first))
	}
	n := newIDs(255, 0, 1<<56-1)
	n.base += 3
	n.next()
	id, _ := n.next()
	require.EqualValues(t, -1<<56, id, "behind the last number comes 0, of the same server")
	require.Positive(t, newIDs(1, math.MaxInt64, 0).base, "a clock that is far off")
}

func TestNewIDsAreAboveThoseInUse(t *testing.T) {
	tr := trackAt(time.Second)
	next := proto.SessionID(1)<<56 | proto.SessionID(tr.mu.ids.from&numbers)
	tr.Restore(next+5, 1000, 0)
	tr.Restore(next+1<<56, 1000, 0) // of another server
	tr.Restore(1<<56+3, 1000, 0)    // of another time, or of a server in Java
	tr.Restore(next+reserved/2, 1000, 0)
	require.Equal(t, next+reserved/2+1, tr.Create(1000, &conn{}, 0).ID)
	tr.PassOver(func(yield func(proto.SessionID, int32)) { yield(next+reserved/2+4, 1) })
	require.Equal(t, next+reserved/2+5, tr.Create(1000, &conn{}, 0).ID)
	tr.PassOver(func(yield func(proto.SessionID, int32)) { yield(next+2*reserved, 1) })
	require.Nil(t, tr.Create(1000, &conn{}, 0), "no greater id is reserved")
	require.NoError(t, tr.Reserve(func(int64) error { return nil }))
	require.Equal(t, next+2*reserved+1, tr.Create(1000, &conn{}, 0).ID)

	tr = New(time.Second, 1, 0, 0)
	tr.PassOver(func(yield func(proto.SessionID, int32)) { yield(2<<56-1, 1) })
	require.NoError(t, tr.Reserve(func(int64) error { return nil }))
	tr.mu.sessions[1<<56+1] = &Session{ID: 1<<56 + 1}
	require.EqualValues(t, 1<<56, tr.Create(1000, &conn{}, 0).ID)
	require.EqualValues(t, 1<<56+2, tr.Create(1000, &conn{}, 0).ID, "the one between is in use")
}

// Whatever the clock says at the start of each life, and wherever a life ends, no id is given out twice: only ids
// below a base that was kept are given out, and the next life begins at that base.
func TestNoIDIsGivenOutTwice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	full := errors.New("no space left")
	given := map[proto.SessionID]int{}
	base := int64(0) // on the disk
	const wall = 1_700_000_000_000
	for life := range 200 {
		tr := New(time.Second, 3, wall+[]int64{0, 0, -wall, int64(r.IntN(100)), 1 << 39}[r.IntN(5)], base)
		require.Nil(t, tr.Create(1000, &conn{}, 0), "nothing is reserved yet")
		for range r.IntN(4) {
			err := tr.Reserve(func(b int64) error {
				require.Greater(t, b, base)
				if r.IntN(4) == 0 {
					return full
				}
				base = b
				return nil
			})
			if err != nil {
				require.Equal(t, full, err)
			}
			for range r.IntN(50) {
				s := tr.Create(1000, &conn{}, 0)
				if s == nil {
					break
				}
				earlier, known := given[s.ID]
				require.False(t, known, "id %v of life %d in life %d", s.ID, earlier, life)
				given[s.ID] = life
				require.EqualValues(t, 3, s.ID>>56)
				tr.Remove(s.ID)
			}
			if r.IntN(3) == 0 { // as if very many had been given out
				tr.mu.ids.from = max(tr.mu.ids.from, tr.mu.ids.base-int64(r.IntN(20)))
			}
		}
	}
	require.Greater(t, len(given), 1000)
}

func TestIDsAreReservedWhenFewAreLeft(t *testing.T) {
	var kept []int64
	tr := New(time.Second, 1, 1000, 0)
	reserve := func() {
		require.NoError(t, tr.Reserve(func(b int64) error { kept = append(kept, b); return nil }))
	}
	reserve()
	reserve()
	require.Equal(t, []int64{1000<<16 + reserved}, kept, "once, until half are used")
	tr.mu.ids.from += reserved/2 + 1
	reserve()
	require.Equal(t, 1000<<16+reserved/2+1+int64(reserved), kept[1])
}

// A Clock that looks late lets what has arrived meanwhile be heard before it lets anything expire.
func TestClock(t *testing.T) {
	tr := trackAt(time.Second)
	s := tr.Create(2000, new(conn), 0)
	c := tr.Clock(0)
	require.Empty(t, c.Look(900*ms, 0))
	require.Empty(t, c.Look(9000*ms, 0), "the process was suspended: what has arrived is looked at first")
	require.EqualValues(t, 7100*ms, s.Heard(), "of the time in which the server was suspended one tick counts")
	require.Empty(t, c.Look(9900*ms, 0))
	require.Equal(t, []*Session{s}, c.Look(10_000*ms, 0))

	s = tr.Create(2000, new(conn), 10_000*ms)
	require.Empty(t, c.Look(10_900*ms, 10_100*ms), "the log has been writing for less than a tick")
	require.EqualValues(t, 10_000*ms, s.Heard())
	require.Empty(t, c.Look(11_800*ms, 10_100*ms), "the disk stands still")
	require.EqualValues(t, 10_900*ms, s.Heard())
}

// On a machine on which every look is late, every other look lets sessions expire.
func TestClockOnABusyMachine(t *testing.T) {
	tr := trackAt(50 * time.Millisecond)
	tr.Create(1500, new(conn), 0)
	c := tr.Clock(0)
	for round := int64(1); ; round++ {
		if len(c.Look(round*150*ms, 0)) > 0 {
			require.LessOrEqual(t, round, int64(33))
			require.GreaterOrEqual(t, round, int64(30))
			return
		}
	}
}

func TestExpiries(t *testing.T) {
	tr := trackAt(time.Second)
	a, b := tr.Create(1000, new(conn), 0), tr.Create(3000, new(conn), 0)
	tr.MakeLocal(b)
	all := func(*Session) bool { return true }
	require.Equal(t, map[int64][]proto.SessionID{2000 * ms: {a.ID}, 4000 * ms: {b.ID}}, tr.Expiries(all))
	require.Equal(t, map[int64][]proto.SessionID{4000 * ms: {b.ID}}, tr.Expiries((*Session).IsLocal))
	require.Equal(t, 1, tr.Locals())
	got, first := tr.Expire(a.ID)
	require.Same(t, a, got)
	require.True(t, first)
	_, first = tr.Expire(a.ID)
	require.False(t, first)
	require.Equal(t, map[int64][]proto.SessionID{4000 * ms: {b.ID}}, tr.Expiries(all))
	got, _ = tr.Expire(99)
	require.Nil(t, got)
}

// TestOrder checks that what many sessions have in common is told of them in the order of their ids.
func TestOrder(t *testing.T) {
	const count = 100
	tr := trackAt(time.Second)
	var ids []proto.SessionID
	for range count {
		ids = append(ids, tr.Create(1000, &conn{}, 1).ID)
	}
	var expired []proto.SessionID
	for _, s := range tr.sweep(2 * int64(time.Second)) {
		expired = append(expired, s.ID)
	}
	require.Equal(t, ids, expired)

	tr.Follow()
	for _, i := range rand.Perm(count) {
		tr.Adopt(ids[i], 1000, &conn{}, 1)
	}
	told, released := tr.AppendTouched(nil)
	require.Empty(t, released)
	require.Len(t, told, count*TouchSize)
	for i, id := range ids {
		require.Equal(t, uint64(id), binary.BigEndian.Uint64(told[i*TouchSize:]))
	}
}

// TestSessionsAreReclaimedOnce gives sessions to servers whose clients have kept their connections over a change of
// the leader. A session whose client was heard of elsewhere is not given.
func TestSessionsAreReclaimedOnce(t *testing.T) {
	tr := trackAt(time.Second)
	kept, ended, moved := tr.Create(5000, &conn{}, 0), tr.Create(5000, &conn{}, 0), tr.Create(5000, &conn{}, 0)
	local, elsewhere := tr.Create(5000, &conn{}, 0), tr.Create(5000, &conn{}, 0)
	tr.MakeLocal(local)
	tr.Follow()
	for _, s := range []*Session{kept, ended, moved, elsewhere} {
		_, old := tr.Adopt(s.ID, 5000, &conn{}, 0)
		require.Nil(t, old)
	}
	tr.Moved(elsewhere.ID)
	tr.SetClosing(ended.ID)
	own := map[proto.SessionID]bool{}
	for s := range tr.Own() {
		own[s.ID] = true
	}
	require.Equal(t, map[proto.SessionID]bool{kept.ID: true, moved.ID: true}, own)
	tr.Adopt(elsewhere.ID, 5000, &conn{}, 0)
	require.Len(t, tr.Own(), 3, "its client has come back")

	tr.Lead(func(yield func(proto.SessionID, int32)) {
		yield(kept.ID, 5000)
		yield(moved.ID, 5000)
	}, 10_000*ms)
	require.Equal(t, proto.OK, tr.Check(moved.ID, 7, false, 10_000*ms), "its client writes at the server on link 7")
	c := &conn{}
	require.True(t, tr.Retake(kept, c, true, 10_000*ms))
	require.False(t, tr.Retake(kept, c, true, 10_000*ms), "it is taken")
	require.False(t, tr.Retake(moved, c, true, 10_000*ms))
	require.False(t, tr.Retake(ended, c, true, 10_000*ms))
	none := func(zab.LinkID) bool { return false }
	require.False(t, tr.Reclaim(kept.ID, 7, 20_000*ms, none))
	require.False(t, tr.Reclaim(moved.ID, 8, 20_000*ms, none))
	require.Same(t, c, tr.Serving(kept.ID))
	require.Empty(t, tr.sweep(15_000*ms))
	require.Len(t, tr.sweep(16_000*ms), 2, "each has had its whole timeout from the new leader")

	tr.Lead(func(yield func(proto.SessionID, int32)) { yield(kept.ID, 5000) }, 20_000*ms)
	require.True(t, tr.Reclaim(kept.ID, 7, 20_000*ms, none))
	require.False(t, tr.Reclaim(kept.ID, 9, 20_000*ms, none), "link 7 has it")
	require.True(t, tr.Reclaim(kept.ID, 9, 21_000*ms, func(id zab.LinkID) bool { return id == 7 }),
		"the server at the other end of link 7 is back on link 9")
	require.EqualValues(t, 9, tr.Owner(kept.ID))
	require.True(t, tr.Reclaim(kept.ID, 7, 20_000*ms, func(id zab.LinkID) bool { return id == 9 }))
	require.EqualValues(t, 21_000*ms, tr.mu.sessions[kept.ID].Heard(), "its client was heard of later than that")
	require.Equal(t, proto.ErrSessionMoved, tr.Check(kept.ID, 8, false, 20_000*ms))
	from, _, valid := tr.Revalidate(kept.ID, 5000, 8, 20_000*ms)
	require.True(t, valid)
	require.EqualValues(t, 7, from)
	require.EqualValues(t, 8, tr.Owner(kept.ID))

	tr.Follow()
	again := &Session{ID: kept.ID}
	require.True(t, tr.Retake(again, c, false, 20_000*ms))
	require.False(t, tr.Retake(again, c, false, 20_000*ms), "its client has come back on another connection")
}

// TestSilentSessionsAreInherited follows sessions through leaders and learners: when they are silent, when they expire
// under the next leader, and that none of them goes on at a server without a txn. Times are s.
func TestSilentSessionsAreInherited(t *testing.T) {
	const s = 1000 * ms
	const left, kept, fresh = proto.SessionID(1), proto.SessionID(2), proto.SessionID(3)
	none := func(zab.LinkID) bool { return false }
	state := func(yield func(proto.SessionID, int32)) {
		for _, id := range []proto.SessionID{left, kept, fresh} {
			yield(id, 10_000)
		}
	}
	ids := func(all []Silent) (ids []proto.SessionID) {
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		slices.Sort(ids)
		return ids
	}

	learner := trackAt(time.Second)
	learner.Follow()
	c := &conn{}
	own, _ := learner.Adopt(left, 10_000, c, 100*s)
	learner.Adopt(kept, 10_000, &conn{}, 100*s)
	learner.Unbind(own, c)
	_, released := learner.AppendTouched(nil)
	require.Empty(t, released, "the leader first learns that it was heard of")
	require.Equal(t, []Silent{{left, 100 * s}}, learner.Left())
	learner.Claim(left)
	require.Empty(t, learner.Left(), "its client is coming back")
	_, released = learner.AppendTouched(nil)
	require.Empty(t, released)
	own, _ = learner.Adopt(left, 10_000, c, 101*s)
	learner.Unbind(own, c)
	learner.AppendTouched(nil)
	_, released = learner.AppendTouched(nil)
	require.Equal(t, []Silent{{left, 101 * s}}, released)

	leader := trackAt(time.Second)
	leader.Lead(state, 105*s)
	var ages []int64
	for id, heard := range EachSilent(AppendSilent(nil, released, 105*s+ms/2), 106*s) {
		ages = append(ages, heard)
		leader.Released(id, 7, heard)
	}
	require.Equal(t, []int64{102 * s}, ages, "the second on the way makes it younger")
	require.Equal(t, []proto.SessionID{left}, ids(leader.TakeSilent(false)))
	require.Empty(t, leader.TakeSilent(false), "it is told once")
	require.False(t, leader.Reclaim(left, 7, 106*s, none), "no kept connection gets it")
	require.True(t, leader.Reclaim(kept, 7, 104*s, none))
	leader.Released(kept, 8, 90*s)
	require.Empty(t, leader.TakeSilent(false), "another server has it")
	require.Empty(t, leader.sweep(111*s))
	require.Equal(t, left, leader.sweep(113 * s)[0].ID, "its timeout from 102 s on")
	require.Equal(t, kept, leader.sweep(115 * s)[0].ID, "its server has heard of it at 104 s")
	require.Equal(t, fresh, leader.sweep(116 * s)[0].ID, "nothing is known of it: its timeout from 105 s on")

	next := trackAt(time.Second)
	next.Lead(state, 108*s)
	next.Inherit(left, 103*s)
	next.Inherit(kept, 120*s)
	next.Abandon(OwnerUnknown)
	require.Equal(t, []proto.SessionID{left, kept, fresh}, ids(next.TakeSilent(true)))
	require.Equal(t, proto.ErrSessionMoved, next.Check(left, 7, false, 103*s), "of an earlier connection")
	_, note, valid := next.Revalidate(left, 10_000, 7, 109*s)
	require.True(t, valid)
	require.True(t, note, "so the history tells that it is used again")
	require.Equal(t, []proto.SessionID{kept, fresh}, ids(next.TakeSilent(true)))
	require.Empty(t, next.sweep(117*s))
	require.Len(t, next.sweep(119*s), 2, "what is said of the future changes nothing")

	next.Lead(state, 130*s)
	next.Inherit(left, 125*s)
	require.Equal(t, []Silent{{left, 125 * s}}, next.TakeSilent(false))
	next.Postpone(3*s, 130*s)
	require.Equal(t, []Silent{{left, 128 * s}}, next.TakeSilent(false), "others took it for older")
	here, _ := next.Resume(fresh, 10_000, c, 130*s)
	_, _, _ = next.Revalidate(fresh, 10_000, ownerHere, 131*s)
	next.Unbind(here, c)
	require.Equal(t, []proto.SessionID{left}, ids(next.TakeSilent(true)), "the client of the other is coming back")
	next.Resume(fresh, 10_000, c, 131*s)
	next.Unbind(here, c)
	require.Equal(t, []Silent{{fresh, 131 * s}}, next.TakeSilent(false))
}
