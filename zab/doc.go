// Package zab lets the servers of an ensemble agree on an order of txns: ZooKeeper's atomic broadcast, with its
// election, discovery, synchronization and broadcast, so that it works together with servers written in Java.
//
// A Core is a function of its inputs. It has no goroutine, clock, socket, file or source of randomness of its
// own, so a simulator can run thousands of schedules of crashes in a minute (test/sim does). Its host owns all of
// these and moves data between them and the core. One goroutine owns the core.
//
// # The duties of the host
//
//  1. Give the core its inputs one at a time: Step for each message of a peer, Tick at a steady pace, Persisted,
//     Propose, Sync, Accept, LinkUp, LinkDown, Heard, Streamed, PeerUp, Unfit and HandOver. After one or several
//     of them call Take and do what its Output says.
//  2. Persist: make each write durable, in order. Within a write, make the parts durable in the order of its
//     fields. Each part has its own fsync (of the file, and of the directory after create, rename and delete)
//     before the next part begins. Consecutive writes that only append may share one fsync. Then call Persisted
//     with the last Seq. A failed write or fsync ends the process; it is never tried again. If the disk is full,
//     wait for space.
//  3. Send: put each message on its link, or on the election channel if the link is 0, in order. This may happen
//     before the writes of the same Output: no message among them promises anything that is not durable yet.
//  4. Links are FIFO, and nothing is delivered on a link after it was closed. When a learner connects to one of
//     the two ports, ask the core for a number with Accept; when connecting, use the number of Dial. Deliver
//     each message with the number of the connection on which it came. A message without link is for the
//     election channel, where only the newest message to a peer matters. Call PeerUp when that channel was
//     connected anew, and do not repeat old messages on it.
//  5. Map messages to packets. To a peer that is not flagged as Warren a message is one packet. Its PING answers
//     carry the touched sessions, its notifications the configuration. The host handles packets that do not
//     concern the core (REQUEST, REVALIDATE) and reports them with Heard.
//  6. Deliver: apply the txns in order to the served state. A learner answers a sync when all commits that came
//     before the SyncReply are applied.
//  7. At the start apply the snapshot and all of the log, but serve nothing and write no snapshot before
//     Status.Serving: some of it may never have been committed. On Truncate load the state again if it holds
//     more. On SNAP load the stream into a separate state, then Step the message; Install makes that state the
//     served one. If the link closes before, drop it.
//  8. Snap, as a leader or an observer master: send the state as it is applied, at least up to Zxid. When the
//     stream has ended, call Streamed with the largest zxid whose effect it may hold. Meanwhile send nothing
//     else on the link; the core sends nothing either.
//  9. Replay, as a leader or an observer master: send PROPOSAL and COMMIT for each txn of the log in (After,
//     Zxid]. If the log does not have them all, close the link.
//  10. Blank: a member that finds no database notes that durably before it writes any part of a database, and
//     sets Config.Blank until Persist.Initialize. The last step of Initialize removes the note. A part of a
//     history without a database is removed at the start.
//  11. Dial: connect, and answer with LinkUp or LinkDown. Close: close the link when all earlier messages have
//     been sent.
//  12. Lineage: store it after the writes that were asked for before; no promise waits for it. Set it as
//     Config.Lineage at the next start.
//  13. Renew, as a leader: propose every txn that has a number already, then call Renew and number the next one
//     from NextZxid. No client is disconnected by that.
//
// In code, without the goroutines that do 2, 3 and 6 in parallel:
//
//	for input := range inputs {
//		input(core)
//		out := core.Take()
//		for _, p := range out.Persist {
//			logger.write(p) // reports Persisted through inputs
//		}
//		for _, m := range out.Send {
//			peers.send(m)
//		}
//		applier.apply(out.Deliver)
//		peers.dial(out.Dial)
//		peers.close(out.Close)
//		host.status(out.Status)
//	}
//
// # Durability is a value
//
// The state of the disk is kept in one value, stable. Only Persisted raises it. The messages that promise something
// (LEADERINFO, ACKEPOCH, ACK and the vote of an election) are made by methods of that value and nowhere else. A
// leader counts itself by the same value. So a promise cannot leave before what it promises is durable, in
// whatever order the code runs; an attempt panics. An election begins only when nothing is in flight.
//
// # Where it differs from Java
//
// Its peers see no difference. Inside, it closes the known defects of the reference (quorum-protocol 6.9), which
// test/defects brings back for the tests. Besides:
//
//   - A leader that is asked to stop, or has used up its epoch, lets a follower catch up and names it as the next
//     leader. The Warren servers follow it at once, as after a reconfiguration; others hold an election.
//   - Nothing is proposed behind a reconfiguration that is not committed. A pending reconfiguration counts in
//     every decision, from the promise of an epoch on, so that no server acts by a configuration which others
//     have given up (reconfig.go).
//   - A server that lost its disk is not counted until it is up to date, even if it is killed before and then has
//     a database. A leader asks Warren servers for their promise of an epoch again before it relies on it,
//     because a promise may have been lost with a disk (blank.go).
//   - A sync is answered only after a quorum has shown that it still follows (sync.go).
//   - Before the epoch is established a leader refuses a voter that has more history than the leader
//     (leader.ackEpoch). An established leader stays; for a voter that has promised a later epoch it begins a new
//     epoch, without an election (renewal.go).
//   - A later epoch that a peer names moves the epoch of a leader in small steps (link.go), and a connection with the
//     id of a server that follows does not take its place (claim.go).
//   - Servers compare where their histories come from (lineage.go). A server with another history is not counted,
//     not followed and not brought up to date (stranger.go).
//   - A crash in the middle of duty 2 leaves a history that reaches into a later epoch than currentEpoch. The
//     next start raises currentEpoch instead of refusing to run (New).
//
// # Types
//
// A Core embeds a replica, which is this server apart from its role, and has the three roles: election, leader and
// learner. One of them is in use. Each has a pointer to the replica, and none to another role or to the Core. A role
// changes the replica, puts messages and writes there for the next Output, and ends by noting a transition, which the
// Core carries out (turn). Arrows of this picture point to what a type can reach:
//
//	Core -> election ------------> replica -> log, members, outbox
//	     -> leader, learner -> learners -> replica
//	                           learners -> link -> outbox
//
// learners are the accepted links, with what a leader and an observer master do alike. The log has the txns, the
// epochs and the lineage, and what of them is durable.
//
// # Files
//
// message.go, output.go, config.go: what goes in and out. core.go: inputs, outputs and changes of the role.
// replica.go: what all roles share. log.go: the history, and the writes. stable.go: what is durable, and promises.
// window.go: the proposals in memory. election.go, blank.go, search.go: the choice of a leader. link.go, claim.go,
// learners.go: accepted links. leader.go, leadersync.go, broadcast.go, sync.go, fit.go, handover.go, renewal.go: a
// leader, in the order of the protocol. learner.go, learnersync.go, masterqueue.go: a follower or observer.
// master.go: a follower that serves observers. ensemble.go, reconfig.go: the voters, and how they change.
// lineage.go, stranger.go: where a history comes from, and servers that have another history. invariant.go: what
// must always hold.
package zab
