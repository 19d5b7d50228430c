// Package cmdline is what the tests of the commands of warren share: command lines and servers that run in the test or
// as processes of their own, answers of servers, the data of ZooKeeper servers, terminals, and commands that a power
// failure interrupts. It holds no state.
package cmdline
