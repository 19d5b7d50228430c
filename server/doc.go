// Package server runs one Warren server. It assembles the parts and has little logic of its own: New makes them, Start
// recovers the state and begins to serve, Stop ends everything in order.
//
//	env      what all parts share: configuration, clock, state, figures
//	durable  recovery, journal, snapshots
//	host     the agreement and the roles: what becomes of a request
//	serve    client connections, watches, the applier
//	facts    what the server knows of itself
//	ensemble what it knows of the other servers, and what is wrong
//	words    the four-letter words
//
// The ports of operators are opened here (operators.go, exporter.go): the admin server with the console and its API,
// and the exporter of metrics. They ask ensemble, and visible for
// what visitors may see, and give orders.
//
// The parts are packages under server/internal; each says in its first screen which goroutines and locks it has.
// They are joined by interfaces that the lower part declares: serve knows the host as hosts, the host knows
// connections as clients and the applier as applies, the journal knows the host as durable.Owner.
//
// # Goroutines of this package
//
//	clock           expiry of sessions
//	reaper          abandoned containers and TTL znodes
//	configurations  files and client ports after a reconfiguration
//
// A long-lived goroutine of a server is started by env.Spawn or by the Runtime, has a name that profiles show as the
// label "goroutine", and has ended when Stop returns. Requests over HTTP run in goroutines of net/http; some start
// short-lived helpers: package api to wait for an answer or to ask the servers of other ensembles, package security
// to look up names.
//
// # Order of locks
//
// A goroutine that holds one takes only later ones:
//
//  1. limits.Turns (a turn of a busy connection)
//  2. host.Host.turn
//  3. serve.ApplyQueue.turn
//  4. env.Store.Listings, or env.Store.Long
//  5. env.Store.Mu
//  6. serve.Conn.mu
//  7. one of watchers.mu, connSet.mu, and the locks of flow.Inbox, sessions.Tracker and limits.WriteBudget: none is
//     taken within another of these
//  8. the lock of topk.Recorder; it is only tried, except by what operators ask, which hold no other lock
//
// No lock is held while a goroutine waits for the network, for a sync of a disk, or by package sched. Log files are
// read under host.Host.turn in two places: see package host.
//
// # Panics
//
// A panic ends the process, whatever locks the goroutine holds. So no deferred function takes a lock, or waits for
// anything, that the code before it may hold when it panics: it would wait for its own goroutine, and the server would
// hang forever without a line in its log. What a goroutine does at its end is an ordinary call after its work. No
// panic is recovered, but those of libraries that report damaged input by a panic, around nothing but that library.
// The HTTP servers, which recover every panic of a handler, get their handlers by admin.Fatal.
package server
