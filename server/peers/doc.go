// Package peers is the edge between the servers of an ensemble: the bytes of ZooKeeper's quorum protocol and the TCP
// connections that carry them. Package zab decides which messages are sent; this package only carries them. Source:
// quorum-protocol.
//
// # Facts
//
// Every pair of servers keeps one election connection, opened by the server with the larger id. It carries
// notifications, of which only the newest matters. A learner opens one connection to the learner port of its leader.
// It carries QuorumPackets, in order and complete up to the end. An observer may open one to the observer master port
// of a follower instead, with the same protocol. All integers are big-endian.
//
// To a Java server a Warren server looks like a Java server, with some additions that Java does not see:
//
//   - A trailer behind the data of FOLLOWERINFO, OBSERVERINFO and LEADERINFO says "Warren". Java reads only a prefix
//     of that data.
//   - The probes of a blank server are election frames that are shorter than a notification. Java drops them.
//   - HANDOVER is a packet type of its own. It is sent only to servers that have sent the trailer.
//   - NEWLEADER may bring such a server a second configuration behind a zero byte.
//
// # Contract
//
// The host implements Handler. A link is FIFO in both directions, and Closed is the last call for it. After Flush a
// goroutine of the link writes everything that was sent on it, with one write unless it is much. No method blocks on
// the network, except Stop.
//
//	p, err := peers.New(cfg)
//	p.Start()
//	...
//	for i := range out.Send { // one turn of the host goroutine
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
// The memory of received bytes is never used again: the data of a Packet, and the message that MessageOf makes of it,
// may be kept forever. It is part of a larger piece of memory, which it keeps alive: copy what is kept for long.
//
// # Hostile input
//
// A length is compared with its limit as soon as it is visible, and memory grows with the bytes that arrive, not with
// the length that they announce. A connection on which no member has introduced itself yet has a deadline and a place
// in a bounded lobby. When the lobby is full, the oldest connection of the address that has most is closed. The host
// never sees such connections. Bytes that are no packet end their connection and nothing else.
//
// Servers are accepted that are no members yet. There are at most Limits.AnonymousMax election channels of them, and
// one that asks for a connection is dialled at the host that it has connected from (stranger.go).
//
// # Names
//
// The name server is asked beside everything that needs an address, and never holds it up for longer than
// Timeouts.Resolve if there was an answer before: then the last known addresses are used. The names of all members
// are looked up at the start and in intervals, so that there is such an answer when it is needed, and Config.Learned
// keeps it for the next start. A connection to an address that the name server had not confirmed is closed when it
// says later that the name leads elsewhere (names.go). Such an address is a hint and proves nothing: where identities
// have to be proved, Security does that.
//
// # Security
//
// With Config.Security a connection is encrypted before anything else, and the server that has opened it proves its
// identity: on the learner port first of all, on the election port after the greeting, even if the connection ends
// there. The goroutine of the connection does that, with a deadline, while the connection is in the lobby. The host
// provides the functions; see Security.
//
// # Goroutines and locks
//
//	acceptor            one per address of a port: binds it and accepts connections
//	election channel    one per election channel that this server dials: the attempts to connect, then the reader
//	dialer              one per attempt to connect to an address
//	resolver            one per name of a server that is looked up
//	addresses           one while Config.Learned is called
//	connection, reader  one per connection: its input; calls Handler
//	writer              one per connection: its output
//
// They are started by Config.Runtime, and wait by it or by the methods of a connection or listener. No goroutine
// holds a lock while it waits or calls Handler.
//
// Locks: Peers.mu (members, registry of connections and links), election.mu (channels), channel.mu, port.mu,
// binding.mu, names.mu, Link.mu, lobby.mu, dialing.mu. None is held while another one is taken, except that
// election.mu may be held when channel.mu is taken.
package peers
