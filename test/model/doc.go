// Package model is a second implementation of ZooKeeper's state machine: znodes, sessions, ACLs,
// quotas and watches in maps, strings and sorted slices. It is written from the specifications and
// shares nothing with datatree but proto, so that the two can judge each other. It is slow and
// obvious on purpose: children are found by looking at every path, digests are computed from
// nothing each time, and a multi that fails is undone by going back to a copy.
//
// A Model takes requests one at a time, each with the zxid and the time that the leader would give
// it, and answers at once: there is no pipeline. A pipeline that is right gives the same answers.
package model
