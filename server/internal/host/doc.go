// Package host is the host of the agreement: of a zab.Core in an ensemble, of alone on a standalone server. It decides what becomes
// of each request of a client, and what a client may be told.
//
// # A step machine
//
// The host waits for nothing. Input is a packet of a peer, a batch of requests, a notice that writes are durable, or a tick of time;
// each is put into an inbox by any goroutine. A turn takes all input, gives it to the core and to the role, and hands out what
// follows: packets to links, writes to the journal, txns and answers to the applier. Run is the loop that takes turns in
// production; with little to do the goroutine that brings input takes the turn itself (came). Goroutines, time and waiting come
// from sched.Runtime.
//
// # Roles
//
// leading prepares requests and proposes them; following forwards them to the leader, for a follower and for an observer;
// observers is the part of following that serves observers below this server; readingOnly answers reads of a member without a
// leader. A role begins when the state holds everything that was agreed before, and ends with the service (Host.close).
//
// # Who owns what
//
// The host goroutine, which is the one that holds Host.turn, owns the core, the role, the links and the lease. Fields of Host that
// other goroutines may read are atomic and say so. received has a lock of its own: readers of links put states there and the
// journal takes them.
//
// Locks: Host.turn comes before all others. Within a turn a leader holds Store.Mu for reading while it prepares.
package host
