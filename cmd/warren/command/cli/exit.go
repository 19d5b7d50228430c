package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server"
)

// The exit codes that this package chooses itself.
const (
	ExitOK         = 0
	ExitUnexpected = 1
	ExitUsage      = 2
	ExitDataDir    = 3
	exitStorage    = 10
)

// ExitStatus ends the process with a code when everything has been said.
type ExitStatus int

func (ExitStatus) Error() string   { return "" }
func (e ExitStatus) ExitCode() int { return int(e) }

// ExitCode returns the exit code for the outcome of a command.
func ExitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.Is(err, server.ErrDurability):
		return exitStorage
	}
	return ExitUnexpected
}

// Run runs the command of root that args name and returns the exit code of the process.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	strict(root)
	err := root.Execute()
	if err != nil && err.Error() != "" { // an ExitStatus has nothing to say
		// A command that serves has put something around stderr.
		fmt.Fprintln(root.ErrOrStderr(), "warren: "+wording.Final(err))
	}
	return ExitCode(err)
}

// Root is the command warren with the given ones below it.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := WithCommands(&cobra.Command{
		Use:   "warren",
		Short: "A coordination service that replaces Apache ZooKeeper",
		Long: "Warren takes the place of Apache ZooKeeper servers: same client protocol, same files, same zoo.cfg.\n" +
			"Without a configuration, `warren server` serves on 127.0.0.1:2181 and keeps its data in ./data.\n\n" +
			"Exit codes, unless a command has its own: 0 success, 1 failure, 2 wrong usage.",
		Example: "  warren dev\n" +
			"  warren status\n" +
			"  warren shell ls /",
		SilenceErrors: true,
		SilenceUsage:  true,
	}, commands...)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Misuse(cmd, err) })
	// Cobra pads names to the longest, even to those of hidden commands.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".NamePadding", "13"))
	return root
}

// WithCommands puts commands below one that only shows its help itself.
func WithCommands(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = NoArguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// Group lists commands together, under a title, in the help of the command above them. It is for one level.
type Group struct {
	Title    string
	Commands []string // their names
}

// Arrange puts the commands below root into groups. It panics if a group names one that does not exist.
func Arrange(root *cobra.Command, groups []Group) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, name := range g.Commands {
			i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
			root.Commands()[i].GroupID = g.Title
		}
	}
}

// strict makes the two commands that cobra adds refuse words that they do not know. It comes after SetOut, because the
// scripts of completion are written to the output of that moment.
func strict(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args, cmd.RunE = NoArguments, root.RunE
		case "help":
			cmd.Args = topic
		}
	}
}

// topic refuses the command help about a command that does not exist.
func topic(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return NoArguments(about, rest)
}
