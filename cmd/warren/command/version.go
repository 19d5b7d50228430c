package command

import (
	"cmp"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Long: "Prints the version and commit of this binary, when and with which Go it was built, and the\n" +
			"version of ZooKeeper that its servers report to clients.",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := build.This()
			built := "unknown"
			if !b.Date.IsZero() {
				built = b.Date.UTC().Format(time.RFC3339)
			}
			return cli.Printf(cmd.OutOrStdout(), "warren %s\ncommit %s\nbuilt %s\ngo %s %s/%s\nzookeeper %s\n",
				b.Version, cmp.Or(b.Commit, "unknown"), built, runtime.Version(), runtime.GOOS, runtime.GOARCH,
				build.Compatible)
		},
	}
}
