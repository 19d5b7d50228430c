package servers

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/answers"
)

func newShedCommand() *cobra.Command {
	var o steering
	cmd := &cobra.Command{
		Use:   "shed PERCENT",
		Short: "Send a share of a server's clients to other servers",
		Long: "Asks a server, through its admin server, to close the connections of PERCENT of its clients,\n" +
			"chosen at random, each as soon as the client has been answered. The clients reconnect, to any\n" +
			"server, and keep their sessions. ZooKeeper has the same command since 3.10 (shed_connections).\n" +
			"`warren balance` does this for a whole ensemble after a rolling restart.",
		Example: "  warren shed 33 -s zk1 --auth-file super.txt",
		Args:    cli.OneArgument("name a percentage of the clients, from 0 to 100"),
		RunE: func(cmd *cobra.Command, args []string) error {
			percent, err := strconv.Atoi(args[0])
			if err != nil || percent < 0 || percent > 100 {
				return cli.Misuse(cmd, fmt.Errorf("%q is not a percentage from 0 to 100", args[0]))
			}
			var done answers.ShedConnections
			if err := o.ask(cmd.Context(), "shed_connections", map[string]int{"percentage": percent},
				&done); err != nil {
				return err
			}
			return cli.Printf(cmd.OutOrStdout(), "ended %s\n", wording.Count(done.Shed, "connection"))
		},
	}
	o.addTo(cmd)
	return cmd
}
