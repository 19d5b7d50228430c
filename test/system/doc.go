// Package system simulates whole ensembles. Servers of package server, with their real state, log, snapshots, peers
// and client connections, and clients that speak the client protocol, run under a simulated clock on simulated
// networks and disks. One task of one process runs at a time, and one seed decides when, so that the same seed gives
// the same run.
//
// A run has three parts: load with faults, then the faults end and everything has to recover, then the checks. The
// servers tell each txn that they apply. A model replays these txns with the requests that they came from, and every
// reply and every watch event that a client has received must be what the model says at the zxid of the reply.
//
// The package has no goroutines but the coroutines of its tasks: nothing in it takes locks.
package system
