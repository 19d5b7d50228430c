package syncs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// leader notes what a Queue asks it for. Its requests are texts.
type leader struct {
	queue     *Queue[string]
	busy      bool // txns before the syncs are not proposed
	proposals int
	asked     []unasked
	prepared  []string
}

func newLeader() *leader {
	l := &leader{}
	l.queue = New(Needs[string]{
		Propose: func() { l.proposals++; l.queue.Ask() },
		MayAsk:  func() bool { return !l.busy },
		Ask:     func(link zab.LinkID, token uint64) { l.asked = append(l.asked, unasked{link, token}) },
		Prepare: func(w string) { l.prepared = append(l.prepared, w) },
	})
	return l
}

// take gives the queue a request, or prepares it at once.
func (l *leader) take(key Key, link zab.LinkID, sync bool, w string) {
	if sync || l.queue.Holds(key) {
		l.queue.Push(key, link, sync, w)
	} else {
		l.prepared = append(l.prepared, w)
	}
}

func session(id proto.SessionID) Key { return Key{Session: id} }

// Requests of the same session wait behind its sync, others do not.
func TestRequestsWaitBehindASync(t *testing.T) {
	l := newLeader()
	l.take(session(1), 0, true, "sync")
	l.take(session(1), 0, false, "a")
	l.take(session(2), 0, false, "b")
	l.take(session(1), 0, false, "c")
	l.take(session(1), 0, true, "another sync")
	l.take(session(1), 0, false, "d")
	require.Equal(t, []string{"b"}, l.prepared)
	require.Equal(t, []unasked{{0, 1}}, l.asked)
	require.Equal(t, "sync", *l.queue.Sync(1))
	require.True(t, l.queue.Answered(1))
	require.Equal(t, []string{"b", "a", "c"}, l.prepared)
	require.Nil(t, l.queue.Sync(1))
	require.False(t, l.queue.Answered(1))
	require.Equal(t, []unasked{{0, 1}, {0, 2}}, l.asked)
	require.Equal(t, 1, l.queue.Unanswered())
	require.True(t, l.queue.Answered(2))
	require.Equal(t, []string{"b", "a", "c", "d"}, l.prepared)
	require.True(t, l.queue.Empty())
	require.Zero(t, l.queue.Unanswered())
}

// A sync is asked for when the txns before it are proposed.
func TestSyncsWaitForProposals(t *testing.T) {
	l := newLeader()
	l.busy = true
	l.take(session(1), 0, true, "sync")
	require.Equal(t, 1, l.proposals)
	l.queue.Ask()
	require.Empty(t, l.asked)
	l.busy = false
	l.queue.Ask()
	l.queue.Ask()
	require.Equal(t, []unasked{{0, 1}}, l.asked, "once")
}

// A sync of a session that has moved waits behind that of the earlier server, which waits for the syncs before it at
// that server. The agreement is asked for the syncs of each server in the order in which they came, because SYNC does
// not name them.
func TestSyncsOfMovedSessionsKeepTheOrderOfTheirServers(t *testing.T) {
	const a, b, c = zab.LinkID(1), zab.LinkID(2), zab.LinkID(3)
	l := newLeader()
	for _, s := range []struct {
		link zab.LinkID
		id   proto.SessionID
	}{{c, 3}, {b, 3}, {b, 2}, {0, 2}, {a, 2}} {
		l.take(session(s.id), s.link, true, "sync")
	}
	want := []unasked{{c, 1}}
	require.Equal(t, want, l.asked)
	for token, next := range [][]unasked{{{b, 2}, {b, 3}}, {}, {{0, 4}}, {{a, 5}}, {}} {
		l.queue.Answered(uint64(token + 1))
		want = append(want, next...)
		require.Equal(t, want, l.asked)
	}
	require.True(t, l.queue.Empty())
	require.Zero(t, l.queue.Unanswered())
}

