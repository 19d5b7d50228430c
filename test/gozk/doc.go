// Package gozk runs the same scenarios with go-zookeeper and with package client/zk, against one server, and compares
// what was seen.
//
// The scenarios are in the folder theirs and import go-zookeeper; those in ours are the same files with another
// import, which is also the proof that an application moves by changing it. After a change in theirs:
//
//	go test ./test/gozk -run Copies -rewrite
//
// A scenario writes what it sees into a World, without what differs from run to run. What client/zk does differently
// on purpose is in docs/FROM-GO-ZOOKEEPER.md and is tested in test/client/zk.
package gozk
