// Package gozk runs the same scenarios with go-zookeeper and with package client/zk, against one server, and compares
// what was seen.
//
// The scenarios are those of the program in the folder run, which imports go-zookeeper. The test builds it twice: as
// it is, and with an overlay in which the import is client/zk and nothing else has changed. That it compiles is also
// the proof that an application moves by changing one import.
//
// A scenario writes what it sees into a World, without what differs from run to run. What client/zk does differently
// on purpose is in docs/FROM-GO-ZOOKEEPER.md and is tested in test/client/zk.
package gozk
