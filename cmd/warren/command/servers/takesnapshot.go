package servers

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/answers"
)

func newTakeSnapshotCommand() *cobra.Command {
	var o steering
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "take-snapshot",
		Short: "Make a running server write a snapshot now",
		Long: "Asks a server, through its admin server, to write a snapshot in addition to those that it writes\n" +
			"on its own, so that its next start reads a short log. If the newest snapshot has every txn,\n" +
			"nothing is written. admin.rateLimiterIntervalInMS is the minimum time between two snapshots on\n" +
			"command. To copy the data elsewhere, use `warren backup create`.",
		Example: "  warren take-snapshot -s zk1 --auth-file super.txt --timeout 5m",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var last answers.TakenSnapshot
			if err := o.ask(cmd.Context(), "take_snapshot", map[string]bool{"dry_run": dryRun}, &last); err != nil {
				return err
			}
			text := fmt.Sprintf("the snapshot %s, of %d bytes, ", last.Zxid, last.Bytes)
			switch {
			case last.Taken:
				text += "was written"
			case last.Zxid == "":
				text = "there is no snapshot yet"
			case last.Txns == 0:
				text += "has every txn: there is nothing to write"
			case last.Txns < 0:
				text += "is the newest one; the txns since then are of several epochs"
			default:
				text += "is the newest one, with " + wording.Count(last.Txns, "txn") + " since then"
			}
			return cli.Printf(cmd.OutOrStdout(), "%s\n", text)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show which snapshot is the newest, and write none")
	o.addTo(cmd)
	return cmd
}
