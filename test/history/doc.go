// Package history records what clients of a server did and saw, and judges it.
//
// A Recorder wraps connections of package wire. Every request becomes an Operation with the times
// of call and return; one whose reply never came returns at infinity, since it may take effect at
// any time or never. What arrives on a connection is kept in order of arrival, replies and events
// in one stream, because what ZooKeeper promises about watches is an order of arrival.
//
// # Judges
//
//   - CheckRegisters: writes, and reads behind a sync, are linearizable, each znode a register
//     with a version. The order of the zxids proves it, or else porcupine searches for an order.
//   - CheckSessions: replies come in the order of the requests; a session's zxid never goes back,
//     also over connections; it sees its own writes; a read at zxid z misses no acknowledged
//     write up to z. Source: guarantees 2 and 3.
//   - CheckWatches: an event comes before any reply that reflects a later state; none is lost;
//     a one-shot watch fires once; no event without a write. Guarantee 4.
//   - CheckEphemerals: an ephemeral is there from its create to its delete or to the end of its
//     session, and no longer. Guarantee 6.
//
// Judges return every breach they find, in words. They are pure functions of a History, which is
// safe for concurrent use once recording has ended. A judge that ran out of time has not passed.
package history
