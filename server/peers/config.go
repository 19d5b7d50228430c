package peers

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Member is one server of the ensemble. Addresses are host:port; a name is resolved anew for each connection. A server may have
// several, over different networks.
type Member struct {
	ID       proto.ServerID
	Election []string // of its election port
	Quorum   []string // of its learner port
	Observer bool     // it never leads, so its learner port is not opened
}

// Config is what Peers needs. It is not changed, and must not be changed after New.
type Config struct {
	ID      proto.ServerID
	Members []Member // the servers of the ensemble, this one included
	Handler Handler
	Log     *zap.Logger // nil is silent

	Limits   Limits
	Timeouts Timeouts

	// Strangers lets in servers that are not members: they may learn, and ask who leads, before they are made members by a
	// reconfiguration; and the learner port is open at observers too, which may become voters. Without it nobody but members is
	// listened to, and SetMembers is not called. ZooKeeper: reconfigEnabled.
	Strangers bool

	// MasterPort is the number of the port at which every follower serves observers, at the hosts of its learner port; 0 is none.
	// ZooKeeper: observerMasterPort.
	MasterPort int

	// ListenAllIPs binds the ports on all addresses instead of those of this member. ZooKeeper: quorumListenOnAllIPs.
	ListenAllIPs bool
	// BindAttempts is how often binding a port is tried; 0 is for ever. ZooKeeper: electionPortBindRetry.
	BindAttempts int

	// NoKeepAlive leaves it to the pings of the protocol alone to find peers that are gone without a word. ZooKeeper: tcpKeepAlive, which is
	// off by default there.
	NoKeepAlive bool
	// NagleAccepted and NagleDialled let the kernel gather small packets on links: on those of learners, on that to the leader. ZooKeeper:
	// leader.nodelay and follower.nodelay, if they are not "true".
	NagleAccepted, NagleDialled bool

	// Security is nothing unless it is set.
	Security Security

	// Dial and Listen replace those of package net if they are not nil. A connection of Dial may be encrypted, by the time that
	// it is returned.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Listen func(network, address string) (net.Listener, error)
}

// Handler is the host. Its methods are called from the goroutines of Peers, the calls of one link or one election channel one after
// the other, those of different ones at the same time. A call may block: the socket it concerns is then not read. But from
// the call of Peers.Stop on, every call must return soon, and it must not be Stop's caller who is waited for.
type Handler interface {
	// Election gives a notification, a probe or the answer to one. m is the host's.
	Election(m zab.Message)
	// PeerUp tells that the election channel of a peer was connected anew: what was sent before may be lost.
	PeerUp(id proto.ServerID)

	// Accept asks for the number of a connection to a port, on which a learner has introduced itself; 0 closes it. Then comes
	// Packets, first with its FOLLOWERINFO or OBSERVERINFO; the latter if it is MasterPort.
	Accept(port zab.Port) zab.LinkID
	// Connected tells that the link which was asked for by Peers.Dial stands. It comes before all else of that link.
	Connected(l *Link)
	// Packets gives complete packets in order. The slice belongs to Peers after the return; what its elements point to
	// never changes and may be kept.
	Packets(l *Link, batch []Packet)
	// Snapshot is called on a link that was dialled when SNAP has arrived, with what follows it. It has to read exactly the body, and
	// to say soon if it cannot be used: an error ends the link. When it has returned, the SNAP packet comes by Packets. r fails
	// when the link ends. Loading may take long: the host should tell the core of the progress (Core.Heard).
	Snapshot(l *Link, zxid proto.Zxid, r io.Reader) error
	// Closed tells that a link is no more, once for each number that Accept returned or Dial was given, after all else of that
	// link.
	Closed(id zab.LinkID)
}

