package peers

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// Random bytes, on both ports, some of which begin as they should: the host hears of no server, and members go on.
func TestRandomBytes(t *testing.T) {
	seed := rand.Uint64()
	fmt.Printf("SEED=%d\n", seed)
	leader, follower, mine, its := linked(t)
	var wg sync.WaitGroup
	for i := range 100 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		b := make([]byte, r.IntN(3000))
		for j := range b {
			b[j] = byte(r.Uint32() >> r.IntN(32))
		}
		address := leader.w.member(3).Quorum[0]
		switch {
		case i%4 == 1:
			b = append(proto.AppendInt32(nil, int32(proto.PacketFollowerInfo)), b...)
		case i%4 == 2:
			address = leader.w.member(3).Election[0]
		case i%4 == 3:
			address = leader.w.member(3).Election[0]
			b = append(proto.AppendInt64(nil, greetingOne), b...)
		}
		nc := leader.w.connect(address)
		wg.Go(func() {
			_, _ = nc.Write(b)
			_ = nc.(*net.TCPConn).CloseWrite()
			_, err := io.Copy(io.Discard, nc)
			_ = err // a reset is as good as an end
		})
	}
	wg.Wait()
	mine.Send(ack(1))
	mine.Flush()
	leader.waitPackets(its.ID, 2)
	follower.peers.SendElection(vote(3, 1))
	leader.heard(1, 1)
	leader.mu.Lock()
	defer leader.mu.Unlock()
	require.Len(t, leader.links, 1)
	require.Len(t, leader.elected, 1)
}

// A connection that does not begin with the introduction of a learner is closed, and the host does not hear of it.
func TestIntroductions(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3)
	info := func(from proto.ServerID) []byte {
		return AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: from})
	}
	for name, b := range map[string][]byte{
		"another packet":    appendPlain(nil, proto.PacketAck, 1),
		"an unknown packet": appendPlain(nil, 77, 1),
		"this server":       info(3),
		"a negative id":     info(-1),
		"a follower nobody": appendPlain(nil, proto.PacketFollowerInfo, 0),
		"an observer -2":    AppendMessage(nil, &zab.Message{Type: zab.ObserverInfo, From: -2}),
		"too much":          appendData(nil, proto.PacketFollowerInfo, 0, make([]byte, firstPacketMax+1)),
		"half an id":        appendData(nil, proto.PacketFollowerInfo, 0, make([]byte, 4)),
		"far too much":      proto.AppendInt32(appendHead(nil, proto.PacketFollowerInfo, 0), 0x7fffffff),
		"too many to vouch": proto.AppendInt32(proto.AppendInt32(appendHead(nil, proto.PacketFollowerInfo, 0), -1),
			1000),
		"a client":           binary.BigEndian.AppendUint32(nil, 45),
		"nothing":            nil,
		"the election port?": appendGreeting(nil, 1, []string{"a:1"}),
	} {
		nc := w.connect(w.member(3).Quorum[0])
		must.Do(nc.Write(b))(t)
		if tcp, ok := nc.(*net.TCPConn); ok {
			require.NoError(t, tcp.CloseWrite())
		}
		n, err := nc.Read(make([]byte, 1))
		require.Zero(t, n, name)
		require.Error(t, err, name)
	}
	require.Eventually(t, func() bool { return leader.peers.Stats().Refused == 13 }, patience, time.Millisecond)
	require.Empty(t, leader.links)
}

// A learner that sends what is no packet loses its link.
func TestBadPacketEndsTheLink(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader, follower := w.start(3), w.start(1)
	for _, bad := range [][]byte{
		proto.AppendInt32(appendHead(nil, proto.PacketRequest, 0), -7),
		appendData(nil, proto.PacketPing, 0, make([]byte, 5)),
		appendData(nil, proto.PacketProposal, 9, make([]byte, 40)),
	} {
		mine, its := follower.follow(leader)
		mine.Send(ack(1))
		mine.Stream(func(w io.Writer) error {
			_, err := w.Write(bad)
			return err
		})
		leader.waitClosed(its.ID)
		follower.waitClosed(mine.ID)
		require.Len(t, leader.links[its.ID].packets, 2, "what came before is handed over")
	}
}

