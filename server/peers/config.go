package peers

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Member is one server of the ensemble. Addresses are host:port; a name is resolved again for each connection, see
// Config.Resolve. A server may have several addresses, in different networks.
type Member struct {
	ID       proto.ServerID
	Election []string // of its election port
	Quorum   []string // of its learner port
	Observer bool     // it never leads, so its learner port is not opened
}

// Config is the settings and the surroundings of Peers. It must not be changed after New.
type Config struct {
	ID      proto.ServerID
	Members []Member // the servers of the ensemble, this one included
	Handler Handler
	Log     *zap.Logger   // nil: nothing is logged
	Runtime sched.Runtime // by which Peers starts goroutines, waits and tells the time; nil: sched.OS

	// Failed is called once, with a *BindError, when a port is given up: this server is of no use and should end. It
	// is called by a goroutine of Peers, and must not wait for Stop. nil: the failure is only counted
	// (Stats.BindFailures).
	Failed func(err error)

	Limits   Limits
	Timeouts Timeouts

	// Changes says that SetMembers may be called. Observers open their learner port too then, because they may become
	// voters. ZooKeeper: reconfigEnabled.
	Changes bool

	// MasterPort is the number of the port at which every follower serves observers, at the hosts of its learner
	// port; 0 is none. ZooKeeper: observerMasterPort.
	MasterPort int

	// ListenAllIPs binds the ports on all addresses instead of those of this member. ZooKeeper: quorumListenOnAllIPs.
	ListenAllIPs bool
	// BindAttempts is how often binding a port is tried; 0 is no limit. ZooKeeper: electionPortBindRetry.
	BindAttempts int

	// NoKeepAlive switches off the keep-alive of TCP: dead peers are found by the pings of the protocol alone.
	// ZooKeeper: tcpKeepAlive, which is off by default there.
	NoKeepAlive bool
	// NagleAccepted and NagleDialled let the kernel gather small packets on links: on links that learners have
	// opened, and on the link to the leader. ZooKeeper: leader.nodelay and follower.nodelay, if they are not "true".
	NagleAccepted, NagleDialled bool

	// Security encrypts connections and proves identities. The zero value does neither.
	Security Security

	// Resolve returns the IP addresses of a host name; nil is the resolver of package net. It returns when the
	// deadline of ctx has passed, and should return when ctx is canceled. While it has not answered, and when it
	// fails, the addresses of its last answer are used.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Known is the addresses that an earlier Peers has learned, by host name. They are used like a last answer of
	// Resolve: hints, which prove nothing.
	Known map[string][]string
	// Learned is called when a name of a member has other addresses than before, with those of all names, which it
	// may keep. Calls do not overlap, and may block; Stop waits for them. nil: the addresses are lost with the
	// process.
	Learned func(known map[string][]string)

	// Dial and Listen replace those of package net if they are not nil. They get IP addresses. Dial returns when the
	// deadline of ctx has passed, and should return when ctx is canceled.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Listen func(network, address string) (net.Listener, error)
}

// Handler is the host of Peers. Its methods are called by the goroutines of Peers. The calls for one link or one
// election channel come one after the other, calls for different ones at the same time. A call may block, and by
// Config.Runtime it may wait, because no lock is held: meanwhile its connection is not read. But after the call of
// Peers.Stop every call must return soon, and must not wait for the goroutine that called Stop.
type Handler interface {
	// Election gives a notification, a probe or a probe reply to the host, which may keep m.
	Election(m zab.Message)
	// PeerUp tells that the election channel of a peer has a new connection: messages that were sent before may be
	// lost.
	PeerUp(id proto.ServerID)
	// AskedAnew tells that a server with a smaller id has asked for an election channel although this server had one
	// with it that was not made just now. The addresses for elections are those that it has named, not checked. It may
	// be another server with the same id.
	AskedAnew(id proto.ServerID, addresses []string)

	// Accept asks for the number of a connection to a port, on which a learner has introduced itself; 0 closes it.
	// The first packet of the learner is given by Packets: FOLLOWERINFO or OBSERVERINFO, at MasterPort always the
	// latter.
	Accept(port zab.Port) zab.LinkID
	// Connected tells that the link which was asked for by Peers.Dial stands. It is the first call for that link.
	Connected(l *Link)
	// Packets gives complete packets in order. The slice belongs to Peers after the return. The memory that its
	// elements point to never changes and may be kept.
	Packets(l *Link, batch []Packet)
	// Snapshot is called on a link that was dialled, when SNAP has arrived. r reads the body that follows SNAP, and
	// fails when the link ends. Snapshot has to read exactly the body. It should return an error early if the body
	// cannot be used; an error ends the link. After the return the SNAP packet is given by Packets. Loading may take
	// long: the host should tell the core of the progress (Core.Heard).
	Snapshot(l *Link, zxid proto.Zxid, r io.Reader) error
	// Closed tells that a link has ended. It is called once for each number that Accept returned or Dial was given,
	// as the last call for that link.
	Closed(id zab.LinkID)
}

// Limits bound memory.
type Limits struct {
	DataMax       int // bytes of the data of one packet; ZooKeeper: jute.maxbuffer
	QueueMax      int // bytes that wait to be sent on a link; above it the link is aborted
	MasterQueue   int // QueueMax of a link that was opened to MasterPort; ZooKeeper: observerMaster.sizeLimit
	StrangersMax  int // connections of one port on which the other side has not introduced itself
	AnonymousMax  int // election channels of observers without an id; and as many of servers that are not members
	BatchMax      int // packets of one call of Handler.Packets
	ChunkMin      int // bytes of the first piece of memory that a link reads into
	ChunkMax      int // bytes of the pieces of a busy one
	ConfigTextMax int // bytes of the configuration in a notification that is sent
}

