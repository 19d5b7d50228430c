package servers

import (
	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/answers"
)

func newEndSessionCommand() *cobra.Command {
	var o steering
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "end-session ID | LABEL",
		Short: "End a session, as if its client had been silent for the session timeout",
		Long: "Asks a server of an ensemble, through its admin server, to end a session. The leader closes it\n" +
			"with a txn, as it does when a session expires: its ephemeral znodes are deleted, and its client\n" +
			"is told that the session has expired. By its id, you can end the session at any server of the\n" +
			"ensemble. A label, which the console, `warren top` and the admin commands show in place of an\n" +
			"id, is known only to the server that showed it, until that server restarts: ask that one. If\n" +
			"the session has already ended, the exit code is 1 and nothing happens.",
		Example: "  warren end-session 0x100003a5c2e0007 --auth-file super.txt --dry-run\n" +
			"  warren end-session s-3fb60a91c2d4 -s zk1 --auth-file super.txt",
		Args: cli.OneArgument(
			"name a session by its id or its label, as the console and the words cons and dump show it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var done answers.EndedSession
			request := map[string]any{"session": args[0], "dry_run": dryRun}
			if err := o.ask(cmd.Context(), "end_session", request, &done); err != nil {
				return err
			}
			client := "a client of another server, or none"
			if done.Client != "" {
				client = "the client " + done.Client
			}
			verb, leave := "has ended", "went"
			if dryRun {
				verb, leave = "would end", "would go"
			}
			return cli.Printf(cmd.OutOrStdout(), "the session %s, of %s, %s; %s %s with it\n",
				done.Label, client, verb, wording.Count(done.Ephemerals, "ephemeral znode"), leave)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would happen, and change nothing")
	o.addTo(cmd)
	return cmd
}
