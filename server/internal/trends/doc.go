// Package trends keeps how the figures of a server went in the last day, and what happened to the server, in memory of
// a fixed size. Pure: it has no clock and starts no goroutine.
//
// A Ring has several levels. Each level keeps the same figures in slots of its own length: the newest minutes in slots
// of two seconds, a day in slots of five minutes. A slot has the mean of its samples, or their maximum where the
// maximum is what matters. When a level is full, its oldest slot is overwritten.
//
// AppendTo and Load keep a Ring over a restart, as a file of less than 512 KiB (file).
//
// Any goroutine may call the methods of a Ring. Its lock is the innermost of all, and is held for a moment.
package trends
