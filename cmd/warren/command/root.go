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
	return cli.Root(slices.Concat(serve.Commands(), servers.Commands(), files.Commands(), backups.Commands(),
		rescue.Commands(), zkscripts.Commands(),
		[]*cobra.Command{newDigestCommand(), newVersionCommand(), newManCommand()})...)
}
