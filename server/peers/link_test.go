package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// ack is a packet that can be told from others.
func ack(n int) *zab.Message { return &zab.Message{Type: zab.Ack, Zxid: proto.Zxid(n)} }

func TestLinkCarriesMessagesBothWays(t *testing.T) {
	leader, follower, mine, its := linked(t)
	require.Equal(t, proto.ServerID(1), its.Peer)
	require.Equal(t, proto.ServerID(3), mine.Peer)
	require.True(t, mine.Dialled)
	require.False(t, its.Dialled)
	require.Same(t, its, leader.peers.Link(its.ID))

	its.Send(&zab.Message{Type: zab.LeaderInfo, Zxid: proto.MakeZxid(4, 0), Warren: true})
	its.SendSnapshot(proto.MakeZxid(4, 0), func(w io.Writer) error {
		_, err := io.WriteString(w, "state")
		return err
	})
	its.Send(&zab.Message{Type: zab.UpToDate, Zxid: -1})
	its.Flush()
	got := follower.waitPackets(mine.ID, 3)
	require.Equal(t, proto.PacketLeaderInfo, got[0].Type)
	require.Equal(t, Packet{Type: proto.PacketSnap, Zxid: proto.MakeZxid(4, 0)}, got[1])
	require.Equal(t, Packet{Type: proto.PacketUpToDate, Zxid: -1}, got[2])
	require.Equal(t, []string{"state"}, follower.links[mine.ID].snapshots)

	mine.Send(ack(1))
	mine.SendPacket(&Packet{Type: proto.PacketRequest, Zxid: -1, Data: make([]byte, 16),
		Authinfo: appendIdentities(nil, nil)})
	mine.Flush()
	require.Equal(t, Packet{Type: proto.PacketRequest, Zxid: -1, Data: make([]byte, 16), Authinfo: []byte{0, 0, 0, 0}},
		leader.waitPackets(its.ID, 3)[2])
	require.Eventually(t, func() bool { // the writer counts when it has written
		in, out := mine.Stats(), its.Stats()
		return in.PacketsIn == 3 && in.PacketsOut == 3 && in.BytesIn == out.BytesOut && in.BytesOut == out.BytesIn &&
			in.RequestsIn == 0 && out.RequestsIn == 1 && in.BytesOut > 0 && in.QueueBytes == 0 && in.QueuePackets == 0
	}, patience, time.Millisecond)
	require.Equal(t, leader.w.member(3).Quorum[0], mine.Stats().Addr)
	require.Len(t, follower.peers.Stats().Links, 1)
}

// Messages, streams and packets arrive in the order in which they were sent, by several goroutines each in its own
// order.
func TestLinkKeepsTheOrder(t *testing.T) {
	seed := rand.Uint64()
	fmt.Printf("SEED=%d\n", seed)
	_, follower, mine, its := linked(t)
	const senders, each = 4, 500
	var wg sync.WaitGroup
	for s := range senders {
		r := rand.New(rand.NewPCG(seed, uint64(s)))
		wg.Go(func() {
			for i := range each {
				m := ack(s<<32 | i)
				if r.IntN(50) == 0 {
					its.Stream(func(w io.Writer) error {
						_, err := w.Write(AppendMessage(nil, m))
						return err
					})
				} else {
					its.Send(m)
				}
				switch r.IntN(10) {
				case 0:
					its.Flush()
				case 1, 2:
					its.FlushNow()
				}
			}
			its.Flush()
		})
	}
	wg.Wait()
	its.Flush()
	next := [senders]int{}
	for _, p := range follower.waitPackets(mine.ID, senders*each) {
		s := int(p.Zxid >> 32)
		require.Equal(t, next[s], int(p.Zxid&0xffffffff))
		next[s]++
	}
}

// counting counts the writes to the connections that are dialled.
func counting(writes *atomic.Int64) func(*Config) {
	return func(cfg *Config) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, address)
			return &countedConn{nc, writes}, err
		}
	}
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// All that is sent before a flush leaves with one write.
func TestOneWriteForEachFlush(t *testing.T) {
	var writes atomic.Int64
	w := newWorld(t, 3, 3)
	leader, follower := w.start(3), w.start(1, counting(&writes))
	mine, its := follower.follow(leader)
	before := writes.Load()
	for flush := range 10 {
		for i := range 100 {
			mine.Send(ack(i))
		}
		require.Equal(t, before+int64(flush), writes.Load(), "written before it was flushed")
		mine.Flush()
		mine.Flush()
		leader.waitPackets(its.ID, 1+100*(flush+1))
	}
	require.Equal(t, before+10, writes.Load())
}

