// Package durable is the disk of one server: recovery, the journal, and the writer of snapshots. A write is durable
// here before the agreement is told of it.
//
// # Goroutines and what they own
//
//	journal      the tail of the wal.Log, the epochs and the lineage; hears from the host by Submit, Note and Call
//	snapshotter  at most one snapshot at a time, and purging; hears from the journal and from operators
//
// Recovery runs in the goroutine that calls Start, before the others exist. The journal reports to the host by the
// interface Owner. It applies received states and truncations to the directory in an order that survives a crash at
// any point; each step says which. No other package writes to the log.
//
// # Locks
//
// snapshotter.mu guards the requests to the snapshotter. Both goroutines take Store.Mu for reading. No lock is held
// while a goroutine waits for the disk.
package durable
