// Package clientbench measures what a client costs: package client, package client/zk and go-zookeeper side by side, on one server in a process
// of its own.
//
//	go test -run xxx -bench Compare ./test/clientbench
//	go test -run xxx -bench 'ConfigurationChange|Barriers' ./test/clientbench
//
// Compare prints a table. The three clients take turns, round after round, so that whatever else the machine does hits all of them
// alike; a figure is the median of the rounds. With -client.server another server is measured, at a connect string.
package clientbench
