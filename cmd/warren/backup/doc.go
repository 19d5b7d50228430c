// Package backup copies the state of a server while it serves, and brings any moment of it back.
//
// # What a backup is
//
// A folder, or the objects of a bucket below a prefix, with
//
//	manifest.json       what there is, with sizes, SHA-256 and zxids; its last line is the SHA-256 of the others
//	snapshot.<zxid>     snapshots, byte for byte as the server wrote them, perhaps compressed
//	log.<first zxid>    txns, in files of ZooKeeper's log format that hold whole records and nothing else
//	.lock               held while something writes into the folder
//
// A run adds what is new: a snapshot and the txns since, or only the txns since the last run. A file counts when the
// manifest names it, and the manifest is replaced as the last step of a run; a crash leaves files that no manifest
// names, which the next run removes or replaces. In a bucket the name of an object ends with a part of its SHA-256,
// and only the manifest is ever replaced. See docs/adr/0017-backups-in-buckets.md.
//
// # Why it is consistent
//
// A snapshot is fuzzy: it is named for the txn after which it was begun, and may hold effects of later ones. With
// every txn up to the last that it may know, replay makes it exact. So a run copies the log after the snapshot, and
// fails if the log does not reach that far. The log of a running server is read up to its last whole record.
//
// In an ensemble the end of a server's log may hold txns that are not committed and never will be: give a Limit.
//
// # What is verified
//
// Every copied snapshot is parsed completely, every record has its checksum, txns are contiguous, and where a run
// continues an earlier one the txn between them must be the same: a server whose history was cut cannot be appended.
// Verify and Restore also compare the digest of the tree after every txn with the one that the txn carries. Source:
// storage 7.
//
// # Concurrency
//
// A Backup belongs to one goroutine; the lock file keeps other processes away from writing. In a bucket a run that
// finds another manifest than it has read fails at its end. A Backup keeps no other state than the manifest.
package backup
