// Package zab lets the servers of an ensemble agree on an order of txns: ZooKeeper's atomic broadcast, with its election,
// discovery, synchronization and broadcast, so that it works together with servers written in Java.
//
// A Core is a function of its inputs. It has no goroutine, clock, socket, file or chance of its own, so a simulator can run
// thousands of schedules of crashes in a minute (test/sim does). Its host owns all of these and moves data between them and
// the core. The core is owned by one goroutine.
//
// # The duties of the host
//
//  1. Give the core its inputs one at a time: Step for each message of a peer, Tick at a steady pace, Persisted, Propose, Sync,
//     Accept, LinkUp, LinkDown, Heard, Streamed, PeerUp, Unfit and HandOver. After one or several of them call Take and do what its
//     Output says.
//  2. Persist: make each write durable, in order; and in each the parts in the order of its fields, every part with its own
//     fsync (of the file, and of the directory after create, rename and delete) before the next begins. Consecutive writes that
//     only append may share one fsync. Then call Persisted with the last Seq. A failed write or fsync ends the process; it is
//     never tried again. A full disk is waited for.
//  3. Send: put each message on its link, or on the election channel if the link is 0, in order. This may happen before the
//     writes of the same Output: no message among them promises anything that is not durable yet.
//  4. Links are FIFO, and nothing is delivered on one after it was closed. Ask the core for a number with Accept when a learner
//     connects to one of the two ports, and use the number of Dial when connecting. Deliver with the number of the connection that a message came on.
//     A message without link is for the election channel, where only the newest one to a peer matters; call PeerUp when that
//     channel was connected anew, and do not repeat old messages on it.
//  5. Map messages to packets. To a peer that is not flagged as Warren a message is one packet. Its PING answers carry the touched
//     sessions, its notifications the configuration. Packets that are none of the core's business (REQUEST, REVALIDATE)
//     are the host's; report them with Heard.
//  6. Deliver: apply the txns in order to the served state. A learner answers a sync when all commits that came before the
//     SyncReply are applied.
//  7. At the start apply snapshot and log, all of it, but serve nothing and write no snapshot before Status.Serving: some of it may
//     never have been committed. On Truncate load the state again if it holds more. On SNAP load the stream into a
//     state of its own, then Step the message; Install makes that state the served one. If the link closes before, drop it.
//  8. Snap, as a leader or an observer master: send the state as it is applied, at least up to Zxid; when the stream has ended, say with Streamed up to
//     where it may reach. Send nothing else on the link meanwhile; the core does not either.
//  9. Replay, as a leader or an observer master: send PROPOSAL and COMMIT for each txn of the log in (After, Zxid]; if the log does not have them all, close
//     the link.
//  10. Blank: a member that finds no database notes that durably before it writes anything else of one, and gives Config.Blank until
//     Persist.Initialize has taken the note back, as its last step. Part of a history without a database is removed at the start.
//  11. Dial: connect, and answer with LinkUp or LinkDown. Close: close the link when what was sent before has left.
//  12. Lineage: store it behind the writes that were asked for before; no promise waits for it. Give it back as Config.Lineage.
//  13. Renew, as a leader: propose every txn that has a number already, then call Renew and number the next one from NextZxid. No client
//     is disconnected by that.
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
//		node.status(out.Status)
//	}
//
// # Durability is a value
//
// What is on the disk is kept in one value, stable, which only Persisted raises. The messages that promise something, LEADERINFO,
// ACKEPOCH and ACK, and the vote of an election, are made by methods of that value and by nothing else, and a leader counts
// itself by it. So a promise cannot leave before what it promises is durable, in whatever order the code runs; an attempt
// panics. An election begins only when nothing is in flight.
//
// # Where it differs from Java
//
// Toward its peers nowhere; inside, it closes the known defects of the reference (quorum-protocol 6.9): the type Weakness names
// them, and the build tag weak brings them back for the tests. Besides:
//
//   - A leader that is asked to stop, or has used up its epoch, lets a follower catch up and names it as the next leader. The Warren
//     servers follow it at once, as after a reconfiguration; others hold an election.
//   - Nothing is proposed behind a reconfiguration that is not committed, and a pending one counts in every decision, from the promise
//     of an epoch on, so that no server acts by a configuration which others have given up (reconfig.go).
//   - A server that lost its disk is not counted until it is up to date, also if it is killed before and has a database then; and a leader
//     asks Warren servers for their promise of an epoch again before it relies on it, because one may have been lost with a disk (blank.go).
//   - A sync is answered only after a quorum has shown that it still follows (sync.go).
//   - A leader does not let a voter pass that has more than itself, before the epoch is established (Core.ackEpoch). An established
//     leader stays; for a voter that has promised a later epoch it begins a new one, without an election (renewal.go).
//   - Servers compare where their histories come from (lineage.go). A server with another history counts for nothing, is not followed and is
//     not brought up to date (stranger.go).
//   - A history that reaches into a later epoch than currentEpoch, which a crash in the middle of duty 2 leaves, is a
//     reason to raise currentEpoch at the start, not to refuse it (New).
//
// # Files
//
// message.go, output.go, config.go: what goes in and out. core.go: inputs, outputs and roles. stable.go: what is durable, and
// promises. window.go, quorum.go: leaves. election.go, blank.go: who leads. link.go, leader.go, leadersync.go, broadcast.go,
// sync.go, fit.go, handover.go, renewal.go: a leader, in the order of the protocol. learner.go, learnersync.go, masterqueue.go: a follower or observer.
// master.go: a follower that serves observers.
// ensemble.go, reconfig.go: who decides, and how that changes.
// lineage.go, stranger.go: where a history comes from, and servers that have another one.
// invariant.go: what must always hold.
package zab
