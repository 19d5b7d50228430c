// Package recovery lets an ensemble go on when the voters that have a database are no quorum any more, because the
// disks of the others are lost.
//
// The server that has the newest data makes a backup of it and begins a new history with it (Recovery.Begin). The
// backup is carried to enough other voters, which are restored from it (Recovery.Join), so that those that have the
// new history are a quorum. All of this is backup.Restore. This package adds the judgement whether it may be done,
// and the Record, which stays in the backup.
//
// Why nothing is lost in silence:
//
//   - A Situation is refused while voters that may have data could still form a quorum, and while a server that may
//     have later txns was not given up by name.
//   - The new history has an identity of its own. A server that was given up and comes back with its data is a
//     stranger to the servers of the new history: it stays outside, says so, and its files stay as they are.
//   - Every server that is restored has the whole tree. No server votes with an empty one. So two operators that begin
//     with different servers make two histories, which do not count for each other; a quorum of one of them is made
//     by a third step only, which sees the other.
//   - The server with which a recovery began has to say, when others are restored, that it has not gone on since. So a
//     backup of an earlier recovery does not come back.
//   - What a directory held is set aside, not removed.
//
// Everything belongs to the caller's goroutine.
package recovery
