package servers

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/internal/answers"
)

func newLogLevelCommand() *cobra.Command {
	var o steering
	var dryRun bool
	var last time.Duration
	cmd := &cobra.Command{
		Use:   "loglevel [debug | info | warn | error]",
		Short: "Show or change the log level of a running server",
		Long: "Asks a server, through its admin server, for the level of its log, or changes it. With --for,\n" +
			"the previous level is restored after that time, or when the server stops. A restart, or SIGHUP\n" +
			"with warren.logLevel in the configuration, restores the configured level. The change itself is\n" +
			"always logged.",
		Example: "  warren loglevel -s zk1 --auth-file super.txt\n" +
			"  warren loglevel debug --for 10m -s zk1 --auth-file super.txt",
		Args: cli.Arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := map[string]any{"dry_run": dryRun}
			switch {
			case len(args) == 1:
				request["level"], request["seconds"] = args[0], int(last/time.Second)
			case last != 0:
				return cli.Misuse(cmd, errors.New("--for needs a level"))
			}
			if last < 0 || last%time.Second != 0 {
				return cli.Misuse(cmd, errors.New("--for must be a whole number of seconds"))
			}
			var now answers.Level
			if err := o.ask(cmd.Context(), "log_level", request, &now); err != nil {
				return err
			}
			text := "the level is " + now.Level
			if now.Then != "" {
				text += fmt.Sprintf(", and %s again at %s", now.Then, time.UnixMilli(now.Until).Format(time.DateTime))
			}
			if dryRun && len(args) == 1 {
				text += "; it would be " + args[0]
			}
			return cli.Printf(cmd.OutOrStdout(), "%s\n", text)
		},
	}
	cmd.Flags().DurationVar(&last, "for", 0, "time after which the previous level is restored; 0: never")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check whether it would work, and change nothing")
	o.addTo(cmd)
	return cmd
}
