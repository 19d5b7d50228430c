package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// NoArguments refuses arguments, with the exit code of a wrong invocation.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		var known []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				known = append(known, sub.Name())
			}
		}
		return Misuse(cmd, fmt.Errorf("unknown command %q%s", args[0], didYouMean("", args[0], known)))
	}
	return Misuse(cmd, fmt.Errorf("unexpected argument %q", args[0]))
}

// OneArgument refuses every other number of arguments, and says what is missing.
func OneArgument(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Misuse(cmd, errors.New(missing))
		}
		return nil
	}
}

// AtMostOneArgument refuses more than one.
func AtMostOneArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return Misuse(cmd, fmt.Errorf("unexpected argument %q", args[1]))
	}
	return nil
}

// CheckArgument refuses a wrong number of arguments and an unknown output. missing is what it says without an
// argument.
func CheckArgument(cmd *cobra.Command, args []string, missing, output string) error {
	if len(args) == 0 || args[0] == "" {
		return Misuse(cmd, errors.New(missing))
	}
	return cmp.Or(AtMostOneArgument(cmd, args), CheckOutput(cmd, output))
}

// NotEmpty refuses a flag that is given without a value, as by an empty variable of a script: without the flag the
// command would do something else.
func NotEmpty(cmd *cobra.Command, flag string) {
	f := cmd.Flags().Lookup(flag)
	Before(cmd, func() error {
		if f.Changed && f.Value.String() == "" {
			return Misuse(cmd, fmt.Errorf("--%s is empty", flag))
		}
		return nil
	})
}

// CheckOutput refuses an unknown output.
func CheckOutput(cmd *cobra.Command, output string) error {
	if output != "simple" && output != "json" {
		return Misuse(cmd, fmt.Errorf("--output %q: it must be simple or json", output))
	}
	return nil
}

// CheckTable is CheckOutput for commands that print a table.
func CheckTable(cmd *cobra.Command, output string) error {
	if output != "table" && output != "json" {
		return Misuse(cmd, fmt.Errorf("--output %q: it must be table or json", output))
	}
	return nil
}
