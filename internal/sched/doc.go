// Package sched is how the server tells the time, starts goroutines and waits. In production that is Go's own clock
// and scheduler (OS). The simulator of whole ensembles brings a Runtime of its own, under which every goroutine of
// every server is a task that runs when a seed says so, and the time is simulated.
//
// Everything in the server that may wait for another goroutine or for the time does it by this package: by a Parker,
// a Gate or Runtime.After. Locks are no waiting in this sense: a goroutine never waits by this package while it holds
// one.
//
// The package has no goroutines of its own. All methods may be called by any goroutine, except those of a Parker that
// say otherwise.
package sched
