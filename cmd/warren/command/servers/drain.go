package servers

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/answers"
)

// drainOptions are the flags of warren drain.
type drainOptions struct {
	steering
	rate   int
	resume bool
	dryRun bool
	wait   time.Duration
}

// drainRequest is the object of the admin command drain.
type drainRequest struct {
	Rate   int  `json:"rate,omitempty"`
	Resume bool `json:"resume,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// drainPause is the time between two updates at how many clients are left.
const drainPause = 250 * time.Millisecond

func newDrainCommand() *cobra.Command {
	var o drainOptions
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Send a server's clients to the other servers before it is restarted",
		Long: "Tells a server of an ensemble, through its admin server, to accept no more clients and to close\n" +
			"the connections that it has, --rate of them per second, each as soon as the client has been\n" +
			"answered. Clients continue at another server, with their sessions. The command returns when the\n" +
			"server has no clients left, with exit code 0, or after --wait, with exit code 1. The server\n" +
			"stays drained until it is restarted, or until `warren drain --resume`. The command is safe to\n" +
			"repeat.\n\n" +
			"While the server is drained, its /readyz answers 503. It still votes, and follows or leads, as\n" +
			"before. A client that knows only this server can't connect in that time: its session expires\n" +
			"after the session timeout. A standalone server can't be drained.",
		Example: "  warren drain -s zk1 --auth-file super.txt\n" +
			"  warren drain -s zk1 --auth-file super.txt --dry-run\n" +
			"  warren drain -s zk1 --auth-file super.txt --resume",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.rate < 1:
				return cli.Misuse(cmd, fmt.Errorf("--rate %d: it must be at least 1", o.rate))
			case o.resume && o.dryRun:
				return cli.Misuse(cmd, errors.New("--dry-run can't be used with --resume"))
			}
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.rate, "rate", 100, "connections to end per second")
	flags.BoolVar(&o.resume, "resume", false, "let the server take clients again")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would happen, and change nothing")
	flags.DurationVar(&o.wait, "wait", 10*time.Minute,
		"how long to wait until the server has no clients; 0: not at all")
	o.addTo(cmd)
	return cmd
}

func (o *drainOptions) run(cmd *cobra.Command) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	began := time.Now()
	var now answers.Drained
	if err := o.ask(ctx, "drain", drainRequest{Rate: o.rate, Resume: o.resume, DryRun: o.dryRun}, &now); err != nil {
		return err
	}
	switch {
	case o.resume:
		return cli.Printf(out, "the server takes clients again\n")
	case o.dryRun:
		return o.foretell(out, now)
	}
	fmt.Fprintf(out, "%s, of which %d leave per second\n", wording.Count(now.Clients, "client"), now.Rate)
	for now.Clients > 0 && o.wait > 0 {
		if time.Since(began) > o.wait {
			return fmt.Errorf("%s: %s left after %v; the server is still being drained", o.admin,
				wording.Count(now.Clients, "client"), o.wait)
		}
		if err := cli.Pause(ctx, drainPause); err != nil {
			return err
		}
		if err := o.ask(ctx, "drain", drainRequest{DryRun: true}, &now); err != nil {
			return err
		}
		if !now.Draining {
			return fmt.Errorf("%s: the server takes clients again: it was resumed or restarted meanwhile", o.admin)
		}
	}
	if now.Clients > 0 {
		return nil
	}
	return cli.Printf(out,
		"drained: the server takes no clients until it is restarted, or until `warren drain --resume`\n")
}

// foretell prints what a drain would do.
func (o *drainOptions) foretell(out io.Writer, now answers.Drained) error {
	state := "takes clients"
	if now.Draining {
		state = fmt.Sprintf("is being drained already, at %d per second", now.Rate)
	}
	took := (time.Duration(now.Clients) * time.Second / time.Duration(o.rate)).Round(time.Second)
	return cli.Printf(out, "the server %s; %s would leave within %v\n", state,
		wording.Count(now.Clients, "client"), took)
}
