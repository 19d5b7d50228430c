// Package sim runs an ensemble of zab cores in one goroutine, with a simulated network, simulated disks and a
// simulated clock, and searches for schedules of crashes, partitions and slow disks under which a promise of Zab is
// broken.
//
// Everything is drawn from one seed and happens in one queue ordered by time and sequence, so a seed replays a run
// exactly. A failure ends with the command that replays it:
//
//	go test -tags invariants ./test/sim -v -run '^TestSim$' -sim.seed=N -sim.steps=M
//
// # The world
//
//   - Network (network.go): connections are FIFO. They are delayed, stalled in one direction or both, half closed and
//     cut; nothing is reordered or lost inside one. The election channel keeps the newest message while it is
//     stalled, and may repeat an old one after a restart, as Java's does.
//   - Disk (disk.go): a write becomes durable part by part, each behind its own fsync. A crash keeps the parts that
//     were done and any prefix of the part in progress, because that is what recovery makes of whatever blocks are
//     left (wal and server test that). Disks are slow, full for a while, fail forever, or are lost, one at a time
//     (lost.go): then the server is hunted with crashes until it has synchronised.
//   - Moments (moments.go): crashes in the write of a promise and in the first elections, and disks that are lost
//     right after an election.
//   - Clock: every server ticks at its own speed.
//   - Clients (client.go): write through the leader, note what was acknowledged, and ask for syncs.
//   - Administrators (reconfig.go), in TestSimReconfig: change the ensemble again and again; servers that are in none
//     wait to join. Servers leave, lose their disks, and come back (leave.go).
//   - A forger (forger.go), in TestSimForged: a program without a disk says to be one server or another.
//   - Others (exchange.go), in TestSimDisks: replace disks by older copies, by those of other servers or ensembles,
//     and by empty ones; one at a time while the ensemble changes (restore.go), in TestSimDisksReconfig.
//
// A node (node.go) is the host of a core: it fulfils the duties of the zab package in the plainest way.
//
// # What is checked
//
// Each checker is a file named after what it asserts: agreement.go, integrity.go, primary_order.go,
// primary_integrity.go, leadership.go, durability.go, reconfig.go, promises.go, lost.go, stream.go,
// linearizable_writes.go, linearizable_sync.go, convergence.go, and checkSteps in forger.go. The first six are the
// properties of quorum-protocol 15.2. After the faults everything is healed and the ensemble must converge: that is
// liveness.
//
// Where disks are exchanged there is no one history, so those that compare with one order are replaced by others:
// protected.go, joined.go, untouched.go, stays.go and outcome.go. They judge by what really happened (world.go).
package sim
