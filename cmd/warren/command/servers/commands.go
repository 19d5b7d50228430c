// Package servers has the commands that need nothing but running servers: those that ask (status, top, slow, health,
// 4lw), those that steer (drain, shed, balance, lead, end-session, loglevel, take-snapshot, reconfig), and those that
// are clients (shell, smoketest, bench). Servers are asked by several goroutines at a time; everything else is for the
// goroutine of the command.
package servers

import "github.com/spf13/cobra"

// Commands returns the commands of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{newStatusCommand(), newTopCommand(), newSlowCommand(), newHealthCommand(),
		newSmokeTestCommand(), newWordCommand(), newShellCommand(), newReconfigCommand(), newDrainCommand(),
		newShedCommand(), newBalanceCommand(), newLeadCommand(), newEndSessionCommand(), newLogLevelCommand(),
		newTakeSnapshotCommand(), newBenchCommand()}
}
