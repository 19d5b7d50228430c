// Package limits holds the rules by which a server takes requests and sessions, as far as they need no server:
// how many there may be, and which waiting one is next.
//
//	Tokens       how fast sessions are begun and resumed (connectionMaxTokens and its siblings)
//	Rate         how many requests a second an address may send (warren.maxRequestsPerSecond)
//	Attempts     how often an address may guess a password
//	LargeBudget  bytes of large requests in flight (largeRequestMaxBytes)
//	WriteBudget  large writes in the pipeline, so that small ones of other clients do not wait for them
//	Turns        busy connections that work at the same time
//	Handshakes   TLS handshakes that work at the same time, in turns of busy connections
//
// The other rules need a connection or the whole server, and are in their packages: maxClientCnxns and maxCnxns
// (connSet), globalOutstandingLimit and request_throttle_max_requests (Env.InProcess), output that waits for a
// client (output), and requests that wait for an earlier write (those in flight of each connection).
//
// # Goroutines and locks
//
// Readers of connections take, the host goroutine and the applier give back. Each type has its own lock, or is an
// atomic or a channel; within a lock no other lock is taken. Only Turns.Take waits. Waiter.Nudge is called under
// the lock of a WriteBudget.
package limits
