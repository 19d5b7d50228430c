// Package rebuild brings back the state of a moment: it replays the log over a snapshot, and compares the digests that
// both carry, so that what it returns is the tree that the ensemble had.
//
// A Replay is for those that bring their own records, such as backups. A Reader reads the directories of a server,
// which may run: it opens files of its own, changes nothing, and leaves time to others. At does both, within bounds. A
// value belongs to one goroutine.
package rebuild
