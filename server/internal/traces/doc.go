// Package traces sends the stages of operations to a collector, as spans of OpenTelemetry: by OTLP over HTTP, in the
// form of protobuf. Decision 19 says how the spans of several servers and of the client become one trace.
//
// The spans of an operation:
//
//	root    at the server of the client, named after the operation, with a child for each stage
//	lead    at the leader, if another server has sent the request: from its arrival to its commit, with its stages
//	log     at each server that writes the txn to its log: from the request of the host until it is durable
//
// All have the trace that package traceid computes, and root is the parent of lead and log.
//
// # Goroutines and locks
//
// The goroutine of package stages calls Trace, which makes spans and queues them under the lock of the Exporter. Run
// is the goroutine "traces": it sends what is queued once in sendEvery, and waits for the collector up to sendTimeout.
// Meanwhile up to queueMax requests wait, and with them those that a busy collector wants to be sent again later. What
// does not fit, and what a collector does not take, is dropped and counted:
// a collector that is away or slow costs memory up to that bound, and no request waits for it.
package traces
