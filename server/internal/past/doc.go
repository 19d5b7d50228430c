// Package past reads what a znode was before from the files of one server: the transaction log, and the snapshot that
// the log goes on from.
//
// A reading belongs to one goroutine, keeps no state, takes no lock and changes no file. It looks only at txns that
// the server has applied, so that it never meets the record that the server writes at that moment. Files may be purged
// while they are read: the history then begins later. Limits bound the bytes that are read, the time, the versions and
// the bytes of data that are kept; a history says from which txn on it is whole.
//
// Permissions are the caller's affair. Each version has the ACL that the znode had after its txn, as far as the files
// prove it.
package past