func TestSendingDoesNotAllocate(t *testing.T) {
	leader, _, mine, its := linked(t)
	leader.handle(func(*Link, []Packet) {})
	m := &zab.Message{Type: zab.Proposal,
		Txns: []zab.Txn{{Zxid: 1, Payload: (&proto.TxnHeader{Zxid: 1}).AppendTo(nil)}}}
	round := func() {
		for range 100 {
			mine.Send(m)
		}
		mine.Flush()
	}
	round()
	require.Less(t, testing.AllocsPerRun(100, round), 50.0, "100 packets")
	leader.waitPackets(its.ID, 100*100)
}

// Close lets everything arrive that was sent before, though the other side keeps sending; then nothing is reported
// any more.
func TestCloseDrains(t *testing.T) {
	leader, follower, mine, its := linked(t)
	var flood sync.WaitGroup
	flood.Go(func() {
		for i := 0; ; i++ {
			mine.Send(ack(i))
			mine.Flush()
			if follower.closedLinks() > 0 {
				return
			}
		}
	})
	const n = 5000
	for i := range n {
		its.Send(ack(i))
		if i%7 == 0 {
			its.FlushNow()
		}
	}
	its.Close()
	its.Send(ack(n)) // comes too late
	its.Flush()
	follower.waitPackets(mine.ID, n)
	follower.waitClosed(mine.ID)
	leader.waitClosed(its.ID)
	flood.Wait()
	require.Len(t, follower.links[mine.ID].packets, n)
	require.Nil(t, leader.peers.Link(its.ID))
	its.Close()
	its.Abort()
}

// closedLinks counts the links that have ended.
func (h *host) closedLinks() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.links {
		n += s.closed
	}
	return n
}

// What the socket does not take at once is sent later, in its order.
func TestFlushNowOnAFullSocket(t *testing.T) {
	_, follower, mine, its := linked(t)
	release := follower.hang()
	n := 0
	for ; its.Stats().QueueBytes < 1<<20; n++ {
		its.SendPacket(&Packet{Type: proto.PacketRequest, Zxid: proto.Zxid(n), Data: make([]byte, 15<<10)})
		its.FlushNow()
	}
	require.Positive(t, its.Stats().QueuePackets)
	close(release)
	for i, p := range follower.waitPackets(mine.ID, n) {
		require.EqualValues(t, i, p.Zxid)
	}
	require.Eventually(t, func() bool { return its.Stats().QueuePackets == 0 }, patience, time.Millisecond)
	its.Send(ack(n)) // and the next goes at once again
	its.FlushNow()
	follower.waitPackets(mine.ID, n+1)
}

// The time in which a stream or a message must be written is over with it: what is sent later, and at once, is not
// late.
func TestFlushNowLongAfter(t *testing.T) {
	const limit = 50 * time.Millisecond
	_, follower, mine, its := linked(t, func(cfg *Config) { cfg.Timeouts.Write = limit })
	for n, stream := range []bool{false, true} {
		if stream {
			its.Stream(func(w io.Writer) error {
				_, err := w.Write(AppendMessage(nil, ack(2*n)))
				return err
			})
		} else {
			its.Send(ack(2 * n))
		}
		its.Flush()
		follower.waitPackets(mine.ID, 2*n+1)
		<-time.After(2 * limit)
		its.Send(ack(2*n + 1))
		its.FlushNow()
		follower.waitPackets(mine.ID, 2*n+2)
	}
}

// A link whose peer reads nothing is closed for good all the same.
func TestCloseGivesUpOnADeafPeer(t *testing.T) {
	leader, follower, mine, its := linked(t, func(cfg *Config) { cfg.Timeouts.Drain = 100 * time.Millisecond })
	release := follower.hang()
	big := &Packet{Type: proto.PacketRequest, Data: make([]byte, 64<<10)}
	for range 200 {
		its.SendPacket(big)
	}
	its.Close()
	leader.waitClosed(its.ID)
	close(release)
	follower.waitClosed(mine.ID)
}

func TestAbort(t *testing.T) {
	leader, follower, mine, its := linked(t)
	mine.Abort()
	follower.waitClosed(mine.ID)
	leader.waitClosed(its.ID)
}

// A peer that takes less than it is sent loses the link, and nothing else suffers.
func TestSlowPeer(t *testing.T) {
	leader, follower, mine, its := linked(t, func(cfg *Config) { cfg.Limits.QueueMax = 1 << 20 })
	release := follower.hang()
	data := make([]byte, 64<<10)
	for i := 0; leader.closedLinks() == 0; i++ {
		its.SendPacket(&Packet{Type: proto.PacketRequest, Data: data})
		its.Flush()
		require.LessOrEqual(t, its.Stats().QueueBytes, 1<<20+70<<10)
	}
	require.ErrorIs(t, its.why(), ErrSlow)
	close(release)
	follower.waitClosed(mine.ID)
}

