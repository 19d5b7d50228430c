// Package backups has the commands backup and restore: their flags and what they print. Package backup does the work.
// They run in one goroutine.
package backups

import "github.com/spf13/cobra"

// Commands returns the commands of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{newBackupCommand(), newRestoreCommand()}
}
