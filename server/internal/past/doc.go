// Package past reads what a znode was before from the files of one server: the transaction log, and the snapshot that
// the log goes on from.
//
// A rebuild.Reader reads the files: no lock is taken, no file is changed, and only txns count that the server has
// applied. Files may be purged while they are read: the history then begins later. Limits bound the bytes that are
// read, the time, the versions and the bytes of data that are kept; a history says from which txn on it is whole. A
// reading belongs to one goroutine.
//
// Permissions are the caller's affair. Each version has the ACL that the znode had after its txn, as far as the files
// prove it.
package past
