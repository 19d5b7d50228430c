// Package watch holds the watches of one server: which connection watches which path in which way
// (Registry), and which events a change of the tree causes.
//
// Watches are not replicated. A watch lives as long as its connection, and ends earlier if it is
// one-shot and fires.
//
// # Locks and goroutines
//
// A Registry does not lock and starts no goroutine. Has, At, Count, CountData, PathsOf and Each only
// read. Everything else writes, also the registration of a watch by a read request. The server
// changes its Registry under the write lock of the tree, or under the read lock together with a lock
// for the Registry alone.
//
// # Memory
//
// A watch takes 11 to 22 bytes while sets grow, at most 64 after most were removed. A watched path
// takes 36 bytes beside its name. All of it is free of pointers, so that the garbage collector does
// not look at it. What is freed is used again for blocks of its size, and goes back to the collector
// when nothing else in its chunk is in use. Held is what all of it takes, and may have a limit.
package watch
