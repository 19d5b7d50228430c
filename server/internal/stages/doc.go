// Package stages measures where the time of an operation goes, from the moment its request was read from the socket of
// the client to the moment its reply was handed to that socket.
//
// # Stages
//
// An Operation is cut into successive stages, each of which begins when the one before has ended. So their times add
// up to the latency:
//
//	queue    until a turn has begun with it: other requests came first, or a lock was held
//	prepare  at a leader: until it was a txn that the log and the learners had been sent
//	forward  at a learner: until the leader had made a txn of it and the txn came back; of a sync the whole way
//	sync     until this server knew that its own log has the txn
//	quorum   until a quorum has it; of a sync and of a refusal at a leader: the wait for what came before
//	apply    until it is applied to the tree, with the wait for other txns; of a read: its execution
//	socket   until the last byte of the reply was handed to the socket
//
// A txn that is committed before this server's own log has it has no stage sync: it did not wait for that log.
//
// # What is measured
//
// Times are read once for a batch, a turn or a sync, not for each request. Operations that took long, that are
// sampled for traces, or whose client does not take its replies become an Operation of their own, which costs
// allocations. All others cost a comparison. Histograms have the stages of the oldest operation of each batch.
//
// # Goroutines and locks
//
// Any goroutine may call the methods of a Recorder; those before Run must be finished. Its lock is the innermost of
// all, and no method waits for anything but it. Run is the goroutine "stages": it writes to the log and gives
// operations to the traces, so that no request waits for either. What it cannot keep up with is left out and counted.
// A nil Recorder measures nothing.
package stages
