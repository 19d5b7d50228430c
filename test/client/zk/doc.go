// Package zk tests package client/zk on a server, beside go-zookeeper: its API is the same, and what it does
// differently on purpose (docs/FROM-GO-ZOOKEEPER.md) it does. That the two otherwise behave alike is for test/gozk.
package zk
