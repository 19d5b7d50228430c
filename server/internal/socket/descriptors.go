package socket

import "net"

// The last file descriptors that a process may open are not for connections of clients: the log must get its next
// file, snapshots and meta.db theirs, and servers their links, however many clients there are.
//
// A new descriptor has the lowest number that is free. So the number of a connection that was just accepted tells how
// many descriptors are open at least, whatever has opened them.

const (
	// reservePart is the part of all descriptors that is reserved, and reserveMin and reserveMax its bounds.
	reservePart            = 8
	reserveMin, reserveMax = 64, 256
)

// reserved is how many of the descriptors that a process may open are not for clients.
func reserved(most uint64) uint64 { return min(max(most/reservePart, reserveMin), reserveMax, most/2) }

// TakesReserved reports whether a connection that was just accepted has one of the descriptors that are not for
// clients.
func TakesReserved(nc net.Conn) bool { return left(nc, 1) }

// TakesLast reports whether it has one of those that are not even for other servers: half of the reserved ones.
func TakesLast(nc net.Conn) bool { return left(nc, 2) }

// left reports whether fewer descriptors than the reserved ones, divided by part, are left.
func left(nc net.Conn, part uint64) bool {
	number, most, ok := descriptor(nc)
	return ok && number+reserved(most)/part >= most
}
