package peers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Peers connects this server with the others of its ensemble. All methods may be called by any number of goroutines.
type Peers struct {
	cfg      Config
	log      *zap.Logger
	election *election
	learner  port
	master   port

	ctx       context.Context // ends with Stop
	cancel    context.CancelFunc
	running   sync.WaitGroup
	anonymous atomic.Int64 // the last number given to a learner without an id
	stats     stats
	failed    chan error

	mu struct {
		sync.Mutex
		stopped   bool
		members   []Member
		listeners map[net.Listener]struct{}
		conns     map[net.Conn]struct{} // all but those of links
		links     map[zab.LinkID]*Link
	}
}

// New checks cfg and returns what Start starts. Its errors name the field and the rule that it breaks.
func New(cfg Config) (*Peers, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	}
	p := &Peers{failed: make(chan error, 1)}
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
	p.mu.listeners = map[net.Listener]struct{}{}
	p.mu.conns = map[net.Conn]struct{}{}
	p.mu.links = map[zab.LinkID]*Link{}
	p.election = newElection(p)
	return p, nil
}

// Start opens the ports: the election port and, unless this server is an observer without Config.Strangers, the learner port and MasterPort. When it
// returns those are open that have an IP address and could be opened at once; others are opened later, or Failed says why not. It is
// called once.
func (p *Peers) Start() { p.open(p.cfg.BindAttempts) }

// open makes the ports those of this server.
func (p *Peers) open(attempts int) {
	self := p.member(p.cfg.ID)
	p.listen(&p.election.port, self.Election, attempts)
	if !self.Observer || p.cfg.Strangers {
		p.listen(&p.learner, self.Quorum, attempts)
		p.listen(&p.master, p.masterAddresses(self), attempts)
	}
}

// masterAddresses is where a member serves observers as a follower.
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

// SetMembers replaces the members: what is asked for from now on goes to the new ones, at their addresses of now. Election channels to
// those that are gone end; links go on, until one of the two sides closes them. If the addresses of this server change its ports do, and
// a new one that cannot be bound is tried without an end. The error says what is wrong with the members, and nothing has changed then.
func (p *Peers) SetMembers(members []Member) error {
	if err := p.cfg.validateMembers(members); err != nil {
		return err
	}
	p.mu.Lock()
	p.mu.members = slices.Clone(members)
	stopped := p.mu.stopped
	p.mu.Unlock()
	if !stopped {
		p.election.setMembers(members)
		p.open(0)
	}
	return nil
}

// Failed returns a channel that brings the *BindError of a port that is given up: the server should end. It is never closed.
func (p *Peers) Failed() <-chan error { return p.failed }

// SendElection sends a Notification, Probe or ProbeReply to m.To. Of each kind only the newest is kept until it can be sent. It does
// not block. A server that is not known is not sent anything.
func (p *Peers) SendElection(m *zab.Message) { p.election.send(m) }

// Dial connects to a port of peer. Handler.Connected tells when the link stands, Handler.Closed that it does not.
// After Stop it does nothing.
func (p *Peers) Dial(id zab.LinkID, peer proto.ServerID, port zab.Port) {
	l := newLink(p, id, peer)
	l.Dialled = true
	ctx, cancel := context.WithCancel(p.ctx)
	l.cancel = cancel
	dial := func() (net.Conn, error) {
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
		return p.dialLearner(ctx, addresses)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		cancel()
		return
	}
	p.mu.links[id] = l
	p.running.Go(func() { p.connect(l, dial) })
}

// Close closes the link, as Link.Close does; also one that is being dialled.
func (p *Peers) Close(id zab.LinkID) {
	if l := p.Link(id); l != nil {
		l.Close()
	}
}

// Link returns the link with a number, also while it is being dialled, or nil if there is none any more.
func (p *Peers) Link(id zab.LinkID) *Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.links[id]
}

// Stop closes the ports and the election channels at once, and the links when what was sent on them has left or Timeouts.Drain has
// passed. It returns when all goroutines have ended; Handler.Closed has been called for every link then.
func (p *Peers) Stop() {
	p.mu.Lock()
	p.mu.stopped = true
	p.cancel()
	for ln := range p.mu.listeners {
		_ = ln.Close()
	}
	for nc := range p.mu.conns {
		_ = nc.Close()
	}
	links := make([]*Link, 0, len(p.mu.links))
	for _, l := range p.mu.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	p.election.stop()
	for _, l := range links {
		l.Close()
	}
	p.running.Wait()
}

// member returns the member with an id, or nil. It is not changed afterwards.
func (p *Peers) member(id proto.ServerID) *Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.mu.members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &p.mu.members[i]
}

// start runs fn in a goroutine that Stop waits for. After Stop it does not, and reports false.
func (p *Peers) start(fn func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		return false
	}
	p.running.Go(fn)
	return true
}

// sleep waits; false means that Stop was called.
func (p *Peers) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// fail reports what makes this server useless.
func (p *Peers) fail(err error) {
	select {
	case p.failed <- err:
	default: // one reason is enough
	}
}

// listening notes a listener, so that Stop closes it.
func (p *Peers) listening(ln net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		_ = ln.Close()
		return false
	}
	p.mu.listeners[ln] = struct{}{}
	return true
}

// unlisten closes a listener.
func (p *Peers) unlisten(ln net.Listener) {
	p.mu.Lock()
	delete(p.mu.listeners, ln)
	p.mu.Unlock()
	_ = ln.Close()
}

// track notes a connection, so that Stop closes it. After Stop it closes it and reports false.
func (p *Peers) track(nc net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		_ = nc.Close()
		return false
	}
	p.mu.conns[nc] = struct{}{}
	return true
}

// retrack notes that a connection goes on as another one. After Stop both are closed.
func (p *Peers) retrack(from, to net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.conns, from)
	p.mu.conns[to] = struct{}{}
	if p.mu.stopped {
		_ = to.Close()
	}
}

// untrack closes a connection.
func (p *Peers) untrack(nc net.Conn) {
	p.mu.Lock()
	delete(p.mu.conns, nc)
	p.mu.Unlock()
	_ = nc.Close()
}

// refuse closes the connection of somebody who is not wanted.
func (p *Peers) refuse(nc net.Conn, at *port, err error) {
	level := zap.DebugLevel
	if n := p.stats.refused.Add(1); n&(n-1) == 0 { // more and more seldom: anybody can be the cause
		level = zap.InfoLevel
	}
	p.log.Log(level, "refusing connection", zap.String("port", at.name), zap.Stringer("peer_addr", nc.RemoteAddr()), zap.Error(err))
	p.untrack(nc)
}

// adopt makes a tracked connection that of a link and starts its writer.
func (p *Peers) adopt(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		return false
	}
	delete(p.mu.conns, l.nc)
	p.mu.links[l.ID] = l
	p.running.Go(l.write)
	return true
}

// forget ends what is left of a link.
func (p *Peers) forget(l *Link) {
	if l.cancel != nil {
		l.cancel()
	}
	p.mu.Lock()
	delete(p.mu.links, l.ID)
	p.mu.Unlock()
	p.stats.links.add(&l.stats)
	p.cfg.Handler.Closed(l.ID)
}
