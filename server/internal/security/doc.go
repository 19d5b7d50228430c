// Package security proves who is at the other end of a connection, as far as that needs neither a client's
// connection nor the whole server: what a certificate says about its owner (CertNames), which users and schemes
// are configured (JAAS, Providers), and what the ports between the servers of an ensemble ask of each other
// (Quorum).
//
// # Goroutines and locks
//
// Everything is made when the server starts, before a port is opened, and does not change after that;
// certificates that are loaded again change inside of their keystore.Keys. The functions may be called by any
// goroutine. The package starts none, but to look up the names of members, and has no lock. What reads a
// connection that another server has opened waits for it, up to the deadline of its context.
package security