// Everything of a learner in Java waits behind its sync. All syncs at the front are asked for at once.
func TestLearnerInJava(t *testing.T) {
	l := newLeader()
	java := Key{Link: 7}
	l.take(java, 7, true, "sync")
	l.take(java, 7, true, "sync")
	l.take(java, 7, false, "a")
	l.take(java, 7, true, "sync")
	require.Equal(t, []unasked{{7, 1}, {7, 2}}, l.asked)
	l.queue.Answered(1)
	require.Empty(t, l.prepared)
	l.queue.Answered(2)
	require.Equal(t, []string{"a"}, l.prepared)
	require.Equal(t, unasked{7, 3}, l.asked[2])
}

// When the link to a learner closes, its syncs are forgotten. What other servers have sent behind them goes on.
func TestGone(t *testing.T) {
	l := newLeader()
	l.take(session(1), 7, true, "sync")
	l.take(session(1), 7, false, "a")
	l.take(session(1), 8, false, "b")
	l.take(session(1), 0, true, "another sync")
	l.take(session(1), 0, false, "c")
	l.take(Key{Link: 7}, 7, true, "sync")
	l.take(Key{Link: 7}, 7, false, "d")
	l.queue.Gone(7)
	require.Equal(t, []string{"a", "b"}, l.prepared, "what a learner in Java has sent goes with it")
	require.Equal(t, unasked{0, 3}, l.asked[len(l.asked)-1])
	require.False(t, l.queue.Answered(1))
	require.True(t, l.queue.Answered(3))
	require.Equal(t, []string{"a", "b", "c"}, l.prepared)
	require.True(t, l.queue.Empty())
}

func TestBehindAndDrain(t *testing.T) {
	l := newLeader()
	for _, w := range []string{"sync 1", "a", "sync 2", "b"} {
		l.take(session(1), 0, w[0] == 's', w)
	}
	l.take(session(2), 0, true, "sync 3")
	var all []string
	note := func(w *string) { all = append(all, *w) }
	l.queue.Behind(1, note)
	l.queue.Behind(3, note)
	require.Equal(t, []string{"a", "b"}, all)
	all = nil
	l.queue.Drain(note)
	require.Equal(t, []string{"sync 1", "a", "sync 2", "b", "sync 3"}, all)
}

// TestOrder gives a queue requests of sessions that move between servers, and answers syncs in the order in which they
// were asked for, as the agreement does. Each session's requests are prepared in their order, each of them once, and
// the syncs of each server are asked for in their order.
func TestOrder(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		l := newLeader()
		sent, syncs := map[proto.SessionID][]string{}, map[zab.LinkID][]string{}
		name := map[uint64]string{}
		answered := 0
		for n := range 200 {
			id, link := proto.SessionID(1+rng.IntN(3)), zab.LinkID(rng.IntN(3))
			l.busy = rng.IntN(4) == 0
			w := fmt.Sprintf("%d of session %d", n, id)
			switch {
			case rng.IntN(3) == 0:
				l.take(session(id), link, true, w)
				if link != 0 {
					syncs[link] = append(syncs[link], w)
				}
			case rng.IntN(2) == 0:
				l.take(session(id), link, false, w)
				sent[id] = append(sent[id], w)
			case answered < len(l.asked):
				l.answer(&answered, name)
			}
		}
		l.busy = false
		for l.queue.Ask(); answered < len(l.asked); {
			l.answer(&answered, name)
		}
		require.True(t, l.queue.Empty(), "seed %d", seed)
		got := map[proto.SessionID][]string{}
		for _, w := range l.prepared {
			var n int
			var id proto.SessionID
			must.Do(fmt.Sscanf(w, "%d of session %d", &n, &id))(t)
			got[id] = append(got[id], w)
		}
		require.Equal(t, sent, got, "seed %d", seed)
		order := map[zab.LinkID][]string{}
		for _, u := range l.asked {
			if u.link != 0 {
				order[u.link] = append(order[u.link], name[u.token])
			}
		}
		require.Equal(t, syncs, order, "seed %d", seed)
	}
}

// answer answers the next sync that was asked for.
func (l *leader) answer(answered *int, name map[uint64]string) {
	token := l.asked[*answered].token
	*answered++
	name[token] = *l.queue.Sync(token)
	l.queue.Answered(token)
}
