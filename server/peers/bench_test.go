package peers

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// sink is a handler that counts packets and answers the last of each batch with echo.
type sink struct {
	link    atomic.Pointer[Link]
	packets atomic.Int64
	arrived chan int64
	echo    bool
}

func (s *sink) Election(zab.Message)  {}
func (s *sink) PeerUp(proto.ServerID) {}

func (s *sink) AskedAnew(proto.ServerID, []string) {}
func (s *sink) Accept(zab.Port) zab.LinkID         { return 1 }
func (s *sink) Closed(zab.LinkID)                  {}
func (s *sink) Connected(l *Link)                  { s.link.Store(l); s.arrived <- 0 }
func (s *sink) Snapshot(_ *Link, _ proto.Zxid, r io.Reader) error {
	return nil
}

func (s *sink) Packets(l *Link, batch []Packet) {
	s.link.Store(l)
	n := s.packets.Add(int64(len(batch)))
	if s.echo {
		l.Send(&zab.Message{Type: zab.Ack, Zxid: batch[len(batch)-1].Zxid})
		l.Flush()
	}
	select {
	case s.arrived <- n:
	default:
	}
}

// benchPair returns the two ends of a link over loopback, and the link of the learner; its leader may echo.
func benchPair(b *testing.B, echo bool) (learner, leader *sink, l *Link) {
	b.Helper()
	var members []Member
	ports := map[string]net.Listener{}
	for id := range 2 {
		m := Member{ID: proto.ServerID(id + 1)}
		for range 2 {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			ports[ln.Addr().String()] = ln
			m.Election = m.Quorum
			m.Quorum = []string{ln.Addr().String()}
		}
		members = append(members, m)
	}
	learner, leader = &sink{arrived: make(chan int64, 1)}, &sink{arrived: make(chan int64, 1), echo: echo}
	for id, h := range map[proto.ServerID]*sink{1: learner, 2: leader} {
		p, err := New(Config{ID: id, Members: members, Handler: h, Limits: DefaultLimits(),
			Timeouts: DefaultTimeouts(time.Second, 10, 5),
			Listen:   func(_, address string) (net.Listener, error) { return ports[address], nil }})
		if err != nil {
			b.Fatal(err)
		}
		p.Start()
		b.Cleanup(p.Stop)
		if id == 1 {
			p.Dial(1, 2, zab.LearnerPort)
		}
	}
	<-learner.arrived
	l = learner.link.Load()
	l.Send(&zab.Message{Type: zab.FollowerInfo, From: 1})
	l.Flush()
	<-leader.arrived
	return learner, leader, l
}

// Txns of 150 bytes, 100 a flush, in one direction.
func BenchmarkLinkThroughput(b *testing.B) {
	_, leader, l := benchPair(b, false)
	payload := append((&proto.TxnHeader{Zxid: 1}).AppendTo(nil), make([]byte, 118)...)
	m := &zab.Message{Type: zab.Proposal}
	for range 100 {
		m.Txns = append(m.Txns, zab.Txn{Zxid: 1, Payload: payload})
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(payload) + packetMin))
	b.ResetTimer()
	for n := 0; n < b.N; n += 100 {
		l.Send(m)
		l.Flush()
		for int64(n)-leader.packets.Load() > 20_000 {
			<-leader.arrived
		}
	}
	for leader.packets.Load() < int64(b.N) {
		<-leader.arrived
	}
}

// One txn, one ACK back.
func BenchmarkLinkRoundTrip(b *testing.B) {
	learner, _, l := benchPair(b, true)
	<-learner.arrived
	m := &zab.Message{Type: zab.Ack, Zxid: 1}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		l.Send(m)
		l.Flush()
		<-learner.arrived
	}
}

// Packets of 1 MiB.
func BenchmarkLinkLargePackets(b *testing.B) {
	_, leader, l := benchPair(b, false)
	p := &Packet{Type: proto.PacketRequest, Data: make([]byte, 1<<20)}
	b.ReportAllocs()
	b.SetBytes(1 << 20)
	b.ResetTimer()
	for n := range b.N {
		l.SendPacket(p)
		l.Flush()
		for int64(n)-leader.packets.Load() > 20 {
			<-leader.arrived
		}
	}
	for leader.packets.Load() < int64(b.N) {
		<-leader.arrived
	}
}
