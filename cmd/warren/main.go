// Command warren is a coordination service that replaces Apache ZooKeeper: a server and the tools around it.
//
// Exit codes are in package command.
package main

import (
	"os"

	"github.com/seed94657493/warren/cmd/warren/command"
)

func main() {
	os.Exit(command.Main(command.Arguments(os.Args), os.Stdout, os.Stderr))
}