// DefaultLimits returns the limits that suit a server with a gigabyte of memory.
func DefaultLimits() Limits {
	return Limits{DataMax: 64 << 20, QueueMax: 64 << 20, MasterQueue: 32 << 20, StrangersMax: 128, AnonymousMax: 64,
		BatchMax: 512, ChunkMin: 16 << 10, ChunkMax: 1 << 20, ConfigTextMax: 256 << 10}
}

// Timeouts bound waiting. Source: quorum-protocol 1.5.
type Timeouts struct {
	// Connect bounds the connecting to one server, at all of its addresses. ZooKeeper: cnxTimeout.
	Connect time.Duration
	// Stagger is the pause before the next address of a server is tried while those before do not answer.
	Stagger time.Duration
	// Resolve is how long the answer of the name server is waited for before the last known addresses are used.
	Resolve time.Duration
	// Refresh is the pause between lookups of the names of all members, which keep the last known addresses new.
	Refresh time.Duration
	// Greeting bounds the handshake of an election connection, encryption and proof included. ZooKeeper: syncLimit
	// ticks.
	Greeting time.Duration
	// FirstPacket bounds the time in which a learner introduces itself, encryption and proof included. ZooKeeper:
	// initLimit ticks.
	FirstPacket time.Duration
	// Write bounds the time in which a peer takes nothing that is sent to it.
	Write time.Duration
	// Drain bounds the sending of the queue when a link is closed, and then the time in which the other side sees the
	// end.
	Drain time.Duration
	// RedialMin is the first pause between attempts to connect an election channel. It doubles up to RedialMax.
	RedialMin, RedialMax time.Duration
	// CallBack is the time in which a server with a larger id connects after it was asked to.
	CallBack time.Duration
	// BindPause is the pause between attempts to bind a port.
	BindPause time.Duration
	// Stale is the age from which a message is not sent on a new election connection.
	Stale time.Duration
}

// DefaultTimeouts returns ZooKeeper's timeouts for a tickTime and limits in ticks, as in zoo.cfg.
func DefaultTimeouts(tickTime time.Duration, initLimit, syncLimit int) Timeouts {
	return Timeouts{
		Connect: 5 * time.Second, Stagger: 250 * time.Millisecond,
		Resolve: 100 * time.Millisecond, Refresh: time.Minute,
		Greeting: time.Duration(syncLimit) * tickTime, FirstPacket: time.Duration(initLimit) * tickTime,
		Write: time.Duration(syncLimit) * tickTime, Drain: time.Second,
		RedialMin: 50 * time.Millisecond, RedialMax: 2 * time.Second, CallBack: time.Second,
		BindPause: time.Second, Stale: time.Second,
	}
}

// validate returns the first rule that the configuration breaks.
func (c *Config) validate() error {
	l, t := c.Limits, c.Timeouts
	switch {
	case c.Handler == nil:
		return fmt.Errorf("peers: Handler is missing")
	case l.DataMax < 1 || l.DataMax > math.MaxInt32 || l.QueueMax < 1 || l.MasterQueue < 1 || l.StrangersMax < 1 ||
		l.AnonymousMax < 0 || l.BatchMax < 1 || l.ConfigTextMax < 0 || l.ConfigTextMax > frameMax-notificationSize:
		return fmt.Errorf("peers: Limits %+v: all are at least 1, ConfigTextMax at most %d", l,
			frameMax-notificationSize)
	case l.ChunkMin < 2*readMin || l.ChunkMax < l.ChunkMin:
		return fmt.Errorf("peers: Limits %+v: ChunkMin is at least %d, ChunkMax at least ChunkMin", l, 2*readMin)
	case min(t.Connect, t.Stagger, t.Resolve, t.Refresh, t.Greeting, t.FirstPacket, t.Write, t.Drain, t.RedialMin,
		t.CallBack, t.BindPause, t.Stale) <= 0 || t.RedialMax < t.RedialMin:
		return fmt.Errorf("peers: Timeouts %+v: all are positive, RedialMax at least RedialMin", t)
	}
	if c.MasterPort < 0 || c.MasterPort > math.MaxUint16 {
		return fmt.Errorf("peers: MasterPort %d is not a port", c.MasterPort)
	}
	return c.validateMembers(c.Members)
}

// validateMembers returns what is wrong with members.
func (c *Config) validateMembers(members []Member) error {
	seen := map[proto.ServerID]bool{}
	for _, m := range members {
		switch {
		case m.ID < 0 || m.ID == anonymousID || seen[m.ID]:
			return fmt.Errorf("peers: server id %d is out of range or given twice", m.ID)
		case len(m.Election) == 0 || len(m.Quorum) == 0:
			return fmt.Errorf("peers: server %d has no address", m.ID)
		}
		for _, a := range append(append([]string(nil), m.Election...), m.Quorum...) {
			if _, _, err := net.SplitHostPort(a); err != nil {
				return fmt.Errorf("peers: address of server %d: %w", m.ID, err)
			}
		}
		seen[m.ID] = true
	}
	if !seen[c.ID] {
		return fmt.Errorf("peers: server %d is not in the ensemble", c.ID)
	}
	return nil
}
