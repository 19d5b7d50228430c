package peers

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// world is an ensemble of servers that are all this package has to know of.
type world struct {
	t       *testing.T
	members []Member
	ports   map[string]net.Listener // bound beforehand: the addresses are known and stay free
	hosts   map[proto.ServerID]*host
}

// newWorld makes the members 1 to n, of which those above voters are observers.
func newWorld(t *testing.T, voters, n int) *world {
	w := &world{t: t, ports: map[string]net.Listener{}, hosts: map[proto.ServerID]*host{}}
	for id := 1; id <= n; id++ {
		w.members = append(w.members, Member{ID: proto.ServerID(id), Election: []string{w.port()},
			Quorum: []string{w.port()}, Observer: id > voters})
	}
	t.Cleanup(func() {
		for _, ln := range w.ports {
			ln.Close()
		}
	})
	return w
}

func (w *world) port() string {
	ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(w.t)
	w.ports[ln.Addr().String()] = ln
	return ln.Addr().String()
}

func (w *world) member(id proto.ServerID) *Member { return &w.members[id-1] }

func testConfig(t *testing.T, id proto.ServerID, members []Member) Config {
	timeouts := DefaultTimeouts(time.Second, 10, 5)
	timeouts.RedialMin, timeouts.RedialMax, timeouts.CallBack = time.Millisecond, 20*time.Millisecond,
		200*time.Millisecond
	timeouts.Resolve = 50 * time.Millisecond
	timeouts.BindPause, timeouts.Drain = time.Millisecond, patience
	return Config{ID: id, Members: members, Limits: DefaultLimits(), Timeouts: timeouts,
		Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)),
		// names are left to Dial
		Resolve: func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }}
}

// start starts a server; configure may change its configuration.
func (w *world) start(id proto.ServerID, configure ...func(*Config)) *host {
	h := &host{w: w, links: map[zab.LinkID]*linkSeen{}}
	h.cond = sync.NewCond(&h.mu)
	cfg := testConfig(w.t, id, w.members)
	cfg.Handler = h
	cfg.Listen = func(network, address string) (net.Listener, error) {
		if ln, ok := w.ports[address]; ok {
			return &borrowed{Listener: ln, done: make(chan struct{})}, nil
		}
		return net.Listen(network, address)
	}
	for _, f := range configure {
		f(&cfg)
	}
	h.peers = must.Do(New(cfg))(w.t)
	w.hosts[id] = h
	w.t.Cleanup(h.stop)
	h.peers.Start()
	return h
}

// borrowed is a listener whose port stays bound when it is closed.
type borrowed struct {
	net.Listener
	once sync.Once
	done chan struct{}
}

func (b *borrowed) Accept() (net.Conn, error) {
	nc, err := b.Listener.Accept()
	select {
	case <-b.done:
		if err == nil {
			nc.Close()
		}
		_ = b.Listener.(*net.TCPListener).SetDeadline(time.Time{})
		return nil, net.ErrClosed
	default:
		return nc, err
	}
}

func (b *borrowed) Close() error {
	b.once.Do(func() {
		close(b.done)
		_ = b.Listener.(*net.TCPListener).SetDeadline(time.Now())
	})
	return nil
}

// linkSeen is what a host was told of one link.
type linkSeen struct {
	link      *Link
	connected bool
	port      zab.Port
	closed    int
	packets   []Packet
	snapshots []string
}

// host is a handler that remembers.
type host struct {
	w     *world
	peers *Peers
	once  sync.Once

	mu       sync.Mutex
	cond     *sync.Cond
	asked    []string // by AskedAnew
	elected  []zab.Message
	up       []proto.ServerID
	links    map[zab.LinkID]*linkSeen
	last     zab.LinkID
	refuse   bool                                  // Accept answers 0
	onBatch  func(l *Link, batch []Packet)         // called in Packets
	onStream func(z proto.Zxid, r io.Reader) error // reads the body of a snapshot
}

func (h *host) stop() { h.once.Do(h.peers.Stop) }

func (h *host) Election(m zab.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.elected = append(h.elected, m)
	h.cond.Broadcast()
}

func (h *host) PeerUp(id proto.ServerID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = append(h.up, id)
	h.cond.Broadcast()
}

func (h *host) AskedAnew(id proto.ServerID, addresses []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, fmt.Sprint(id, addresses))
	h.cond.Broadcast()
}

func (h *host) Accept(port zab.Port) zab.LinkID {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse {
		return 0
	}
	id := h.number()
	h.links[id].port = port
	return id
}

// number returns a new number. REQUIRES: h.mu.
func (h *host) number() zab.LinkID {
	h.last++
	h.links[h.last] = &linkSeen{}
	return h.last
}

func (h *host) Connected(l *Link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen(l).connected = true
}

// seen returns what is known of a link that reports something. REQUIRES: h.mu.
func (h *host) seen(l *Link) *linkSeen {
	s := h.links[l.ID]
	if s == nil || s.closed > 0 || s.link != nil && s.link != l {
		panic(fmt.Sprintf("link %d reports out of turn", l.ID))
	}
	s.link = l
	h.cond.Broadcast()
	return s
}

