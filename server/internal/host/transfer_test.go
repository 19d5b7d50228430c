package host

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// The connection that has brought a snapshot may close before the snapshot is installed, and before the core has
// asked for the installation.
func TestReceivedStateOutlivesItsLink(t *testing.T) {
	m := &Host{setup: setup{Env: &env.Env{}}, links: newLinks()}
	m.states = newArrivals()
	m.states.put(5, &durable.Loading{})
	m.states.put(6, &durable.Loading{})
	m.journal = &durable.Journal{Jobs: flow.NewInbox[durable.JournalJob](sched.OS().Parker())}
	m.forget(5)
	m.forget(6)
	m.toJournal([]zab.Persist{{Install: &zab.Install{Link: 5}}})
	m.states.drop(m.links.takeClosed())
	require.NotNil(t, m.states.on(5))
	require.Len(t, m.states.wanted, 1)
	require.Empty(t, m.states.byLink, "what nobody wants is freed")
}

// full is the connection of a learner that takes nothing any more.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("timeout") }

// A learner that takes a snapshot for longer than initLimit keeps its link, as long as it takes anything.
func TestLearnersThatTakeWhatTheyAreSentAreHeard(t *testing.T) {
	q := must.Do(quorum.Majority(1))(t)
	timing := zab.DefaultTiming()
	core := must.Do(zab.New(zab.Config{ID: 1, Ensemble: &zab.Ensemble{Quorum: q, Observers: []proto.ServerID{2}},
		Timing: timing, History: history{}, Rand: rand.New(rand.NewPCG(1, 1)), Limits: zab.DefaultLimits(),
		Whole: true}))(t)
	take := func() (out zab.Output) {
		for range 3 {
			if out = core.Take(); len(out.Persist) > 0 {
				core.Persisted(out.Persist[len(out.Persist)-1].Seq)
			}
		}
		return out
	}
	take()
	for range timing.FinalizeWait {
		core.Tick()
	}
	take()
	require.NoError(t, core.Propose(zab.Txn{Zxid: core.NextZxid()}))
	take()
	id := core.Accept(zab.LearnerPort)
	core.Step(zab.Message{Type: zab.ObserverInfo, From: 2, Link: id, Warren: true})
	take()
	core.Step(zab.Message{Type: zab.AckEpoch, From: 2, Link: id})
	require.Equal(t, zab.Snap, core.Take().Send[0].Type)

	now := time.Unix(1000, 0)
	s := &sender{Env: &env.Env{}, member: core, do: func(fn func()) bool { fn(); return true }}
	wait := func(w io.Writer) (closed bool) {
		for range timing.InitLimit + 1 {
			for range timing.TickTime {
				core.Tick()
			}
			now = now.Add(time.Duration(timing.TickTime) * coreTick)
			_, _ = w.Write([]byte("part"))
			closed = closed || len(core.Take().Close) > 0
		}
		return closed
	}
	l := &peers.Link{ID: id}
	writer := func(w io.Writer) io.Writer {
		h := s.taken(l, w).(*heardWriter)
		h.now = func() time.Time { return now }
		return h
	}
	var got bytes.Buffer
	w := writer(&got)
	for range 3 {
		require.False(t, wait(w))
	}
	require.Len(t, got.Bytes(), 3*(timing.InitLimit+1)*len("part"))
	require.True(t, wait(writer(full{})))
}
