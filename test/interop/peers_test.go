//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/zab"
)

// puppet is a member of an ensemble of Java servers that says what a test tells it.
type puppet struct {
	t  *testing.T
	id proto.ServerID
	*peers.Peers

	mu      sync.Mutex
	ups     map[proto.ServerID]int
	heard   []zab.Message
	link    *peers.Link
	taken   int
	packets []peers.Packet
	loaded  *datatree.State
	closed  bool
}

func newPuppet(t *testing.T, id proto.ServerID, members []peers.Member) *puppet {
	p := &puppet{t: t, id: id, ups: map[proto.ServerID]int{}}
	p.Peers = must.Do(peers.New(peers.Config{ID: id, Members: members, Handler: p, Limits: peers.DefaultLimits(),
		Timeouts: peers.DefaultTimeouts(2*time.Second, 10, 5)}))(t)
	p.Start()
	t.Cleanup(p.Stop)
	return p
}

func (p *puppet) note(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
}

func (p *puppet) Election(m zab.Message)   { p.note(func() { p.heard = append(p.heard, m) }) }
func (p *puppet) PeerUp(id proto.ServerID) { p.note(func() { p.ups[id]++ }) }

func (p *puppet) AskedAnew(proto.ServerID, []string) {}
func (p *puppet) Accept(zab.Port) zab.LinkID         { return 1 }
func (p *puppet) Connected(l *peers.Link)            { p.note(func() { p.link = l }) }
func (p *puppet) Closed(zab.LinkID)                  { p.note(func() { p.closed = true }) }
func (p *puppet) Packets(l *peers.Link, batch []peers.Packet) {
	p.note(func() { p.link, p.packets = l, append(p.packets, batch...) })
}

func (p *puppet) Snapshot(_ *peers.Link, zxid proto.Zxid, r io.Reader) error {
	loader := datatree.NewLoader(datatree.Config{})
	if err := snapshot.ReadStream(r, loader); err != nil {
		return err
	}
	state, err := loader.Done(zxid)
	p.note(func() { p.loaded = state })
	return err
}

// until waits until holds, which is called under p.mu.
func (p *puppet) until(what string, holds func() bool) {
	p.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range 6000 {
		p.mu.Lock()
		ok := holds()
		p.mu.Unlock()
		if ok {
			return
		}
		<-ticker.C
	}
	p.t.Fatalf("puppet %d waits in vain: %s", p.id, what)
}

// next waits for the next packet and returns it as a message of the core, unless it is the host's.
func (p *puppet) next() (packet peers.Packet, m zab.Message) {
	p.t.Helper()
	p.until("next packet", func() bool { return len(p.packets) > p.taken || p.closed })
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Greater(p.t, len(p.packets), p.taken, "the link was closed")
	peers.MessageOf(p.link, p.packets[p.taken:p.taken+1], &m)
	p.taken++
	return p.packets[p.taken-1], m
}

// expect returns the next message, which must be of a type; PINGs in between are ignored.
func (p *puppet) expect(want zab.Type) zab.Message {
	p.t.Helper()
	for {
		packet, m := p.next()
		if m.Type == zab.Ping && want != zab.Ping {
			continue
		}
		require.Equal(p.t, want, m.Type, "packet %v", packet.Type)
		return m
	}
}

func (p *puppet) say(m zab.Message) {
	m.From = p.id
	p.link.Send(&m)
	p.link.Flush()
}

// vote is a notification of the state LOOKING for leader.
func (p *puppet) vote(to, leader proto.ServerID, round int64) {
	p.SendElection(&zab.Message{Type: zab.Notification, From: p.id, To: to, State: zab.Looking, Round: round,
		Version: 2, Vote: zab.Vote{Leader: leader}})
}

// answered waits for a notification from a server that has a leader and for another round than those before.
func (p *puppet) answered(from proto.ServerID, after int) zab.Message {
	p.t.Helper()
	var got zab.Message
	p.until(fmt.Sprintf("answer of server %d", from), func() bool {
		for _, m := range p.heard[after:] {
			if m.From == from && (m.State == zab.Leading || m.State == zab.Following) {
				got = m
				return true
			}
		}
		return false
	})
	return got
}

func (p *puppet) heardSoFar() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

