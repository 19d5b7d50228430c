package peers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Peers connects this server with the others of its ensemble. All methods may be called by any number of goroutines.
type Peers struct {
	cfg      Config
	log      *zap.Logger
	rt       sched.Runtime
	election *election
	names    *names
	learner  port
	master   port

	ctx       context.Context // canceled by Stop
	cancel    context.CancelFunc
	stopping  *sched.Gate  // opened by Stop
	group     *sched.Group // its goroutines; closed by Stop
	refresh   func()       // ends the lookups in intervals of Timeouts.Refresh; nil before Start
	anonymous atomic.Int64 // the last number given to a learner without an id
	stats     stats
	failed    atomic.Bool // Config.Failed was called

	mu struct {
		sync.Mutex
		stopped   bool
		members   []Member
		listeners []net.Listener // in the order in which they were bound
		conns     []net.Conn     // all but those of links, in the order in which they were opened
		links     map[zab.LinkID]*Link
	}
}

// New checks cfg and returns what Start starts. Its errors name the field and the rule that it breaks.
func New(cfg Config) (*Peers, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Log, cfg.Runtime = cmp.Or(cfg.Log, zap.NewNop()), cmp.Or(cfg.Runtime, sched.OS())
	if cfg.Resolve == nil {
		cfg.Resolve = lookUp
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	}
	p := &Peers{rt: cfg.Runtime, stopping: sched.NewGate(cfg.Runtime), group: sched.NewGroup(cfg.Runtime)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if cfg.Listen == nil {
		cfg.Listen = func(network, address string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(p.ctx, network, address)
		}
	}
	p.cfg, p.log = cfg, cfg.Log
	p.learner = port{name: "learner", lobby: lobby{max: cfg.Limits.StrangersMax}, gathers: cfg.NagleAccepted,
		serve: func(nc net.Conn) { p.admit(nc, &p.learner) }}
	p.master = port{name: "observer master", lobby: lobby{max: cfg.Limits.StrangersMax}, gathers: cfg.NagleAccepted,
		serve: func(nc net.Conn) { p.admit(nc, &p.master) }}
	p.mu.members = cfg.Members
	p.mu.links = map[zab.LinkID]*Link{}
	p.names = newNames(p)
	p.election = newElection(p)
	return p, nil
}

// Start opens the ports: the election port and, unless this server is an observer without Config.Changes, the
// learner port and MasterPort. When Start returns, every port is open that has an IP address and could be opened at
// once. The others are opened later, or Config.Failed says why not. Start is called once.
func (p *Peers) Start() {
	p.names.keep(p.cfg.Members)
	p.refresh = sched.Every(p.rt, p.cfg.Timeouts.Refresh, p.names.refresh)
	p.open(p.cfg.BindAttempts)
}

// open binds the ports of this server at its present addresses.
func (p *Peers) open(attempts int) {
	self := p.member(p.cfg.ID)
	p.listen(&p.election.port, self.Election, attempts)
	if !self.Observer || p.cfg.Changes {
		p.listen(&p.learner, self.Quorum, attempts)
		p.listen(&p.master, p.masterAddresses(self), attempts)
	}
}

// masterAddresses returns the addresses at which a member serves observers as a follower.
func (p *Peers) masterAddresses(m *Member) (all []string) {
	if p.cfg.MasterPort == 0 {
		return nil
	}
	for _, address := range m.Quorum {
		host, _, _ := net.SplitHostPort(address)
		all = append(all, net.JoinHostPort(host, strconv.Itoa(p.cfg.MasterPort)))
	}
	return all
}

// SetMembers replaces the members. Connections that are asked for from now on go to the new members, at their new
// addresses. Election channels to removed members end; links go on until one of the two sides closes them. If the
// addresses of this server change, its ports move; a new port that cannot be bound is tried forever. An error names
// what is wrong with the members; nothing has changed then.
func (p *Peers) SetMembers(members []Member) error {
	if err := p.cfg.validateMembers(members); err != nil {
		return err
	}
	p.mu.Lock()
	p.mu.members = slices.Clone(members)
	stopped := p.mu.stopped
	p.mu.Unlock()
	if !stopped {
		p.names.keep(members)
		p.election.setMembers(members)
		p.open(0)
	}
	return nil
}

// SendElection sends a Notification, Probe or ProbeReply to m.To. Of each kind only the newest is kept until it can
// be sent. It does not block. A message to an unknown server is dropped and counted (Stats.Unknown).
func (p *Peers) SendElection(m *zab.Message) {
	if c := p.election.find(m.To); c != nil {
		c.send(m)
	} else {
		p.stats.unknown.Add(1)
	}
}

// Reaches reports whether this server reaches the machine of a member other than one: there is an election channel on
// which nothing, the probes of the keep-alive included, waits in vain to be acknowledged.
func (p *Peers) Reaches(except proto.ServerID) bool { return p.election.reaches(except) }

// Dial connects to a port of peer. Handler.Connected tells that the link stands, Handler.Closed that it could not be
// made or has ended. After Stop it does nothing.
func (p *Peers) Dial(id zab.LinkID, peer proto.ServerID, port zab.Port) {
	l := newLink(p, id, peer)
	l.Dialled = true
	l.mu.dialling = true
	ctx, cancel := context.WithCancel(p.ctx)
	l.cancel = cancel
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		cancel()
		return
	}
	p.mu.links[id] = l
	p.group.Go("link reader", func() { p.connect(ctx, l, port) })
}

