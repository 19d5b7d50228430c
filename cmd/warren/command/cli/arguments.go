package cli

import (
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

// Arguments refuses fewer arguments than least, and says what is missing, and more than most.
func Arguments(least, most int, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Misuse(cmd, errors.New(missing))
		case len(args) > most:
			return Misuse(cmd, fmt.Errorf("unexpected argument %q", args[most]))
		}
		return nil
	}
}

// Named is Arguments for one that must not be empty.
func Named(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && args[0] == "" {
			args = nil
		}
		return Arguments(1, 1, missing)(cmd, args)
	}
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
