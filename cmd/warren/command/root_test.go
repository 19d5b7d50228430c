package command

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	code, out, errs := run()
	require.Equal(t, 0, code)
	require.Contains(t, out, "Usage:")
	require.Contains(t, out, "server")
	require.Empty(t, errs)

	code, out, _ = run("server", "--help")
	require.Equal(t, 0, code)
	require.Contains(t, out, "CONFIG | CLIENT_PORT DATA_DIR")

	for name, args := range map[string][]string{
		`unknown command "sever"; did you mean server?`:                    {"sever"},
		"unknown flag: --foo":                                              {"server", "--foo"},
		"too many arguments: 5":                                            {"server", "1", "2", "3", "4", "5"},
		"name the configuration with --config or as an argument, not both": {"server", "--config", "a", "b"},
		`unexpected argument "x"`:                                          {"version", "x"},
		`log level "loud": it must be`:                                     {"server", "--log-level", "loud"},
		`log level "fatal": it must be`:                                    {"server", "--log-level", "fatal"},
		`log format "xml": it must be`:                                     {"server", "--log-format", "xml"},
		`--client-port "70000" is not a whole`:                             {"server", "--client-port", "70000"},
		`--client-port "-1" is not a whole number`:                         {"server", "--client-port", "-1"},
	} {
		code, out, errs := run(args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.Contains(t, errs, name)
		require.Contains(t, errs, "usage: warren")
	}
}

// Every command says in its help what it does and how it is called.
func TestHelpIsComplete(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		switch {
		case cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help":
			return
		case cmd.HasParent() && !cmd.Parent().HasParent() && cmd.Name() != "version":
			require.NotEmpty(t, cmd.GroupID, path)
		}
		require.Regexp(t, `^[A-Z].*[^.]$`, cmd.Short, path)
		require.Regexp(t, `(?s)^[A-Z`+"`"+`].*\.$`, cmd.Long, path)
		if !cmd.HasSubCommands() && cmd.Name() != "version" {
			require.Contains(t, cmd.Example, path, path)
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRootCommand())
}

func TestVersion(t *testing.T) {
	code, out, _ := run("version")
	require.Equal(t, 0, code)
	require.Regexp(t, `^warren \S+\ncommit \S+\nbuilt \S+\ngo go1\.\S+ \w+/\w+\nzookeeper \d+\.\d+\.\d+\n$`, out)
}
