// Package files has the commands that read logs and snapshots, wal and snapshot, and wal repair, which changes a log.
// They need no server, and run in one goroutine.
package files

import "github.com/spf13/cobra"

// Commands returns the commands of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{newWALCommand(), newSnapshotCommand()}
}