// All that a learner lacks is sent to it at once, though it is more than may wait for a slow peer. What is sent after
// that counts as ever.
func TestPeerThatLacksMuchIsNotSlow(t *testing.T) {
	const limit, chunk = 1 << 20, 64 << 10
	_, follower, mine, its := linked(t, func(cfg *Config) { cfg.Limits.QueueMax = limit })
	release, got := make(chan struct{}), make(chan int, 1000)
	follower.handle(func(_ *Link, batch []Packet) {
		<-release
		got <- len(batch)
	})
	packet := &Packet{Type: proto.PacketRequest, Data: make([]byte, chunk)}
	send := func(n int) {
		for range n {
			its.SendPacket(packet)
		}
		its.Flush()
	}
	receive := func(n int) {
		for n > 0 {
			n -= <-got
		}
	}
	const much = 400 // more than the sockets hold, so the rest waits for the reader
	send(much)
	send(limit / 2 / chunk)
	require.False(t, its.ended())
	close(release)
	receive(much + limit/2/chunk)

	stuck := follower.hang()
	for send(much); !its.ended(); send(1) {
		require.LessOrEqual(t, its.Stats().QueueBytes, (much+2)*(chunk+packetMin)+limit)
	}
	require.ErrorIs(t, its.why(), ErrSlow)
	close(stuck)
	follower.waitClosed(mine.ID)
}

// While the handler of one link blocks, what was not read stays with the sender.
func TestBackPressure(t *testing.T) {
	_, follower, mine, its := linked(t)
	release := follower.hang()
	const n = 200
	for range n {
		its.SendPacket(&Packet{Type: proto.PacketRequest, Data: make([]byte, 64<<10)})
	}
	its.Flush()
	follower.waitPackets(mine.ID, 1)
	require.Greater(t, its.Stats().QueueBytes, 1<<20)
	require.Greater(t, its.Stats().QueuePackets, 16)
	close(release)
	follower.waitPackets(mine.ID, n)
}

func TestDialFails(t *testing.T) {
	w := newWorld(t, 3, 3)
	follower := w.start(1, func(cfg *Config) {
		cfg.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			if address == w.member(2).Quorum[0] {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, errors.New("nobody is there")
		}
	})
	ask := func(to proto.ServerID) zab.LinkID {
		follower.mu.Lock()
		id := follower.number()
		follower.mu.Unlock()
		follower.peers.Dial(id, to, zab.LearnerPort)
		return id
	}
	follower.waitClosed(ask(3))
	follower.waitClosed(ask(99))
	id := ask(2)
	require.NotNil(t, follower.peers.Link(id))
	follower.peers.Close(id)
	follower.waitClosed(id)
	id = ask(2) // is still connecting when everything ends
	follower.stop()
	require.Equal(t, 1, follower.links[id].closed)
	follower.peers.Dial(ask(2), 2, zab.LearnerPort)
	require.Zero(t, follower.peers.Stats().Links)
}

// The leader refuses: the host has no number for the learner.
func TestNotAccepted(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader, follower := w.start(3), w.start(1)
	leader.refuse = true
	l := follower.dial(3)
	l.Send(&zab.Message{Type: zab.FollowerInfo, From: 1})
	l.Flush()
	follower.waitClosed(l.ID)
	require.Empty(t, leader.links)
}

