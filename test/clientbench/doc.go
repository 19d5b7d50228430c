// Package clientbench measures what a client costs: package client, package client/zk and go-zookeeper side by side,
// on one server in a process of its own, and what the examples of the ZooKeeper paper take on three.
//
//	go test -run '^$' -bench 'Compare|WatchMemory' ./test/clientbench
//	go test -run '^$' -bench ConfigurationChange ./test/clientbench
//	go test -run '^$' -bench Barriers -benchtime 1x ./test/clientbench -client.barriers 200,400 -timeout 1h
//
// Compare prints a table. The clients take turns, round after round, so that whatever else the machine does hits all
// of them alike; a figure is the median of the rounds. The asynchronous form has one goroutine for all requests, the
// others one for each. CPU time, allocations and bytes are those of the whole process that holds the client.
//
// With -client.server other servers are measured, at a connect string.
package clientbench