// stage reserves ports for an ensemble and returns its members and the server lines of zoo.cfg.
func stage(t *testing.T, n int, observers ...int) ([]peers.Member, map[string]string) {
	settings := map[string]string{"4lw.commands.whitelist": "*"}
	var members []peers.Member
	for id := 1; id <= n; id++ {
		var ports [2]string
		for i := range ports {
			ports[i] = strconv.Itoa(cluster.FreePort(t))
		}
		m := peers.Member{ID: proto.ServerID(id), Quorum: []string{"127.0.0.1:" + ports[0]},
			Election: []string{"127.0.0.1:" + ports[1]}}
		line := "127.0.0.1:" + ports[0] + ":" + ports[1]
		for _, o := range observers {
			if o == id {
				m.Observer = true
				line += ":observer"
			}
		}
		settings[fmt.Sprintf("server.%d", id)] = line
		members = append(members, m)
	}
	return members, settings
}

// javaNodes returns one node for each member, of which those that are wanted are to be launched.
func javaNodes(t *testing.T, n int, settings map[string]string) []*cluster.Node {
	options := make([]cluster.Options, n)
	for i := range options {
		options[i] = cluster.Options{Kind: cluster.ZooKeeper, Settings: settings}
	}
	return cluster.Ensemble(t, options...)
}

// Java servers 2 and 3 lead; an observer with a smaller id and a voter with a larger one are ours. The election
// connection survives probes, the leader accepts FOLLOWERINFO and OBSERVERINFO with our trailer, and what it sends is
// understood.
func TestPeersJoinJava(t *testing.T) {
	members, settings := stage(t, 4, 1)
	nodes := javaNodes(t, 4, settings)
	nodes[1].Launch()
	nodes[2].Launch()
	nodes[1].WaitServing()
	nodes[2].WaitServing()
	conn := wire.Open(t, nodes[1].Addr(), wire.Options{})
	conn.MustCreate(t, "/before", []byte("x"), proto.ModePersistent)

	smaller, larger := newPuppet(t, 1, members), newPuppet(t, 4, members)
	for _, p := range []*puppet{smaller, larger} {
		p.vote(3, p.id, 1)
		got := p.answered(3, 0)
		require.Equal(t, proto.ServerID(3), got.Vote.Leader)
		require.Equal(t, zab.Leading, got.State)
		require.EqualValues(t, 2, got.Version)
		require.Contains(t, string(got.Config), "server.4=127.0.0.1:")

		// What Java cannot know is dropped, and the connection stays.
		p.SendElection(&zab.Message{Type: zab.Probe, To: 3, Nonce: 42})
		p.until("probe sent", func() bool { return p.Stats().FramesOut == 2 })
		p.SendElection(&zab.Message{Type: zab.ProbeReply, To: 3, Nonce: 42, Zxid: 1, Epoch: 1})
		p.until("probe answer sent", func() bool { return p.Stats().FramesOut == 3 })
		before := p.heardSoFar()
		p.vote(3, p.id, 2)
		p.answered(3, before)
		p.mu.Lock()
		require.Equal(t, 1, p.ups[3], "the election connection was made anew")
		p.mu.Unlock()
	}

	larger.join(t, zab.FollowerInfo, true)
	smaller.join(t, zab.ObserverInfo, false)
	conn.MustCreate(t, "/after", []byte("y"), proto.ModePersistent)
	proposal := larger.expect(zab.Proposal)
	require.Len(t, proposal.Txns, 1)
	require.True(t, bytes.Contains(proposal.Txns[0].Payload, []byte("/after")))
	require.Equal(t, proposal.Txns[0].Zxid, larger.expect(zab.Commit).Zxid)
	inform := smaller.expect(zab.Inform)
	require.Equal(t, proposal.Txns[0], inform.Txns[0])
	require.NoError(t, conn.CloseSession())
}

