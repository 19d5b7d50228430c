package server

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

const ms = int64(time.Millisecond)

func trackAt(tick time.Duration) *tracker { return newTracker(tick, 1, 1_700_000_000_000) }

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
		s := tr.create(int32(tc.timeout), &conn{received: tc.touched * ms})
		require.Empty(t, tr.sweep(tc.expires*ms-1), "%+v", tc)
		require.False(t, s.closing.Load())
		require.Equal(t, []*session{s}, tr.sweep(tc.expires*ms), "%+v", tc)
		require.True(t, s.closing.Load())
		require.Empty(t, tr.sweep((tc.expires+10*tc.tick)*ms), "once")
		require.Equal(t, 1, tr.count(), "until its closeSession is applied")
		tr.remove(s.id)
		require.Zero(t, tr.count())
	}
}

// TestSessionsExpireBetweenTheirTimeoutAndATickMore touches at random and sweeps at every tick.
func TestSessionsExpireBetweenTheirTimeoutAndATickMore(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const tick = 100
	tr := trackAt(tick * time.Millisecond)
	touched := map[*session]int64{}
	for i := range 500 {
		at := int64(r.IntN(50))
		var s *session
		if i%3 > 0 {
			s = tr.create(int32(50+r.IntN(2000)), &conn{received: at * ms})
		} else {
			s = tr.restore(proto.SessionID(1000+i), int32(50+r.IntN(2000)), at*ms)
		}
		touched[s] = at
	}
	for now := int64(50); len(touched) > 0; now++ {
		for _, s := range tr.sweep(now * ms) {
			quiet := now - touched[s]
			if limit := s.timeout().Milliseconds(); quiet <= limit || quiet > limit+tick {
				t.Fatalf("timeout %d ms, expired after %d ms", limit, quiet)
			}
			delete(touched, s)
		}
		for s := range touched {
			if now < 5000 && r.IntN(2000) == 0 {
				s.touch(now * ms)
				touched[s] = now
			}
		}
	}
}

func TestTimeInWhichTheServerWasDeafDoesNotCount(t *testing.T) {
	tr := trackAt(time.Second)
	s := tr.create(2000, &conn{received: 500 * ms})
	late := tr.create(2000, &conn{received: 8500 * ms})
	tr.postpone(8000*ms, 9000*ms) // the process was suspended for so long
	require.EqualValues(t, 8500*ms, s.heard.Load())
	require.EqualValues(t, 9000*ms, late.heard.Load(), "nobody is heard of in the future")
	require.Empty(t, tr.sweep(10_999*ms))
	require.Equal(t, []*session{s}, tr.sweep(11_000*ms))
	tr.postpone(500*ms, 11_500*ms)
	require.EqualValues(t, 8500*ms, s.heard.Load(), "what is closing stays so")
	require.EqualValues(t, 9500*ms, late.heard.Load())
}

// However busy the machine is, silence is counted: what is postponed is less than what passes.
func TestSessionsEndOnABusyMachine(t *testing.T) {
	const tick = 50 * ms
	tr := trackAt(time.Duration(tick))
	tr.create(1500, &conn{})
	for round := int64(1); ; round++ {
		now := round * 3 * tick // every look at the clock is late
		tr.postpone(2*tick, now)
		if len(tr.sweep(now)) > 0 {
			require.LessOrEqual(t, round, int64(32))
			require.GreaterOrEqual(t, round, int64(30))
			return
		}
	}
}

func TestResumeMovesASessionAndItsTimeout(t *testing.T) {
	tr := trackAt(time.Second)
	first, second := &conn{}, &conn{received: 500 * ms}
	s := tr.create(10_000, first)
	got, old := tr.resume(s.id, 2000, second)
	require.Same(t, s, got)
	require.Same(t, first, old)
	tr.unbind(s, first) // the old connection cleans up late
	require.Same(t, second, s.conn)
	require.Equal(t, []*session{s}, tr.sweep(3000*ms), "the new, shorter timeout counts")
	got, _ = tr.resume(s.id, 2000, &conn{})
	require.Nil(t, got, "closing")
	got, _ = tr.resume(77, 2000, &conn{})
	require.Nil(t, got, "unknown")
	require.Same(t, second, tr.remove(s.id))
	require.Nil(t, tr.remove(s.id))
	require.Empty(t, tr.mu.sessions)
}

func TestSessionIDs(t *testing.T) {
	for name, tc := range map[string]struct {
		server proto.ServerID
		wallMs int64
		want   proto.SessionID
	}{
		// Until 2022 the clock's bit 39 was clear; since then a signed shift would fill the top byte (ZOOKEEPER-1622).
		"2021":             {1, 1_609_459_200_000, 0x0176_bb3e_7000_0000},
		"2023":             {1, 1_700_000_000_000, 0x018b_cfe5_6800_0000},
		"server 2":         {2, 1_700_000_000_000, 0x028b_cfe5_6800_0000},
		"server 255":       {255, 1_700_000_000_000, -0x74_301a_9800_0000},
		"not a container":  {128, 0, -0x8000_0000_0000_0000 + 1},
		"only 40 bits":     {1, 1 << 40, 0x0100_0000_0000_0000},
		"sixteen low zero": {1, 1, 0x0100_0000_0001_0000},
	} {
		require.Equal(t, tc.want, firstSessionID(tc.server, tc.wallMs), "%s: %#x", name, uint64(firstSessionID(tc.server, tc.wallMs)))
	}
	require.Equal(t, proto.OwnerContainer+1, firstSessionID(128, 0))
}

func TestNewIDsAreAboveThoseInUse(t *testing.T) {
	tr := trackAt(time.Second)
	next := tr.mu.nextID
	tr.restore(next+5, 1000, 0)
	tr.restore(3, 1000, 0)          // of another time
	tr.restore(next+1<<56, 1000, 0) // of another server
	require.Equal(t, next+6, tr.create(1000, &conn{}).id)
	tr.mu.nextID = proto.OwnerContainer
	require.Equal(t, proto.OwnerContainer+1, tr.create(1000, &conn{}).id)
	tr.mu.nextID = -1
	require.EqualValues(t, -1, tr.create(1000, &conn{}).id)
	require.EqualValues(t, 1, tr.create(1000, &conn{}).id, "0 is no session")
	require.EqualValues(t, 2, tr.create(1000, &conn{}).id)
	require.EqualValues(t, 4, tr.create(1000, &conn{}).id, "3 is in use")
}

// The word of a full disk stands anywhere among the touched sessions of PING, and touches none.
func TestNoRoomStandsAmongTouchedSessions(t *testing.T) {
	touch := func(id proto.SessionID) []byte { return proto.AppendInt32(proto.AppendInt64(nil, int64(id)), 30_000) }
	require.False(t, saysNoRoom(nil))
	require.False(t, saysNoRoom([]byte{}))
	require.False(t, saysNoRoom(append(touch(1), touch(256)...)))
	require.True(t, saysNoRoom(noRoom[:]))
	require.True(t, saysNoRoom(append(touch(7), noRoom[:]...)))
	require.True(t, saysNoRoom(append(noRoom[:], touch(-1)...)))
	require.False(t, saysNoRoom(noRoom[1:]), "not a whole entry")
}
