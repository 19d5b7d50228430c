// Package command is the command line of warren, one command a file.
//
// # Exit codes
//
//	0   done; or an orderly stop after SIGTERM or SIGINT
//	1   unexpected error; or a configuration that names what does not exist
//	2   invalid invocation or configuration
//	3   a data directory cannot be used
//	4   the admin server cannot be started on the port that was asked for
//	10  the log could not be written
//	14  a port cannot be bound
//
// They are ZooKeeper's. An error chooses its own by a method ExitCode. Source: operations 1.3.
//
// Results go to standard output; logs, warnings and errors to standard error.
package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/server"
)

// The exit codes that this package chooses itself.
const (
	exitOK         = 0
	exitUnexpected = 1
	exitUsage      = 2
	exitDataDir    = 3
	exitStorage    = 10
)

// Main runs the command that args name and returns the exit code of the process.
func Main(args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err != nil && err.Error() != "" { // an exitStatus has nothing to say
		fmt.Fprintln(stderr, "warren: "+err.Error())
	}
	return exitCode(err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "warren",
		Short: "A coordination service that replaces Apache ZooKeeper",
		Long: "Warren is a drop-in for Apache ZooKeeper servers: the same client protocol, the same files,\n" +
			"the same zoo.cfg. `warren server` without anything else serves on 127.0.0.1:2181 from ./data.",
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd, err} })
	root.AddCommand(newServerCommand(), newBenchCommand(), newWALCommand(), newSnapshotCommand(), newConfigCommand(),
		newBackupCommand(), newRestoreCommand(), newAdoptCommand(), newRecoverCommand(), newDoctorCommand(), newDevCommand(),
		newStatusCommand(), newTopCommand(), newShellCommand(), newHealthCommand(), newSmokeTestCommand(),
		newWordCommand(), newDigestCommand(), newReconfigCommand(), newDrainCommand(), newShedCommand(), newLeadCommand(),
		newVersionCommand(), newManCommand())
	root.AddCommand(newZooKeeperScripts()...)
	return root
}

// usageError is an invocation that makes no sense.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string {
	return fmt.Sprintf("%v\nusage: %s\nsee `%s --help`", e.err, e.cmd.UseLine(), e.cmd.CommandPath())
}

func (e *usageError) Unwrap() error { return e.err }

func (e *usageError) ExitCode() int { return exitUsage }

// noArguments refuses arguments, with the exit code of a wrong invocation.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return &usageError{cmd, fmt.Errorf("unknown command %q", args[0])}
	}
	return &usageError{cmd, fmt.Errorf("unexpected argument %q", args[0])}
}

// oneArgument refuses every other number of arguments, and says what is missing.
func oneArgument(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return &usageError{cmd, errors.New(missing)}
		}
		return nil
	}
}

// atMostOneArgument refuses more than one.
func atMostOneArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return &usageError{cmd, fmt.Errorf("unexpected argument %q", args[1])}
	}
	return nil
}

// exitCode returns the exit code for the outcome of a command.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.Is(err, server.ErrDurability):
		return exitStorage
	}
	return exitUnexpected
}
