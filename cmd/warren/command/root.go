// Package command is the command line of warren: the commands of the packages below it, one a file, and those that are
// about the program itself. Their exit codes are in package cli.
package command

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/backups"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/files"
	"github.com/seed94657493/warren/cmd/warren/command/rescue"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/cmd/warren/command/servers"
	"github.com/seed94657493/warren/cmd/warren/command/zkscripts"
)

// Main runs the command that args name and returns the exit code of the process.
func Main(args []string, stdout, stderr io.Writer) int {
	return cli.Run(newRootCommand(), args, stdout, stderr)
}

func newRootCommand() *cobra.Command {
	root := cli.Root(commands()...)
	cli.Arrange(root, groups)
	return root
}

func commands() []*cobra.Command {
	return slices.Concat(serve.Commands(), servers.Commands(), files.Commands(), backups.Commands(), rescue.Commands(),
		zkscripts.Commands(), []*cobra.Command{newDigestCommand(), newVersionCommand(), newManCommand()})
}

// groups are those of `warren help`, by what a user wants to do.
var groups = []cli.Group{
	{Title: "Run servers", Commands: []string{"server", "dev", "config"}},
	{Title: "Look at znodes and change them", Commands: []string{"shell", "digest"}},
	{Title: "Ask running servers", Commands: []string{"status", "health", "doctor", "top", "slow", "4lw", "support"}},
	{Title: "Tell running servers what to do", Commands: []string{"drain", "shed", "balance", "lead", "reconfig",
		"end-session", "loglevel", "take-snapshot"}},
	{Title: "Back up and repair data", Commands: []string{"backup", "restore", "snapshot", "wal", "adopt", "recover"}},
	{Title: "Test and measure", Commands: []string{"smoketest", "bench"}},
}
