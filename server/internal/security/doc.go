// Package security authenticates the other end of a connection, as far as that needs neither a client's
// connection nor the whole server: the identities in a certificate (CertNames), the configured users and schemes
// (JAAS, Providers), and the protection of the ports between the servers of an ensemble (Quorum).
//
// # Goroutines and locks
//
// Everything is made when the server starts, before a port is opened, and does not change after that; reloaded
// certificates change inside their keystore.Keys. Any goroutine may call the functions. The package starts
// goroutines only to look up the names of members, and has no lock. A function that reads from the connection of
// another server waits for it, up to the deadline of its context.
package security