// The next address is tried when one fails, and beside one that does not answer.
func TestSeveralAddresses(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3)
	good := w.members[2].Quorum[0]
	w.members = append([]Member(nil), w.members...)
	w.members[2].Quorum = []string{"192.0.2.1:1", "192.0.2.2:1", good}
	var tried sync.Map
	follower := w.start(1, func(cfg *Config) {
		cfg.Timeouts.Stagger = 1
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			tried.Store(address, true)
			switch address {
			case "192.0.2.1:1":
				<-ctx.Done()
				return nil, ctx.Err()
			case "192.0.2.2:1":
				return nil, errors.New("dead")
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	_, its := follower.follow(leader)
	require.Equal(t, proto.ServerID(1), its.Peer)
	for _, a := range w.members[2].Quorum {
		_, ok := tried.Load(a)
		require.True(t, ok, a)
	}
}

// Snapshots that do not end as they should, or cannot be used, end the link, and SNAP is not reported.
func TestSnapshotFails(t *testing.T) {
	unusable := errors.New("unusable")
	for name, v := range map[string]struct {
		read func(io.Reader) error
		body func(l *Link, w io.Writer) error
	}{
		"refused": {func(io.Reader) error { return unusable }, nil},
		"reads too little": {func(r io.Reader) error {
			_, err := io.ReadFull(r, make([]byte, 4))
			return err
		}, nil},
		"cannot be made": {nil, func(*Link, io.Writer) error { return unusable }},
		"breaks off": {nil, func(l *Link, w io.Writer) error {
			_, _ = io.WriteString(w, "st")
			l.Abort()
			_, err := w.Write(make([]byte, 2*streamBuffer))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			leader, follower, mine, its := linked(t)
			if v.read != nil {
				follower.mu.Lock()
				follower.onStream = func(_ proto.Zxid, r io.Reader) error { return v.read(r) }
				follower.mu.Unlock()
			}
			its.SendSnapshot(7, func(w io.Writer) error {
				if v.body != nil {
					return v.body(its, w)
				}
				_, err := io.WriteString(w, "state")
				return err
			})
			follower.waitClosed(mine.ID)
			leader.waitClosed(its.ID)
			require.Empty(t, follower.links[mine.ID].packets)
		})
	}
}

// A snapshot that is being read ends with the link.
func TestSnapshotEndsWithTheLink(t *testing.T) {
	leader, follower, mine, its := linked(t)
	reading := make(chan struct{})
	follower.mu.Lock()
	follower.onStream = func(_ proto.Zxid, r io.Reader) error {
		close(reading)
		_, err := io.Copy(io.Discard, r)
		return err
	}
	follower.mu.Unlock()
	its.SendSnapshot(7, func(w io.Writer) error {
		for {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1000)); err != nil {
				return err
			}
		}
	})
	<-reading
	mine.Close()
	follower.waitClosed(mine.ID)
	leader.waitClosed(its.ID)
}

// A large snapshot arrives whole.
func TestLargeSnapshot(t *testing.T) {
	_, follower, mine, its := linked(t)
	const size = 2 << 20
	follower.mu.Lock()
	follower.onStream = func(_ proto.Zxid, r io.Reader) error {
		n, err := io.CopyN(io.Discard, r, size)
		if n != size {
			return fmt.Errorf("%d of %d: %w", n, size, err)
		}
		return err
	}
	follower.mu.Unlock()
	its.SendSnapshot(7, func(w io.Writer) error {
		_, err := io.CopyN(w, &endless{b: []byte("abc")}, size)
		return err
	})
	its.Send(&zab.Message{Type: zab.UpToDate, Zxid: -1})
	its.Flush()
	require.Equal(t, proto.PacketUpToDate, follower.waitPackets(mine.ID, 2)[1].Type)
}

// Observers without an id are told apart.
func TestAnonymousLearners(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3)
	for i, first := range []Packet{
		{Type: proto.PacketObserverInfo},
		{Type: proto.PacketObserverInfo, Data: proto.AppendInt64(nil, -1)},
		{Type: proto.PacketObserverInfo, Data: proto.AppendInt64(nil, int64(anonymousID))},
	} {
		must.Do(w.connect(w.member(3).Quorum[0]).Write(first.AppendTo(nil)))(t)
		id := zab.LinkID(i + 1)
		leader.wait("an observer", func() bool { return leader.links[id] != nil && len(leader.links[id].packets) > 0 })
		require.Equal(t, proto.ServerID(-i-1), leader.links[id].link.Peer)
	}
}

// The lineage of a learner has grown with each epoch of its ensemble. The longest is taken, too.
func TestLearnerWithTheLongestLineage(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader, follower := w.start(3), w.start(1)
	longest := &zab.Lineage{Ensemble: 1, Final: true}
	for epoch := int64(1); len(longest.AppendTo(nil)) < zab.LineageSizeMax; epoch++ {
		longest.Reigns = append(longest.Reigns, zab.Reign{Epoch: epoch, Leader: 3, Mark: 7})
	}
	l := follower.dial(3)
	l.Send(&zab.Message{Type: zab.FollowerInfo, From: 1, Warren: true, Lineage: longest})
	l.Flush()
	leader.wait("the follower", func() bool { return len(leader.links) == 1 && len(leader.links[1].packets) > 0 })
}

// Stop lets what was sent arrive.
func TestStopDrains(t *testing.T) {
	leader, follower, mine, its := linked(t)
	const n = 5000
	for i := range n {
		its.Send(ack(i))
	}
	leader.stop()
	require.Equal(t, 1, leader.links[its.ID].closed)
	require.Len(t, follower.waitPackets(mine.ID, n), n)
	follower.waitClosed(mine.ID)
	leader.peers.Stop()
}
