// Package wire is a test client that speaks the client protocol frame by frame. It hides nothing:
// one Conn is one TCP connection, a Request is an operation with the bytes of its body, and every
// frame that arrives is shown in the order of arrival. It can therefore send what no client
// library would, and it refuses what no server may answer.
//
// # Strictness
//
// A Conn checks every frame against client-protocol 3 to 6 and 9: the sizes of the
// handshake, replies in request order (auth and sasl may overtake), xids echoed, pings answered
// with xid -2, zxids that never go back, known error codes, no body beside an error, bodies that
// decode to the last byte, no null string or vector, notifications of a type and state that
// exist. A breach is a *Violation: it ends the connection and is what Call.Wait and Err return.
//
// # Goroutines
//
// Each Conn has one reading goroutine, which also calls Options.Observe, in order. Send may be
// called from any goroutine; requests leave in the order in which Send calls return.
package wire
