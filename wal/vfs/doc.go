// Package vfs is the filesystem that all disk access of the server goes through, so that tests can simulate a
// loss of power.
//
// FS and File are the few operations that a log and a snapshot need. OS is the operating
// system's; Mem keeps everything in memory and knows what would survive a crash.
//
// # Durability
//
// Writing makes nothing durable. The contents and the size of a file are durable after File.Sync
// returned nil. A name is a fact about its directory: Create, Rename and Remove are durable after
// FS.SyncDir of that directory returned nil. MkdirAll is durable when it returns.
//
// After a Sync that failed, nothing is known about the writes before it, and a second Sync that
// succeeds does not change that: the operating system may have dropped them. The caller must
// stop using the file.
//
// # Errors
//
// Errors satisfy errors.Is with fs.ErrNotExist, fs.ErrExist and fs.ErrClosed as those of package
// os do. A full disk or an exhausted quota is ErrNoSpace, a lock held by another process
// ErrLocked.
//
// # Concurrency
//
// An FS may be used by many goroutines. ReadAt, WriteAt and Sync of one File too, if the ranges
// that are written do not overlap any other that is read or written; Read and Write share a
// position and belong to one goroutine.
package vfs