// learnerAddresses returns the addresses of a port of a member for learners.
func (p *Peers) learnerAddresses(peer proto.ServerID, port zab.Port) ([]string, error) {
	m := p.member(peer)
	if m == nil {
		return nil, fmt.Errorf("peers: server %d is not in the ensemble", peer)
	}
	addresses := m.Quorum
	if port == zab.MasterPort {
		addresses = p.masterAddresses(m)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("peers: observer master %d: MasterPort is 0", peer)
	}
	return addresses, nil
}

// Close closes the link as Link.Close does, even while it is being dialled.
func (p *Peers) Close(id zab.LinkID) {
	if l := p.Link(id); l != nil {
		l.Close()
	}
}

// Link returns the link with a number, even while it is being dialled. It is nil if there is none, or if it has
// ended.
func (p *Peers) Link(id zab.LinkID) *Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.links[id]
}

// Stop closes the ports and the election channels at once. It closes a link when everything that was sent on it has
// left, or when Timeouts.Drain has passed. It returns when all goroutines have ended; Handler.Closed has been called
// for every link then.
func (p *Peers) Stop() {
	p.mu.Lock()
	p.mu.stopped = true
	p.group.Close()
	p.cancel()
	for _, ln := range p.mu.listeners {
		_ = ln.Close()
	}
	for _, nc := range p.mu.conns {
		cut(nc)
	}
	links := p.inOrder()
	p.mu.Unlock()
	p.stopping.Open()
	if p.refresh != nil {
		p.refresh()
	}
	p.election.stop()
	for _, l := range links {
		l.Close()
	}
	p.group.Wait()
}

// inOrder returns the links, ordered by number. REQUIRES: p.mu.
func (p *Peers) inOrder() []*Link {
	return slices.SortedFunc(maps.Values(p.mu.links), func(a, b *Link) int { return cmp.Compare(a.ID, b.ID) })
}

// member returns the member with an id, or nil. The member must not be changed.
func (p *Peers) member(id proto.ServerID) *Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.mu.members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &p.mu.members[i]
}

// sleep waits until d has passed. It returns early, and false, if Stop is called.
func (p *Peers) sleep(d time.Duration) bool { return !p.stopping.WaitFor(d) }

// deadline returns the time d from now, as connections understand it.
func (p *Peers) deadline(d time.Duration) time.Time { return p.rt.Now().Add(d) }

// fail reports an error with which this server is of no use. Only the first one is reported.
func (p *Peers) fail(err error) {
	if p.failed.CompareAndSwap(false, true) && p.cfg.Failed != nil {
		p.cfg.Failed(err)
	}
}

// listening registers a listener, which Stop closes. After Stop it closes the listener and returns false.
func (p *Peers) listening(ln net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		_ = ln.Close()
		return false
	}
	p.mu.listeners = append(p.mu.listeners, ln)
	return true
}

// unlisten closes a listener.
func (p *Peers) unlisten(ln net.Listener) {
	p.mu.Lock()
	p.mu.listeners = without(p.mu.listeners, ln)
	p.mu.Unlock()
	_ = ln.Close()
}

// without removes x from s, if it is there. s is not used afterwards.
func without[T comparable](s []T, x T) []T {
	return slices.DeleteFunc(s, func(y T) bool { return y == x })
}

// track registers a connection, which Stop closes. After Stop it closes the connection and returns false.
func (p *Peers) track(nc net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		cut(nc)
		return false
	}
	p.mu.conns = append(p.mu.conns, nc)
	return true
}

// retrack notes that a registered connection goes on as another one, which wraps it. After Stop both are closed.
func (p *Peers) retrack(from, to net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.mu.conns, from); i >= 0 {
		p.mu.conns[i] = to
	}
	if p.mu.stopped {
		cut(to)
	}
}

// untrack closes a connection that was registered.
func (p *Peers) untrack(nc net.Conn) {
	p.mu.Lock()
	p.mu.conns = without(p.mu.conns, nc)
	p.mu.Unlock()
	_ = nc.Close()
}

// refuse closes a connection that is not accepted, and logs why. Because any host can cause it, it is logged less and
// less often.
func (p *Peers) refuse(nc net.Conn, at *port, err error) {
	level := zap.DebugLevel
	if n := p.stats.refused.Add(1); n&(n-1) == 0 {
		level = zap.InfoLevel
	}
	p.log.Log(level, "refusing connection", zap.String("port", at.name), zap.Stringer("peer_addr", nc.RemoteAddr()),
		zap.Error(err))
	p.untrack(nc)
}

// adopt makes a registered connection the connection of a link, and starts its writer. After Stop it returns false.
func (p *Peers) adopt(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		return false
	}
	p.mu.conns = without(p.mu.conns, l.nc)
	p.mu.links[l.ID] = l
	p.group.Go("link writer", l.write)
	return true
}

// forget releases a link that has ended, and tells the handler.
func (p *Peers) forget(l *Link) {
	if l.cancel != nil {
		l.cancel()
	}
	p.mu.Lock()
	delete(p.mu.links, l.ID)
	p.mu.Unlock()
	p.cfg.Handler.Closed(l.ID)
}