func (h *host) Packets(l *Link, batch []Packet) {
	h.mu.Lock()
	s := h.seen(l)
	s.packets = append(s.packets, batch...)
	on := h.onBatch
	h.mu.Unlock()
	if on != nil {
		on(l, batch)
	}
}

func (h *host) Snapshot(l *Link, z proto.Zxid, r io.Reader) error {
	h.mu.Lock()
	on := h.onStream
	h.mu.Unlock()
	if on != nil {
		return on(z, r)
	}
	b := make([]byte, 5)
	_, err := io.ReadFull(r, b)
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.seen(l)
	s.snapshots = append(s.snapshots, string(b))
	return err
}

func (h *host) Closed(id zab.LinkID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links[id].closed++
	h.cond.Broadcast()
}

// wait waits until what, which is called under h.mu, holds.
func (h *host) wait(what string, holds func() bool) {
	h.w.t.Helper()
	timeout := time.AfterFunc(patience, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.cond.Broadcast()
	})
	defer timeout.Stop()
	deadline := time.Now().Add(patience)
	h.mu.Lock()
	defer h.mu.Unlock()
	for !holds() {
		if !time.Now().Before(deadline) {
			h.w.t.Fatalf("server %d waits in vain: %s", h.peers.cfg.ID, what)
		}
		h.cond.Wait()
	}
}

// waitClosed waits for the end of a link.
func (h *host) waitClosed(id zab.LinkID) {
	h.w.t.Helper()
	h.wait("closed", func() bool { return h.links[id].closed == 1 })
}

// waitPackets waits until n packets have come on a link and returns them.
func (h *host) waitPackets(id zab.LinkID, n int) (packets []Packet) {
	h.w.t.Helper()
	h.wait(fmt.Sprintf("%d packets on link %d", n, id), func() bool {
		packets = h.links[id].packets
		return len(packets) >= n
	})
	return packets[:n]
}

// dial asks for a link and waits until it stands.
func (h *host) dial(to proto.ServerID) *Link {
	h.w.t.Helper()
	h.mu.Lock()
	id := h.number()
	h.mu.Unlock()
	h.peers.Dial(id, to, zab.LearnerPort)
	var l *Link
	h.wait("connected", func() bool {
		l = h.links[id].link
		return h.links[id].connected
	})
	return l
}

// follow makes h a follower of leader and returns both ends of the link.
func (h *host) follow(leader *host) (mine, its *Link) {
	h.w.t.Helper()
	l := h.dial(leader.peers.cfg.ID)
	l.Send(&zab.Message{Type: zab.FollowerInfo, From: h.peers.cfg.ID, Warren: true})
	l.Flush()
	leader.wait("a follower", func() bool {
		for _, s := range leader.links {
			if s.link != nil && !s.link.Dialled && s.closed == 0 && s.link.Peer == h.peers.cfg.ID &&
				len(s.packets) > 0 {
				its = s.link
			}
		}
		return its != nil
	})
	return l, its
}

// linked starts the servers 3 and 1 of three, makes the second a follower of the first, and returns both servers and
// both ends of their link. configure may change the configuration of the leader.
func linked(t *testing.T, configure ...func(*Config)) (leader, follower *host, mine, its *Link) {
	t.Helper()
	w := newWorld(t, 3, 3)
	leader, follower = w.start(3, configure...), w.start(1)
	mine, its = follower.follow(leader)
	return leader, follower, mine, its
}

// handle makes h call f in Packets.
func (h *host) handle(f func(l *Link, batch []Packet)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onBatch = f
}

// hang keeps h from taking further packets until release is closed.
func (h *host) hang() (release chan struct{}) {
	release = make(chan struct{})
	h.handle(func(*Link, []Packet) { <-release })
	return release
}

// why is the reason for the end of a link.
func (l *Link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.reason
}

// connect opens a plain connection to a port of a server.
func (w *world) connect(address string) net.Conn {
	w.t.Helper()
	nc := must.Do(new(net.Dialer).DialContext(context.Background(), "tcp", address))(w.t)
	w.t.Cleanup(func() { nc.Close() })
	require.NoError(w.t, nc.SetDeadline(time.Now().Add(patience)))
	return nc
}

// vote is a notification that can be told from others by its round.
func vote(to proto.ServerID, round int64) *zab.Message {
	return &zab.Message{Type: zab.Notification, To: to, State: zab.Looking, Round: round, Version: 2,
		Config: []byte("version=0"), Vote: zab.Vote{Leader: 3, Zxid: 7, Epoch: 1}}
}

// heard waits for a notification of a round.
func (h *host) heard(from proto.ServerID, round int64) {
	h.w.t.Helper()
	h.wait(fmt.Sprintf("round %d of server %d", round, from), func() bool {
		for _, m := range h.elected {
			if m.Type == zab.Notification && m.From == from && m.Round == round {
				return true
			}
		}
		return false
	})
}

// appendIdentities appends ids as Packet.Authinfo holds them.
func appendIdentities(b []byte, ids []proto.ID) []byte {
	b = proto.AppendInt32(b, int32(len(ids)))
	for i := range ids {
		b = ids[i].AppendTo(b)
	}
	return b
}
