// Command warren is a coordination service that replaces Apache ZooKeeper: a server and the tools around it.
//
// Exit codes are in package cli.
package main

import (
	"os"

	"github.com/seed94657493/warren/cmd/warren/command"
	"github.com/seed94657493/warren/cmd/warren/command/zkscripts"
)

func main() {
	os.Exit(command.Main(zkscripts.Arguments(os.Args), os.Stdout, os.Stderr))
}
