// Package env is what all parts of one server share: its configuration, log, figures, clock, goroutines, replicated
// state and a few flags. It does not import any of the parts.
//
// # Goroutines and what they own
//
// New makes the Env before any other part of the server runs. Recovery sets Store, Tracker and Guard before other
// goroutines read them. Any goroutine may read the atomic fields; each field says which part stores it.
//
// Store.Mu guards the State. The applier writes under Lock, all others read under RLock. A goroutine that reads for
// long takes Store.Long first, as the applier does, so that short readers do not wait behind the applier. See the
// list of locks in package server.
//
// The Guard has a goroutine that checks the free space of the disks; the journal calls it as well.
package env
