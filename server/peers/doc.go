// Package peers is the edge between the servers of an ensemble: the bytes of ZooKeeper's quorum protocol and the TCP connections
// that carry them. zab decides what is said; this package only moves it. Source: quorum-protocol.
//
// # Facts
//
// Every pair of servers keeps one election connection, opened by the one with the larger id; on it travel notifications, of which
// only the newest matters. A learner opens one connection to the learner port of its leader; on it travel QuorumPackets, in
// order and complete up to the end. An observer may open one to the observer master port of a follower instead, where it is the same. All integers are big-endian. A Warren server looks like a Java server, with some
// additions that Java does not see: a trailer behind the data of FOLLOWERINFO, OBSERVERINFO and LEADERINFO says "Warren", and
// "blank" (Java reads a prefix of that data); the probes of a blank server are election frames shorter than a notification
// (Java drops them); HANDOVER is a packet type of its own, sent only to who has said Warren. To such a one NEWLEADER may
// bring a second configuration behind a zero byte.
//
// # Contract
//
// The host implements Handler. A link is FIFO in both directions, and after Closed nothing more comes of it. What is sent on a link is
// written by a goroutine of that link after Flush, with one write unless it is much. Nothing that is called from outside blocks
// on the network, except Stop.
//
//	p, err := peers.New(cfg)
//	p.Start()
//	...
//	for i := range out.Send { // one turn of the node goroutine
//		m := &out.Send[i]
//		if m.Link == 0 {
//			p.SendElection(m)
//		} else if l := links[m.Link]; l != nil {
//			l.Send(m)
//		}
//	}
//	for _, l := range touched {
//		l.Flush()
//	}
//	for _, d := range out.Dial {
//		p.Dial(d.Link, d.Peer, d.Port)
//	}
//	for _, id := range out.Close {
//		p.Close(id)
//	}
//
// Received bytes are never used twice: the data of a Packet, and what MessageOf makes of it, may be kept for ever. It is part
// of a larger piece of memory, so keep what is needed, or copy it.
//
// # Hostile input
//
// A length is compared with its limit as soon as it is visible, and memory grows with the bytes that arrive, not with what
// a length claims. Who has not introduced himself as a member has a deadline and shares a bounded waiting room,
// from which the oldest leaves when it is full; the host never hears of him. Bytes that are no packet end their connection
// and nothing else.
//
// With Config.Strangers servers are heard that are no members: those that are to become some. There are at most Limits.AnonymousMax
// election channels of them, and one that asks to be called back is called at the address that it has called from (stranger.go).
//
// # Security
//
// With Config.Security, a connection is encrypted before anything else, and whoever has opened it proves who it is: on the learner
// port first of all, on the election port after the greeting, also if the connection ends there. All that is done by the
// goroutine of the connection, with a deadline, and as a stranger. How it is done is the host's; see Security.
//
// # Who owns what
//
//	acceptor    one per listening port: takes connections
//	dialer      one per election channel, only while it connects: the attempt and its pauses
//	reader      one per connection: its input; calls Handler
//	writer      one per connection: the socket's output
//
// Locks: Peers.mu (members, registry of connections and links), election.mu (channels), channel.mu, port.mu, binding.mu, Link.mu,
// lobby.mu. None is held while another one is taken, but that election.mu may be held when channel.mu is taken; and none during a call of
// Handler or across I/O. channel.hearing is held by the reader of an election connection, before all others.
package peers
