package peers

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// linkStats counts packets and bytes of one link.
type linkStats struct {
	packetsIn, requestsIn, packetsOut, bytesIn, bytesOut atomic.Uint64
}

// arrived counts packets of the other side.
func (s *linkStats) arrived(batch []Packet) {
	s.packetsIn.Add(uint64(len(batch)))
	for i := range batch {
		if batch[i].Type == proto.PacketRequest {
			s.requestsIn.Add(1)
		}
	}
}

// stats counts what goes through no link.
type stats struct {
	framesOut, unknown, refused, dialFailures, bindFailures atomic.Uint64
}

// LinkStats is the state and the counters of one link.
type LinkStats struct {
	ID           zab.LinkID
	Addr         string    // of the other side; empty before there is a connection
	Since        time.Time // when the connection was accepted, or asked for
	PacketsIn    uint64
	RequestsIn   uint64 // of PacketsIn
	PacketsOut   uint64 // queued
	BytesIn      uint64
	BytesOut     uint64 // given to the kernel
	QueuePackets int    // waiting to be sent, without those of streams
	QueueBytes   int    // waiting to be sent
}

// Stats is the counters since New.
type Stats struct {
	Links        []LinkStats // that have not ended, ordered by number
	FramesOut    uint64      // of election channels
	Unknown      uint64      // election messages to unknown servers, which were dropped
	Refused      uint64      // connections from unknown servers, or with bytes that are not of the protocol
	DialFailures uint64
	BindFailures uint64
}

// Stats returns the counters.
func (p *Peers) Stats() Stats {
	p.mu.Lock()
	links := p.inOrder()
	p.mu.Unlock()
	s := Stats{FramesOut: p.stats.framesOut.Load(), Unknown: p.stats.unknown.Load(), Refused: p.stats.refused.Load(),
		DialFailures: p.stats.dialFailures.Load(), BindFailures: p.stats.bindFailures.Load()}
	for _, l := range links {
		s.Links = append(s.Links, l.Stats())
	}
	return s
}

// ForgetPackets restarts the counts of packets and requests of every link.
func (p *Peers) ForgetPackets() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.inOrder() {
		l.stats.packetsIn.Store(0)
		l.stats.requestsIn.Store(0)
		l.stats.packetsOut.Store(0)
	}
}

// Stats returns the counters of the link.
func (l *Link) Stats() LinkStats {
	s := LinkStats{ID: l.ID, Since: l.since, RequestsIn: l.stats.requestsIn.Load(),
		PacketsIn: l.stats.packetsIn.Load(), PacketsOut: l.stats.packetsOut.Load(),
		BytesIn: l.stats.bytesIn.Load(), BytesOut: l.stats.bytesOut.Load()}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.QueuePackets, s.QueueBytes = l.mu.packets, l.mu.size
	if l.nc != nil {
		s.Addr = l.nc.RemoteAddr().String()
	}
	return s
}
