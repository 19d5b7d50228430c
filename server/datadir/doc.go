// Package datadir changes the data directories of a server as a whole: what warren restore, adopt, wal repair and
// zkServer-initialize.sh do to them while no server runs. The package has no state, lock or goroutine of its own.
//
// # The mark
//
// Such a change takes several steps, and a server must not see some of them without the others: a directory whose
// data was set aside, and whose new data is not there yet, looks like an empty one, with which a server begins anew.
// So before its first step a Change puts a mark, the file warren.unfinished, beside each version-2 that it changes. It
// removes the mark after its last step. Check refuses a directory that is marked. The file says what was going on and
// what the way out is.
//
// # A history that begins anew
//
// What was restored must not look like what was there before: clients have seen later txns of the old history, and
// servers that were not restored still have it. A History begins in an epoch above every one that Epoch finds, with a
// lineage of its own. Servers that are given the same state have the same lineage, so none of them
// takes another for a stranger. Source: adr 0012.
package datadir
