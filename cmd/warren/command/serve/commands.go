// Package serve has the commands that run servers, server and dev, and config check, which says what would keep a
// server from starting. A command runs in one goroutine, and those of its servers are the servers' own.
package serve

import "github.com/spf13/cobra"

// Commands returns the commands of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{NewServerCommand(), newDevCommand(), newConfigCommand()}
}
