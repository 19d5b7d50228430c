package zab

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab/quorum"
)

// noHistory is a log of which nothing is left on the disk.
type noHistory struct{}

func (noHistory) Locate(proto.Zxid) (at, next proto.Zxid, ok bool) { return 0, 0, false }
func (noHistory) Sums(proto.Zxid) (sums Sums, ok bool)             { return Sums{}, false }

// leading returns a leader of three with two followers, both Warren or both Java, up to date on links 1 and 2.
func leading(t testing.TB, warren bool) *Core {
	q := must.Do(quorum.Majority(1, 2, 3))(t)
	c := must.Do(New(Config{ID: 3, Ensemble: &Ensemble{Quorum: q}, History: noHistory{},
		Rand: rand.New(rand.NewPCG(1, 1)), Timing: DefaultTiming(), Limits: DefaultLimits()}))(t)
	c.Take()
	for _, id := range []proto.ServerID{1, 2} {
		c.Step(Message{Type: Notification, From: id, Round: 1, Version: 2, Vote: Vote{Leader: 3}})
	}
	settle := func() {
		for range 3 {
			if out := c.Take(); len(out.Persist) > 0 {
				c.Persisted(out.Persist[len(out.Persist)-1].Seq)
			}
		}
	}
	for _, id := range []proto.ServerID{1, 2} {
		link := c.Accept(LearnerPort)
		c.Step(Message{Type: FollowerInfo, From: id, Link: link, Warren: warren, Repeat: warren})
		settle()
		c.Step(Message{Type: AckEpoch, From: id, Link: link})
		settle()
		if warren && id == 1 { // with it there is a quorum, so it is asked again
			c.Step(Message{Type: AckEpoch, From: id, Link: link})
			settle()
		}
		c.Step(Message{Type: Ack, From: id, Link: link, Zxid: proto.MakeZxid(1, 0)})
		settle()
	}
	require.True(t, c.Status().Serving)
	return c
}

// cycle takes one batch through the leader: proposals, its own log, the ACKs of one follower, commits.
func cycle(c *Core, batch []Txn, warren bool) int {
	z := c.NextZxid()
	for i := range batch {
		batch[i].Zxid = z + proto.Zxid(i)
	}
	if err := c.Propose(batch...); err != nil {
		panic(err)
	}
	out := c.Take()
	c.Persisted(out.Persist[len(out.Persist)-1].Seq)
	for i := range batch {
		if !warren || i == len(batch)-1 {
			c.Step(Message{Type: Ack, From: 1, Link: 1, Zxid: batch[i].Zxid})
			c.Step(Message{Type: Ack, From: 2, Link: 2, Zxid: batch[i].Zxid})
		}
	}
	return len(c.Take().Deliver)
}

func TestThousandsInFlight(t *testing.T) {
	for _, warren := range []bool{true, false} {
		c := leading(t, warren)
		batch := make([]Txn, 7000)
		require.Equal(t, len(batch), cycle(c, batch, warren))
		for range 5 {
			require.Equal(t, len(batch), cycle(c, batch, warren))
		}
	}
	c := leading(t, true)
	batch := make([]Txn, DefaultLimits().InFlight+1)
	for i := range batch {
		batch[i].Zxid = c.NextZxid() + proto.Zxid(i)
	}
	require.ErrorIs(t, c.Propose(batch...), ErrBusy)
	require.NoError(t, c.Propose(batch[:len(batch)-1]...))
}

// The path of a txn through the leader does not allocate, except when the window grows.
func TestBroadcastAllocs(t *testing.T) {
	for _, warren := range []bool{true, false} {
		c := leading(t, warren)
		batch := make([]Txn, 100)
		for range 300 {
			cycle(c, batch, warren)
		}
		allocs := testing.AllocsPerRun(500, func() { cycle(c, batch, warren) })
		require.Less(t, allocs/float64(len(batch)), 0.02, "allocations a txn, warren %v", warren)
	}
}

// A proposal that does not continue the order is a mistake of the host, and ends the process.
func TestProposeChecksZxid(t *testing.T) {
	c := leading(t, true)
	require.PanicsWithValue(t, "zab: invariant violated: proposal 0x100000002 after 0x100000000", func() {
		_ = c.Propose(Txn{Zxid: proto.MakeZxid(1, 2)})
	})
}

func BenchmarkBroadcast(b *testing.B) {
	for _, c := range []struct {
		name   string
		warren bool
		n      int
	}{{"warren/1", true, 1}, {"warren/100", true, 100}, {"java/1", false, 1}, {"java/100", false, 100}} {
		b.Run(c.name, func(b *testing.B) {
			core := leading(b, c.warren)
			batch := make([]Txn, c.n)
			b.ReportAllocs()
			for b.Loop() {
				cycle(core, batch, c.warren)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.n), "ns/txn")
		})
	}
}
