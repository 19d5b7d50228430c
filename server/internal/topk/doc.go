// Package topk finds the keys that cause most of a server's work: the paths, sessions, addresses and operations with
// the most requests, bytes or time in about the last minute. Its memory is fixed.
//
// # How
//
// Not every request is recorded. A Sampler, one per connection, picks requests at random, each with the probability
// 1/n, and a picked request counts n times. So sums are right in the mean, whatever the order of requests. n is 1 on a
// server with few requests, and is doubled and halved so that between samplesMin and samplesMax requests a second are
// recorded. So the cost is bounded for the whole server, not only for a request.
//
// Each kind of key has a table of counters with 16 ways: a key is counted in the set that its hash names. A key that
// has no counter takes the place of the least of its set with the probability that makes ranks right in the mean:
// Unbiased Space-Saving (Ting, Data Sketches for Disaggregated Subset Sum and Frequent Item Estimation, 2018), which
// is Space-Saving (Metwally, Agrawal, El Abbadi, Efficient Computation of Frequent and Top-k Elements in Data Streams,
// 2005) with a random step. The rank by which a counter stays is the key's share of the requests, of the bytes and of
// the time together, so one table knows the first keys by each of the three. What is shown is only what was counted
// since the key has its counter: a rare key never looks frequent.
//
// Counts fade by the factor e in each minute. Old ones are not touched for that: new ones weigh more (forward decay;
// Cormode, Shkapenyuk, Srivastava, Xu, 2009).
//
// A path at which somebody looks is followed: its reads and writes are counted in slots of two seconds, for ten
// minutes. At most 16 paths are, each in 2.4 KB. Nothing is counted for others.
//
// # Goroutines and locks
//
// A Sampler has no lock: its connection guards it. Any goroutine may record and read. The lock of a Recorder is the
// innermost of all, and no request waits for it: if it is taken, the weight of the request goes to the next request of
// its connection that is picked.
package topk
