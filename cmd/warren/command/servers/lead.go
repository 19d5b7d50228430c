package servers

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/internal/answers"
)

func newLeadCommand() *cobra.Command {
	var o steering
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "lead SERVER_ID",
		Short: "Hand the leadership of an ensemble to a server, without an election",
		Long: "Asks the leader of an ensemble, through its admin server, to hand its leadership to the voter\n" +
			"with the id SERVER_ID, which must be a follower that is up to date and runs Warren. All pending\n" +
			"writes are committed first. Clients keep their connections; their requests wait for a few\n" +
			"milliseconds. Nothing happens if that server leads already.\n\n" +
			"If that server fails in the meantime, or doesn't answer within half a tickTime, another one\n" +
			"leads, and the exit code is 1.",
		Example: "  warren lead 2 -s zk3 --auth-file super.txt\n" +
			"  warren lead 2 -s zk3 --auth-file super.txt --dry-run",
		Args: cli.OneArgument("name the id of the server that is to lead"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return cli.Misuse(cmd,
					fmt.Errorf("%q is not the id of a server, which is the N of its line server.N", args[0]))
			}
			var done answers.HandedOver
			request := map[string]any{"to": to, "dry_run": dryRun}
			if err := o.ask(cmd.Context(), "hand_over", request, &done); err != nil {
				return err
			}
			text := fmt.Sprintf("server %d leads, after server %d; it took %d ms", to, done.From, done.TookMs)
			switch {
			case done.From == to:
				text = fmt.Sprintf("server %d leads already", to)
			case dryRun:
				text = fmt.Sprintf("server %d would hand over to server %d", done.From, to)
			}
			return cli.Printf(cmd.OutOrStdout(), "%s\n", text)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check whether it would work, and change nothing")
	o.addTo(cmd)
	return cmd
}
