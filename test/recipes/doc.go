// Package recipes judges the locks of the package of that name by what their users see.
//
// Many sessions want the same lock, each through a Path of its own to the server, on which a seeded nemesis cuts
// connections, loses answers and stops the traffic for longer than the session lasts; some sessions are ended by
// force, and some holders are paused for longer than that and go on as if nothing had happened. What is recorded:
//
//   - Grant: a lock was granted, with its fencing token.
//   - Use: the holder looked at the Context of its Hold and it was alive.
//   - End: at any time after its last Use the lock was free again.
//
// Judge tells whether there is an order of these, each between its call and its return, in which no client is granted
// the lock before the End of the last one, and tokens grow. A Use after another's Grant makes that impossible. A
// Register refuses old tokens; no update of it may be lost, whatever happens, without any trust in clocks.
//
// The same goes on at an ensemble whose servers are killed, robbed of unsynced writes and cut off from each other, in
// whole or one way. There JudgeShared also counts the clients that may share a lock; numbers, queues and barriers are
// compared with what was acknowledged; and lockers are processes, which are killed and stopped while they hold the
// lock. What has a history of its own has a judge, too:
//
//   - JudgeBatches: no batch of a queue is lost, or early, or comes again after it was done. JudgeLooks: none is taken
//     before its turn.
//   - JudgeChanges: no update of a shared value is lost, but for those whose outcome is unknown, and no client sees it
//     go back.
//   - JudgeGate: no client passes a barrier while it stands. That all pass after it fell is waited for.
//   - JudgePresence: a service that is there is listed, and one that has gone is not. The test waits until the list
//     is the final one.
//
// A program that is stopped finds out too late that its Hold is over, and a busy machine stops programs. Pulse
// measures for how long this one was; a Use during such a stop does not count.
package recipes
