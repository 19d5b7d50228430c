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
// # Parts
//
// Host has the turn, and begins and ends roles. What has a state or a rule of its own is a part of it, which does not
// know the host. Roles have the Env, and reach the parts and the core by their field h.
//
//	setup      the configuration and the data directory, in the terms of the agreement. It does not change
//	ensembles  the committed configuration and the pending one
//	input      what arrives for the host goroutine
//	links      the links, and what is known of the servers at their other ends
//	answers    the way of answers that need no txn
//	published  what other goroutines may know of the role
//	notices    what the log and operators are told of other servers
//	sender     brings learners up to date; arrivals are the states that leaders have sent
//	reach      how far the history is known here
//	keeping    client connections that outlive a leader
//	silence    what the next leader should know of sessions whose clients have left
//	opening    what waits for the next role; periods is what is measured of roles, legs of the log
//
// # Files
//
//	host.go        Host, what it needs of clients and applier, and its goroutine
//	turn.go        a turn: what arrives, and what goes to links, journal and applier
//	input.go       input, and how the journal and the links bring it
//	link.go, reach.go, answers.go, opening.go, setup.go, stages.go: the parts of these names
//	service.go     how a role begins and ends
//	role.go        what a role is, and which requests may go on
//	leading.go     leading; with prepare.go (what a txn depends on), moves.go (clients that come back), payloads.go,
//	               acktime.go
//	following.go   following; with forward.go (identities, and what is decided here), returned.go (clients that come
//	               back)
//	readonly.go    readingOnly
//	handover.go    how this leader hands over, for any reason
//	keep.go        keeping, and what roles do for it
//	silent.go      silence, and what roles do for it
//	pings.go       what PINGs say: leases, room on disks, priorities
//	lease.go       what becomes of clients, and of the link to a leader, when a lease ends
//	alone.go       the agreement of a standalone server
//	membership.go  ensembles, and reconfigurations
//	transfer.go    sender and arrivals; history.go: questions about the own log
//	view.go        published; notices are in strangers.go, lists.go (for servers that cannot be reconfigured) and
//	               search.go
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
