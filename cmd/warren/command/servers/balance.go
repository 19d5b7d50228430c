package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/answers"
)

// balanceOptions are the flags of warren balance.
type balanceOptions struct {
	steering
	adminPort int
	tolerance int
	rounds    int
	pause     time.Duration
	dryRun    bool
}

func newBalanceCommand() *cobra.Command {
	var o balanceOptions
	cmd := &cobra.Command{
		Use:   "balance HOST:PORT | URL...",
		Short: "Even out the clients of an ensemble's servers after a rolling restart",
		Long: "Asks the admin server of each named server how many clients it has, and closes connections, as\n" +
			"`warren shed` does, at those that exceed their share by more than --tolerance percent. The\n" +
			"clients reconnect, to any server, and keep their sessions. After --pause it looks again, and\n" +
			"stops when no server has too many. After --rounds rounds it gives up with exit code 1. Name all\n" +
			"servers that take clients, by their client ports or by the URLs of their admin commands. Drained\n" +
			"servers don't count.\n\n" +
			"Where clients go is up to them: a ZooKeeper client takes the next server of a list that it has\n" +
			"shuffled.",
		Example: "  warren balance zk1 zk2 zk3 --auth-file super.txt --dry-run\n" +
			"  warren balance http://zk1:8080/commands https://zk2:8443/commands --auth-file super.txt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Misuse(cmd, errors.New("name all servers, at least two"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.tolerance < 0:
				return cli.Misuse(cmd, fmt.Errorf("--tolerance %d: it must be at least 0", o.tolerance))
			case o.rounds < 1:
				return cli.Misuse(cmd, fmt.Errorf("--rounds %d: it must be at least 1", o.rounds))
			case o.pause < 0:
				return cli.Misuse(cmd, fmt.Errorf("--pause %v: it must be at least 0", o.pause))
			}
			return o.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	reach.AddAdminPort(flags, &o.adminPort)
	flags.IntVar(&o.tolerance, "tolerance", 10, "how many percent more than its share a server may have")
	flags.IntVar(&o.rounds, "rounds", 5, "maximum number of rounds")
	flags.DurationVar(&o.pause, "pause", 3*time.Second, "time for the clients to connect again, between two rounds")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show which connections would end in the first round, and end none")
	o.addCommonTo(cmd)
	return cmd
}

// balanced is a server whose clients are counted.
type balanced struct {
	name    string
	server  steering
	now     answers.Drained
	percent int // of its clients, whose connections end
}

func (o *balanceOptions) run(cmd *cobra.Command, args []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	servers := make([]balanced, len(args))
	for i, name := range args {
		servers[i] = balanced{name: name, server: o.steering}
		if err := o.locate(cmd, &servers[i].server, name); err != nil {
			return err
		}
	}
	for round := 0; ; round++ {
		if err := o.count(ctx, servers); err != nil {
			return err
		}
		even := share(servers, o.tolerance)
		if err := tell(out, servers); err != nil {
			return err
		}
		switch {
		case even:
			return cli.Printf(out, "balanced: no server has too many clients\n")
		case o.dryRun:
			return nil
		case round == o.rounds:
			return fmt.Errorf("not balanced after %s: the clients don't go to the other servers",
				wording.Count(round, "round"))
		}
		for i := range servers {
			s := &servers[i]
			if s.percent == 0 {
				continue
			}
			var done answers.ShedConnections
			err := s.server.ask(ctx, "shed_connections", map[string]int{"percentage": s.percent}, &done)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: ended %s\n", s.name, wording.Count(done.Shed, "connection"))
		}
		if err := cli.Pause(ctx, max(o.pause, time.Second)); err != nil { // a server sheds once a second at most
			return err
		}
	}
}

// locate says where a server is that is named by its client port or by the URL of its admin commands.
func (o *balanceOptions) locate(cmd *cobra.Command, s *steering, name string) (err error) {
	if strings.Contains(name, "://") {
		s.admin, err = reach.AdminURL(cmd, name)
		return err
	}
	if s.server, err = reach.Address(cmd, name); err == nil && o.adminPort != 0 {
		s.admin, err = o.AdminCommandsAt(s.server, o.adminPort)
	}
	return err
}

// count asks each server how many clients it has.
func (o *balanceOptions) count(ctx context.Context, servers []balanced) error {
	for i := range servers {
		s := &servers[i]
		if err := s.server.ask(ctx, "drain", drainRequest{DryRun: true}, &s.now); err != nil {
			return err
		}
	}
	return nil
}

// share sets which percentage of each server's clients is to leave, and reports whether no server has too many. A
// server has too many if it has more than tolerance percent above its share, and at least one whole client.
//
// Connections end at k of n servers, and their clients are taken to go to each of the n-1 other servers alike. If S of
// them leave in all and s leave one server, (S-s)/(n-1) come to it. That this is s less the excess of that server, for
// each of them, gives s = ((n-1)*excess + S)/n and S = (n-1)/(n-k) times the sum of the excesses.
func share(servers []balanced, tolerance int) (even bool) {
	clients, n := 0, 0
	for i := range servers {
		if s := &servers[i]; !s.now.Draining {
			clients += s.now.Clients
			n++
		}
	}
	fair := float64(clients) / float64(max(n, 1))
	var full []*balanced
	sum := 0.0
	for i := range servers {
		s := &servers[i]
		s.percent = 0
		has := float64(s.now.Clients)
		if !s.now.Draining && has-math.Ceil(fair) >= 1 && has*100 > fair*float64(100+tolerance) {
			full = append(full, s)
			sum += has - fair
		}
	}
	others := float64(n - 1)
	for _, s := range full {
		has := float64(s.now.Clients)
		leave := (others*(has-fair) + others/float64(n-len(full))*sum) / float64(n)
		s.percent = min(max(1, int(math.Round(100*leave/has))), 100)
	}
	return len(full) == 0
}

// tell prints what each server has, and what it is to lose.
func tell(out io.Writer, servers []balanced) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tCLIENTS\tTO LEAVE")
	for i := range servers {
		s := &servers[i]
		leave := "-"
		switch {
		case s.now.Draining:
			leave = "drained"
		case s.percent > 0:
			leave = fmt.Sprintf("%d %%", s.percent)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", s.name, s.now.Clients, leave)
	}
	return w.Flush()
}