// join synchronises with leader 3 by a snapshot.
func (p *puppet) join(t *testing.T, introduction zab.Type, blank bool) {
	p.Dial(1, 3, zab.LearnerPort)
	p.until("connection to the leader", func() bool { return p.link != nil })
	p.say(zab.Message{Type: introduction, Warren: true, Blank: blank})
	info := p.expect(zab.LeaderInfo)
	require.False(t, info.Warren)
	require.GreaterOrEqual(t, info.Epoch, int64(1))
	p.say(zab.Message{Type: zab.AckEpoch, Epoch: -1}) // nothing here, and it does not count: all of it, please
	snap := p.expect(zab.Snap)
	require.NotNil(t, p.loaded)
	require.NotZero(t, p.loaded.Lookup([]byte("/before")))
	for {
		packet, m := p.next()
		if m.Type == zab.NewLeader {
			require.Equal(t, info.Epoch, m.Epoch)
			require.Contains(t, string(m.Config), "server.4=127.0.0.1:")
			break
		}
		require.Contains(t, []zab.Type{zab.Proposal, zab.Commit}, m.Type, "packet %v", packet.Type)
	}
	require.GreaterOrEqual(t, snap.Zxid.Epoch(), int64(1))
	p.say(zab.Message{Type: zab.Ack, Zxid: proto.MakeZxid(info.Epoch, 0)})
	p.expect(zab.UpToDate)
	p.say(zab.Message{Type: zab.Ack, Zxid: proto.MakeZxid(info.Epoch, 0)})
	ping := p.expect(zab.Ping)
	p.link.SendPacket(&peers.Packet{Type: proto.PacketPing, Zxid: ping.Zxid, Data: []byte{}})
	p.link.Flush()
}

// A server of ours leads a Java follower: it accepts LEADERINFO with our trailer, and our snapshot.
func TestPeersLeadJava(t *testing.T) {
	members, settings := stage(t, 2)
	nodes := javaNodes(t, 2, settings)
	leader := newPuppet(t, 2, members)
	nodes[0].Launch()
	leader.until("the follower's vote", func() bool {
		return len(leader.heard) > 0
	})
	// Vote as it does, then lead: Java sees a quorum for 2.
	leader.vote(1, 2, leader.heard[0].Round)
	leader.until("a learner", func() bool { return len(leader.packets) > 0 })
	info := leader.expect(zab.FollowerInfo)
	require.Equal(t, proto.ServerID(1), info.From)
	require.False(t, info.Warren)
	const epoch = 1
	leader.say(zab.Message{Type: zab.LeaderInfo, Zxid: proto.MakeZxid(epoch, 0), Epoch: epoch, Warren: true})
	require.EqualValues(t, 0, leader.expect(zab.AckEpoch).Epoch)
	state := datatree.NewState(datatree.Config{})
	leader.link.SendSnapshot(proto.MakeZxid(epoch, 0), func(w io.Writer) error {
		return snapshot.WriteStream(w, source{state.NewWalker()})
	})
	var config []string
	for _, m := range members {
		_, election, _ := strings.Cut(m.Election[0], ":")
		config = append(config, fmt.Sprintf("server.%d=%s:%s:participant", m.ID, m.Quorum[0], election))
	}
	leader.say(zab.Message{Type: zab.NewLeader, Zxid: proto.MakeZxid(epoch, 0),
		Config: []byte(strings.Join(append(config, "version=0"), "\n"))})
	require.Equal(t, proto.MakeZxid(epoch, 0), leader.expect(zab.Ack).Zxid)
	leader.say(zab.Message{Type: zab.UpToDate, Zxid: -1})
	require.Equal(t, proto.MakeZxid(epoch, 0), leader.expect(zab.Ack).Zxid)

	// It serves: a client's request for a session arrives here, becomes a txn, and is answered.
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		if conn, err := wire.Dial(nodes[0].Addr(), wire.Options{}); err == nil {
			conn.Close()
		}
	}()
	var request peers.Packet
	for request.Type != proto.PacketRequest {
		request, _ = leader.next()
	}
	r := proto.NewReader(request.Data)
	header := proto.TxnHeader{ClientID: proto.SessionID(r.Int64()), Cxid: r.Int32(), Zxid: proto.MakeZxid(epoch, 1),
		Type: proto.OpCode(r.Int32())}
	require.Equal(t, proto.OpCreateSession, header.Type)
	payload := append(header.AppendTo(nil), request.Data[16:]...)
	leader.say(zab.Message{Type: zab.Proposal, Txns: []zab.Txn{{Zxid: header.Zxid, Payload: payload}}})
	require.Equal(t, header.Zxid, leader.expect(zab.Ack).Zxid)
	leader.say(zab.Message{Type: zab.Commit, Zxid: header.Zxid})
	<-done
	nodes[0].Kill()
}

// source serialises a state that is used by nothing else.
type source struct{ *datatree.Walker }

func (s source) Next(b []byte) ([]byte, bool) { return s.Walker.Next(b, 64<<10) }
