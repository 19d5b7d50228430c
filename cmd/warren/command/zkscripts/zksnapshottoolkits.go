package zkscripts

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/files"
)

// newSnapShotToolkitCommand is zkSnapShotToolkit.sh, whose flags have one dash. Source: operations 6.5.
func newSnapShotToolkitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "zkSnapShotToolkit.sh [-d|-json] SNAPSHOT_FILE",
		Short: "ZooKeeper's script zkSnapShotToolkit.sh",
		Long: "Prints a snapshot as ZooKeeper's SnapshotFormatter does: -d with the data in Base64, -json in " +
			"the format of ncdu.",
		Hidden:             true,
		DisableFlagParsing: true,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		output := "toolkit"
		withData := false
		switch {
		case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
			return cmd.Help()
		case len(args) == 2 && args[0] == "-d":
			withData = true
		case len(args) == 2 && args[0] == "-json":
			output = "ncdu"
		case len(args) != 1 || args[0] == "" || args[0][0] == '-':
			return cli.Misuse(cmd, errors.New("name one snapshot file"))
		}
		return files.PrintSnapshotAs(cmd.OutOrStdout(), output, args[len(args)-1], withData)
	}
	return cmd
}

// newRecursiveSummaryCommand is zkSnapshotRecursiveSummaryToolkit.sh. Source: operations 6.6.
func newRecursiveSummaryCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "zkSnapshotRecursiveSummaryToolkit.sh SNAPSHOT_FILE STARTING_NODE MAX_DEPTH",
		Short:  "ZooKeeper's script zkSnapshotRecursiveSummaryToolkit.sh",
		Long:   "Counts the znodes below each znode and the bytes at and below it, as `warren snapshot tree`.",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 3 {
				return cli.Misuse(cmd, fmt.Errorf("three arguments are needed, not %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			depth, err := strconv.Atoi(args[2])
			if err != nil || depth < 0 {
				return cli.Misuse(cmd, fmt.Errorf("the depth %q is not a number", args[2]))
			}
			tree, err := files.LoadTree(args[0])
			if err != nil {
				return err
			}
			return tree.PrintRecursive(cmd.OutOrStdout(), args[1], depth)
		},
	}
}

// newSnapshotComparerCommand is zkSnapshotComparer.sh. Source: operations 6.7.
func newSnapshotComparerCommand() *cobra.Command {
	var c files.SnapshotComparison
	var left, right string
	var interactive bool
	cmd := &cobra.Command{
		Use:    "zkSnapshotComparer.sh -l LEFT -r RIGHT -b BYTES -n NODES [-d] [-i]",
		Short:  "ZooKeeper's script zkSnapshotComparer.sh",
		Long:   "Compares the sizes of two snapshots by depth, as `warren snapshot compare --output toolkit`.",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"left", "right", "bytes", "nodes"} {
				if !cmd.Flags().Changed(name) {
					return cli.Misuse(cmd, errors.New("l, r, b and n are required"))
				}
			}
			return cli.NoArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.Load(left, right); err != nil {
				return err
			}
			if interactive {
				c.Ask = cmd.InOrStdin()
			}
			return c.PrintToolkit(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&left, "left", "l", "", "snapshot file")
	flags.StringVarP(&right, "right", "r", "", "snapshot file to compare it with")
	flags.Int64VarP(&c.Bytes, "bytes", "b", 0, "show differences of more bytes than this")
	flags.Int64VarP(&c.Nodes, "nodes", "n", 0, "the same in znodes")
	flags.BoolVarP(&c.IsDebug, "debug", "d", false, "show what is compared with what")
	flags.BoolVarP(&interactive, "interactive", "i", false, "ask which depths or paths to compare")
	return cmd
}
