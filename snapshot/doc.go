// Package snapshot keeps a whole state on disk: it writes, lists, loads, verifies and prunes
// ZooKeeper's snapshot files, byte for byte (storage 1.2, 5 and 9), and it writes and
// reads the body of a snapshot on the wire, as a leader sends it to a learner.
//
// # The file
//
//	FileHeader          "ZKSN", 2, dbid: the identity of the ensemble if it is known, else -1 as in ZooKeeper
//	i32 count           sessions:  i64 id, i32 timeout
//	i32 count           ACL table: i64 key, vector of ACL
//	znode*              path, data, i64 ACL key, StatPersisted; parents first, the root is ""
//	ustring "/"         the end of the znodes
//	seal 1              i64 Adler-32 of every byte before it, ustring "/"
//	digest              i64 zxid, i32 version, i64 digest of the tree; seal 2
//	last zxid           i64 zxid; seal 3
//
// The part from the sessions to the "/" is the body: a Source produces it, a Sink takes it in.
// Files of releases before 3.6 end after seal 1, of those before 3.9 after seal 2. A name ending
// in .gz or .snappy says that all of it is compressed; seals count uncompressed bytes.
//
// # What a Store promises
//
//  1. A name snapshot.<zxid> is given only to a file that is complete, durable, and has been read
//     back: its bytes are those that were written, every seal holds and every znode follows its
//     parent. Until then it is called tmp.snapshot.<zxid>, which neither this package nor a Java
//     server takes for a snapshot; NewStore removes such files that a crash has left.
//  2. An existing snapshot is never opened for writing. One of the same zxid is replaced by rename, or removed
//     after the rename.
//  3. A Write that fails, for want of room or otherwise, leaves nothing behind. Only if the last step,
//     making the name durable, fails, the whole file may be there or not.
//  4. Prune removes only what is older than the oldest of the newest keep snapshots that verify,
//     the oldest first.
//  5. A damaged file is refused with its name, the offset and what is wrong there (ErrCorrupt).
//     No file makes a reader panic, or allocate more than a few MiB beyond the longest field that
//     is really there.
//
// # What a snapshot is good for
//
// A snapshot is fuzzy, so it is a state only together with the log that continues it. The server that owns a
// directory keeps it so that the log leads from every snapshot in it to all newer ones: what a leader sends
// replaces snapshots and log as a whole. A server that starts from an older snapshot, because the newest
// is damaged, lets a Chain check the log.
//
// # The disk belongs to the log
//
// A snapshot of gigabytes that is written as fast as the page cache takes it leaves gigabytes of dirty
// pages; when the kernel flushes them, the fdatasync of the log queues behind them and every write of
// every client waits for seconds. So a Store syncs its file every few MiB: the log then waits for one
// such piece at most.
//
// # Goroutines
//
// Writing runs on the caller's goroutine. Reading a file uses one more, which reads, decompresses and sums
// ahead of the parser by a few chunks and ends before the call returns. A Store may be used by any number of
// goroutines; Write and Prune exclude each other.
package snapshot
