// Package prepare turns requests into txns. It checks each write against the tree as it will be, and resolves
// everything that servers could decide differently (time, sequence numbers, the ephemerals of a session, the
// digest).
//
// # State and overlay
//
// A Preparer reads the applied tree (datatree.State) and owns the overlay: the znodes that txns not yet applied
// will change. Prepare first drops from the overlay what State has applied meanwhile. So requests are prepared
// while earlier txns are still on their way to the disk.
//
// # Goroutines and locks
//
// A Preparer belongs to one goroutine. It starts none and has no lock. It reads State, so its caller
// holds the lock of State for reading; Config.Rest may give that lock up between two operations of a
// multi. Once the overlay has reached its working size, Prepare does not allocate.
//
// The other functions (AppendErrorTxn, Create2Slots, CreatesEphemeral) are pure.
package prepare
