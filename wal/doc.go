// Package wal keeps txns durable, in order, in the transaction log of Apache ZooKeeper, and reports exactly what
// survived a crash.
//
// # Format
//
// A log is a directory of files log.<zxid of the first record>, lower-case hex. A file is
//
//	offset 0   "ZKLG", version i32 = 2, dbid i64 = 0
//	offset 16  record*                    back to back
//	...        zeros                      written ahead of the records, any number of them
//
// and a record is
//
//	i64 checksum         Adler-32 of the payload, in the low half
//	i32 length           of the payload, > 0
//	payload              TxnHeader, body, digest if any: the bytes of the PROPOSAL
//	0x42                 'B'
//
// All integers are big-endian. Apache ZooKeeper can read the directory at every moment. Other files of
// ours in it are named tmp.log.*, which ZooKeeper ignores. Source: storage 4 and 12.
//
// # Use
//
//	l, err := wal.Open(wal.Options{FS: vfs.OS(), Dir: dir, PreallocSize: 64 << 20})
//	last, err := l.Replay(snapshotZxid+1, apply)  // once
//	start := len(buf)
//	buf = wal.BeginRecord(buf)
//	buf = appendTxn(buf)
//	buf = wal.EndRecord(buf, start)
//	err = l.Append(buf, zxid, zxid)
//	err = l.Sync()                                // now it may be acknowledged
//
// # What is durable
//
//  1. A txn is durable when Sync has returned nil after its Append, not before.
//  2. Records are contiguous: the next txn is the last plus one, or one of the first two (counter
//     0 or 1) of a later epoch. Append refuses anything else and Replay refuses to skip a hole.
//  3. A file is never visible under its name without its header, and its name is durable before
//     the first record in it is.
//  4. Behind the last record there are only zeros, or the remains of an Append that was not
//     synced. Replay cuts them off, so that they never become readable again.
//  5. All records that Replay hands over are durable when it returns.
//
// # Torn is not corrupt
//
// A write that the crash interrupted leaves a record that ends early: at the end of the file or in
// zeros. It was never promised, so it is cut. If the power failed, later blocks of such a write may be
// there and earlier ones not: that is cut too, at the end of the last file and where a block was never
// written. Everything else refuses with ErrCorrupt, file and offset: a checksum that does not match,
// an end byte that is neither 'B' nor zero, a length that cannot be, and above all an early end that
// has a valid record behind it. A missing file between the snapshot and the first record is ErrGap.
// Source: storage 6.3, adr 0008.
//
// # Zeros ahead
//
// fdatasync of an append is cheapest if it changes no metadata, so blocks are written before they are needed: a
// background goroutine keeps zeros ahead of the records of the current file and prepares the next file. It works
// through a handle of its own, and the file is extended by either it or Append, one at a time. No call waits for
// it to be able to append. While Syncs have much to do there are no zeros: they would double that.
//
// # Marks
//
// For about each MiB of a file the log remembers where a record begins, so that Locate and Truncate find a txn without
// reading the file up to it: a leader asks for places in the middle of its work.
//
// # Which goroutine may call what
//
// One goroutine, the logger, owns the log and calls Replay, Append, Sync, Roll, Truncate, Reset and
// Close. Any goroutine may call Purge, Records, Files, LastZxid and Size. An Iterator belongs to the
// goroutine that made it.
//
// Append that returns vfs.ErrNoSpace has promised nothing and may be called again. A refused batch
// (ErrOrder, ErrRecord) has changed nothing. Any other failure leaves the disk in an unknown state:
// the log is poisoned, every later call returns the same error, and the caller ends the process.
package wal
