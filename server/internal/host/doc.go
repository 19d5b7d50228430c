// Package host drives the agreement of one server: a zab.Core in an ensemble, type alone on a standalone server. It
// decides what becomes of each request of a client, and which answers a client may get.
//
// # A step machine
//
// A turn waits for no network and no sync of a disk. Two questions read about a MiB of the log while the turn is held:
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
//	readingOnly  answers reads on a server without a leader
//
// A role begins when the state holds everything that was agreed on before, and ends with the service (Host.close).
// Client connections end with the role, but for those that outlive a change of the leader: see package kept.
//
// # What is decided without a host
//
// Five packages below this one have state of their own, know neither Host nor roles, and name what they need of them.
// The host goroutine owns their values and makes every call.
//
//	lease        until when clients may be answered. Owned by Host; what a link has of it is at the link
//	succession   when this leader hands over of its own accord. Owned by Host, asked by leading
//	syncs        what must not overtake a sync. Owned by leading
//	kept         client connections that wait for another leader. Owned by Host between two roles
//	observers    what a follower does for observers that learn from it. Owned by following
//
// # Files
//
//	host.go        turn, drain; what goes to links, journal and applier
//	input.go       what arrives for the host goroutine, and the requests that wait
//	link.go        the links, and what is known of the servers at their other ends
//	reach.go       how far the history is known here
//	service.go     how a role begins and ends; opening.go: what waits for it, and what is measured
//	role.go        what a role is, and which requests may go on
//	leading.go     leading; with moves.go (clients that come back), payloads.go, acktime.go
//	following.go   following
//	readonly.go    readingOnly
//	handover.go    how this leader hands over, for whatever reason
//	keep.go        what roles do for connections that outlive a leader
//	silent.go      what the next leader should know of sessions whose clients have left
//	pings.go       what PINGs say: leases, room on disks, priorities
//	lease.go       what becomes of clients, and of the link to a leader, when a lease ends
//	alone.go       the agreement of a standalone server
//	membership.go  configurations; with lists.go (of servers that cannot be reconfigured)
//	transfer.go    snapshots and logs to learners and from the leader; history.go: questions about the own log
//	view.go        what other goroutines may know; with search.go and strangers.go, what the log is told
//	start.go       how a host comes about; restore.go, endsession.go: what operators order
//
// # Goroutines and what they own
//
// The host goroutine is the goroutine that holds Host.turn. It owns the core, the role, the links and the lease.
// Fields of Host that other goroutines may read are atomic and say so.
//
// # Locks
//
// Host.turn comes before all others. Type arrivals has a lock of its own: readers of links put states there and the
// journal takes them. In a turn a leader holds Store.Mu for reading while it prepares txns.
package host
