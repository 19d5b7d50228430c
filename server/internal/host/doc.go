// Package host drives the agreement of one server: a zab.Core in an ensemble, type alone on a standalone server. It
// decides what becomes of each request of a client, and which answers a client may get.
//
// # A step machine
//
// A turn waits for no network and no sync of a disk. Two questions read log files while the turn is held:
// History.Locate finds where the log of a learner leaves ours, and History.Sums compares checksums. The input of the
// host is a packet of another server, a batch of requests, a notice that writes are durable, or a tick of time. Any
// goroutine may put input into an inbox. A turn takes all input, gives it to the core and to the role, and hands out
// the results: packets to links, writes to the journal, txns and answers to the applier. Host.run is the loop that
// takes turns. With little to do, the goroutine that brings input takes the turn itself (Host.Came). Goroutines, time
// and waiting come from sched.Runtime.
//
// # Roles
//
//	leading      prepares requests and proposes them
//	following    forwards requests to the leader; for a follower and for an observer
//	observers    the part of following that serves observers that learn from this server
//	readingOnly  answers reads on a server without a leader
//
// A role begins when the state holds everything that was agreed on before, and ends with the service (Host.close).
// Client connections end with the role, but for those that outlive a change of the leader: see package kept.
//
// # Goroutines and what they own
//
// The host goroutine is the goroutine that holds Host.turn. It owns the core, the role, the links and the lease.
// Fields of Host that other goroutines may read are atomic and say so.
//
// # Locks
//
// Host.turn comes before all others. Host.received has a lock of its own: readers of links put states there and the
// journal takes them. In a turn a leader holds Store.Mu for reading while it prepares txns.
package host
