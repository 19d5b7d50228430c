// Package meta keeps the promises and the identity of a server: the two epochs of Zab, whether it is blank, its
// identity, the last committed configuration of the ensemble, the base of session ids, the last known addresses of
// the other servers, and the catalogue of verified snapshots. No other package uses bbolt.
//
// Any goroutine may call the methods of a Store. A Store has one lock, which it holds while it writes to the disk, so
// one change follows the other. The package starts no goroutine.
//
// # Where it is kept
//
// meta.db, a bbolt file in the version-2 directory of dataDir, beside the epoch files that ZooKeeper keeps
// there (storage 1.4): acceptedEpoch and currentEpoch, each the decimal text of a number. An
// epoch is committed to meta.db first and written to its file after that; only then does the setter return.
// So a Java server can take over the directory at any time, and meta.db can be lost without losing
// a promise. At Open the larger of the two counts: the file, if a Java server ran meanwhile; meta.db, if a
// crash came between the two.
//
// A standalone server has no epoch files and gets none unless an epoch above 0 is set.
//
// # What is durable when
//
// SetAccepted, SetCurrent, SetBlank, Reconcile, SetConfig and SetSessionBase are durable when they return nil. After
// ErrNoSpace they may be called again. After any other error the content of the disk is unknown: the server must
// stop, and every later call fails with the same error.
//
// # Damage
//
// bbolt trusts its pages: a flipped bit makes it panic, loop or read beyond its map. So Open checks the file first,
// page by page, and the record with its checksum. A damaged meta.db is set aside as meta.db.damaged and a new one
// begins from the epoch files and an empty catalogue (DB.Rebuilt says so), except that an ensemble member without
// epoch files is refused: it might have promised something. The base of session ids is lost with the file: the next
// ids begin at the wall clock, above those of the sessions in the tree.
//
// That a server is blank stands in a file of its own, too (warren.blank). If meta.db is lost or damaged between the
// first snapshot and the moment at which the server counts again, the mark is there still. Otherwise the data that
// the leader has sent so far would be a database like one that a Java server has left, and would count.
//
// # Tests without a disk
//
// bbolt maps real files, so it cannot live on vfs.Mem. Mem is the same Store in memory and
// crashes like a disk; both pass one conformance test.
package meta
