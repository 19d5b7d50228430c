package peers

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// linkStats counts packets and bytes of one link, or of all links that have ended.
type linkStats struct {
	packetsIn, packetsOut, bytesIn, bytesOut atomic.Uint64
}

func (s *linkStats) add(o *linkStats) {
	s.packetsIn.Add(o.packetsIn.Load())
	s.packetsOut.Add(o.packetsOut.Load())
	s.bytesIn.Add(o.bytesIn.Load())
	s.bytesOut.Add(o.bytesOut.Load())
}

type stats struct {
	links                                                             linkStats // of links that have ended
	framesIn, framesOut, unknown, refused, dialFailures, bindFailures atomic.Uint64
}

// LinkStats is the state and the counters of one link.
type LinkStats struct {
	ID         zab.LinkID
	Peer       proto.ServerID
	Dialled    bool      // this server is the learner
	Addr       string    // of the other side; empty before there is a connection
	Since      time.Time // when the connection was accepted, or asked for
	PacketsIn  uint64
	PacketsOut uint64 // queued
	BytesIn    uint64
	BytesOut   uint64 // given to the kernel
	QueueBytes int    // waiting to be sent
}

// Stats is the counters since New.
type Stats struct {
	Links        []LinkStats // that have not ended, ordered by number
	PacketsIn    uint64      // of all links, ended ones included; the same for the next three
	PacketsOut   uint64
	BytesIn      uint64
	BytesOut     uint64
	FramesIn     uint64 // of election channels
	FramesOut    uint64
	Unknown      uint64 // election messages to unknown servers, which were dropped
	Refused      uint64 // connections from unknown servers, or with bytes that are not of the protocol
	DialFailures uint64
	BindFailures uint64
}

// Stats returns the counters.
func (p *Peers) Stats() Stats {
	p.mu.Lock()
	links := p.inOrder()
	ended := &p.stats.links
	s := Stats{PacketsIn: ended.packetsIn.Load(), PacketsOut: ended.packetsOut.Load(),
		BytesIn: ended.bytesIn.Load(), BytesOut: ended.bytesOut.Load()}
	p.mu.Unlock()
	s.FramesIn, s.FramesOut, s.Unknown = p.stats.framesIn.Load(), p.stats.framesOut.Load(), p.stats.unknown.Load()
	s.Refused = p.stats.refused.Load()
	s.DialFailures, s.BindFailures = p.stats.dialFailures.Load(), p.stats.bindFailures.Load()
	for _, l := range links {
		one := l.Stats()
		s.Links = append(s.Links, one)
		s.PacketsIn += one.PacketsIn
		s.PacketsOut += one.PacketsOut
		s.BytesIn += one.BytesIn
		s.BytesOut += one.BytesOut
	}
	return s
}

// Stats returns the counters of the link.
func (l *Link) Stats() LinkStats {
	s := LinkStats{ID: l.ID, Peer: l.Peer, Dialled: l.Dialled, Since: l.since, PacketsIn: l.stats.packetsIn.Load(),
		PacketsOut: l.stats.packetsOut.Load(), BytesIn: l.stats.bytesIn.Load(), BytesOut: l.stats.bytesOut.Load()}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.QueueBytes = l.mu.size
	if l.nc != nil {
		s.Addr = l.nc.RemoteAddr().String()
	}
	return s
}