// Limits bound memory.
type Limits struct {
	DataMax       int // bytes of the data of one packet; ZooKeeper has jute.maxbuffer for this
	QueueMax      int // bytes that wait to be sent on a link; above it the link is aborted
	MasterQueue   int // the same of a link that was opened to MasterPort; ZooKeeper: observerMaster.sizeLimit
	StrangersMax  int // connections of one port that have not introduced themselves
	AnonymousMax  int // election channels of observers without an id, and as many of servers that are not members
	BatchMax      int // packets of one call of Handler.Packets
	ChunkMin      int // bytes of the first piece of memory that a link reads into
	ChunkMax      int // bytes of the pieces of a busy one
	ConfigTextMax int // bytes of the configuration in a notification that is sent
}

// DefaultLimits returns the limits that suit a server with a gigabyte of memory.
func DefaultLimits() Limits {
	return Limits{DataMax: 64 << 20, QueueMax: 64 << 20, MasterQueue: 32 << 20, StrangersMax: 128, AnonymousMax: 64, BatchMax: 512,
		ChunkMin: 16 << 10, ChunkMax: 1 << 20, ConfigTextMax: 256 << 10}
}

// Timeouts bound waiting. Source: quorum-protocol 1.5.
type Timeouts struct {
	Connect     time.Duration // of one attempt of Config.Dial; ZooKeeper: cnxTimeout
	Stagger     time.Duration // before the next address of a server is tried beside those that do not answer
	Greeting    time.Duration // until the handshake of an election connection is complete, encryption and proof included; ZooKeeper: syncLimit ticks
	FirstPacket time.Duration // until a learner has introduced itself, the same included; ZooKeeper: initLimit ticks
	Write       time.Duration // without progress while a peer takes nothing
	Drain       time.Duration // for what is left to send when a link is closed, and then for the other side to see the end
	RedialMin   time.Duration // between attempts to connect an election channel, doubling
	RedialMax   time.Duration // up to this
	CallBack    time.Duration // that a server with a larger id is given to connect, when it was asked to
	BindPause   time.Duration // between attempts to bind a port
	Stale       time.Duration // age from which a message is not sent on a new election connection
}

// DefaultTimeouts returns ZooKeeper's timeouts for a tickTime and limits in ticks, as in zoo.cfg.
func DefaultTimeouts(tickTime time.Duration, initLimit, syncLimit int) Timeouts {
	return Timeouts{Connect: 5 * time.Second, Stagger: 250 * time.Millisecond, Greeting: time.Duration(syncLimit) * tickTime,
		FirstPacket: time.Duration(initLimit) * tickTime, Write: time.Duration(syncLimit) * tickTime, Drain: time.Second,
		RedialMin: 50 * time.Millisecond, RedialMax: 2 * time.Second, CallBack: time.Second, BindPause: time.Second, Stale: time.Second}
}

// validate returns the first rule that the configuration breaks.
func (c *Config) validate() error {
	l, t := c.Limits, c.Timeouts
	switch {
	case c.Handler == nil:
		return fmt.Errorf("peers: Handler is missing")
	case l.DataMax < 1 || l.DataMax > math.MaxInt32 || l.QueueMax < 1 || l.MasterQueue < 1 || l.StrangersMax < 1 || l.AnonymousMax < 0 || l.BatchMax < 1 ||
		l.ConfigTextMax < 0 || l.ConfigTextMax > frameMax-notificationSize:
		return fmt.Errorf("peers: Limits %+v: all are at least 1, ConfigTextMax at most %d", l, frameMax-notificationSize)
	case l.ChunkMin < 2*readMin || l.ChunkMax < l.ChunkMin:
		return fmt.Errorf("peers: Limits %+v: ChunkMin is at least %d, ChunkMax at least ChunkMin", l, 2*readMin)
	case min(t.Connect, t.Stagger, t.Greeting, t.FirstPacket, t.Write, t.Drain, t.RedialMin, t.CallBack, t.BindPause, t.Stale) <= 0 || t.RedialMax < t.RedialMin:
		return fmt.Errorf("peers: Timeouts %+v: all are positive, RedialMax at least RedialMin", t)
	}
	if c.MasterPort < 0 || c.MasterPort > math.MaxUint16 {
		return fmt.Errorf("peers: MasterPort %d is no port", c.MasterPort)
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