// A connection on which nothing arrives, or only a little, is not waited for.
func TestSilence(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3, func(cfg *Config) {
		cfg.Timeouts.Greeting, cfg.Timeouts.FirstPacket = 30*time.Millisecond, 30*time.Millisecond
	})
	for _, address := range []string{w.member(3).Quorum[0], w.member(3).Election[0]} {
		for _, beginning := range []string{"", "\x00\x00\x00\x0b"} {
			nc := w.connect(address)
			must.Do(io.WriteString(nc, beginning))(t)
			requireEnd(t, nc)
		}
		// Byte after byte does not prolong it.
		nc := w.connect(address)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = nc.Read(make([]byte, 1))
		}()
		for begin := time.Now(); ; {
			_, _ = nc.Write([]byte{0xff})
			select {
			case <-ended:
			case <-time.After(2 * time.Millisecond):
				require.Less(t, time.Since(begin), patience)
				continue
			}
			break
		}
	}
	require.Empty(t, leader.links)
}

// A learner that has introduced itself may be silent for as long as the core likes.
func TestSilenceAfterTheFirstPacket(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3,
		func(cfg *Config) { cfg.Timeouts.Greeting, cfg.Timeouts.FirstPacket = time.Second, time.Second })
	follower := w.start(1)
	mine, its := follower.follow(leader)
	stranger := w.connect(w.member(3).Quorum[0])
	requireEnd(t, stranger)
	mine.Send(ack(1))
	mine.Flush()
	leader.waitPackets(its.ID, 2)
}

// Silent strangers fill the waiting rooms; members get in all the same.
func TestCrowd(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3, func(cfg *Config) { cfg.Limits.StrangersMax = 4 })
	follower := w.start(1)
	var crowd []net.Conn
	for range 20 {
		crowd = append(crowd, w.connect(w.member(3).Quorum[0]), w.connect(w.member(3).Election[0]))
	}
	_, its := follower.follow(leader)
	require.Equal(t, proto.ServerID(1), its.Peer)
	follower.peers.SendElection(vote(3, 1))
	leader.heard(1, 1)
	for _, nc := range crowd[:20] {
		requireEnd(t, nc)
	}
	leader.peers.learner.lobby.mu.Lock()
	defer leader.peers.learner.lobby.mu.Unlock()
	require.LessOrEqual(t, len(leader.peers.learner.lobby.mu.waiting), 4)
}

// A flood from one address does not take the place of a member that is slow to introduce itself.
func TestFloodOfOneAddress(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3, func(cfg *Config) { cfg.Limits.StrangersMax = 4 })
	address := w.member(3).Quorum[0]
	member := w.connect(address)
	flood := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 0, 1)}}
	var ended atomic.Int32
	for range 20 {
		nc := must.Do(flood.DialContext(t.Context(), "tcp", address))(t)
		defer nc.Close()
		go func() {
			_, _ = nc.Read(make([]byte, 1))
			ended.Add(1)
		}()
	}
	must.Do(member.Write(AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: 1})))(t)
	require.Eventually(t, func() bool {
		leader.mu.Lock()
		defer leader.mu.Unlock()
		return len(leader.links) == 1
	}, patience, time.Millisecond)
	require.Eventually(t, func() bool { return ended.Load() >= 16 }, patience, time.Millisecond) // four have room
}

// Lengths that lie, on many connections, cost no memory.
func TestLyingLengths(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		nc := w.connect(w.member(3).Quorum[0])
		b := AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: 1})
		must.Do(nc.Write(proto.AppendInt32(appendHead(b, proto.PacketRequest, 0), 64<<20)))(t)
		nc = w.greet(3, anonymousID)
		must.Do(nc.Write(proto.AppendInt32(nil, frameMax)))(t)
	}
	leader.wait("all", func() bool { return len(leader.links) == 20 && len(leader.up) == 20 })
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}
