// Package env is what all parts of one server share: its configuration, log, figures, clock, goroutines, replicated state and a few
// flags. It knows none of the parts.
//
// # Who owns what
//
// Env is made by New before anything of the server runs. Store, Tracker and Guard are set by recovery, before other goroutines read
// them. The atomic fields may be read by any goroutine; each says which part stores it.
//
// Store.Mu guards the State. The applier writes under Lock, all others read under RLock. A goroutine that reads for long takes
// Store.Long first, as the applier does, so that short readers do not wait behind the applier. See the list of locks in package server.
//
// The Guard has a goroutine that looks at the free space of the disks; the journal calls it as well.
package env
