package servers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/answers"
)

// slowOptions are the flags of warren slow.
type slowOptions struct{ adminPorts }

func newSlowCommand() *cobra.Command {
	var o slowOptions
	cmd := &cobra.Command{
		Use:   "slow [HOST:PORT...]",
		Short: "Show which operations were slow, and where their time went",
		Long: "Asks the admin ports of the servers for the newest operations that took warren.slow.threshold or\n" +
			"longer, and shows how their time was spent, in ms: queue, prepare (at a leader) or forward (at\n" +
			"another server), sync (the log of that server), quorum, apply, socket. The stages add up to the\n" +
			"whole time.\n\n" +
			"Paths, sessions and trace ids are shown with --auth-file, to a super user or an identity with every\n" +
			"permission on /.\n\n" +
			"The exit code is 0 if a server answered, and 1 if none did.",
		Example: "  warren slow zk1:2181 zk2:2181 zk3:2181 --auth-file super.txt\n" +
			"  warren slow --limit 100 --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	o.addTo(cmd, 20, "operations")
	return cmd
}

// slowOperation is one operation that took long, and the server that its client was connected to.
type slowOperation struct {
	Server string `json:"server"`
	answers.SlowOperation
}

// slowOfServer is what one server has said, without the operations.
type slowOfServer struct {
	Address     string  `json:"address"`
	Problem     string  `json:"problem,omitempty"`
	ThresholdMs float64 `json:"threshold_ms"`
	Found       int     `json:"found"`
}

// slowOfAll is what all servers have said, the newest operation first.
type slowOfAll struct {
	Servers    []slowOfServer  `json:"servers"`
	Operations []slowOperation `json:"operations"`
}

func (o *slowOptions) run(cmd *cobra.Command) error {
	path := fmt.Sprintf("/commands/slow?limit=%d", o.limit)
	told, err := askEach(cmd.Context(), &o.adminPorts, path, func(r *answers.Slow) error {
		if r.ThresholdMs <= 0 {
			return errors.New("warren.slow.threshold is off there: set it and restart the server")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), o.newest(told)); err != nil {
		return err
	}
	return exitOf(told)
}

// newest puts together what the servers have said.
func (o *slowOptions) newest(told []answer[answers.Slow]) *slowOfAll {
	all := &slowOfAll{Servers: make([]slowOfServer, len(told)), Operations: []slowOperation{}}
	for i, a := range told {
		all.Servers[i] = slowOfServer{Address: a.address, Problem: a.problem}
		if a.problem != "" {
			continue
		}
		all.Servers[i].ThresholdMs, all.Servers[i].Found = a.record.ThresholdMs, a.record.Found
		for _, one := range a.record.Operations {
			all.Operations = append(all.Operations, slowOperation{a.address, one})
		}
	}
	slices.SortStableFunc(all.Operations, func(a, b slowOperation) int { return cmp.Compare(b.Began, a.Began) })
	all.Operations = all.Operations[:min(len(all.Operations), o.limit)]
	return all
}

func (o *slowOptions) print(out io.Writer, all *slowOfAll) error {
	if o.output == "json" {
		return json.NewEncoder(out).Encode(all)
	}
	for _, s := range all.Servers {
		if s.Problem != "" {
			fmt.Fprintf(out, "%s: %s\n", s.Address, s.Problem)
		} else {
			fmt.Fprintf(out, "%s: %s took %g ms or longer since it started\n", s.Address,
				wording.Count(s.Found, "operation"),
				s.ThresholdMs)
		}
	}
	if len(all.Operations) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BEGAN\tSERVER\tOPERATION\tMS\tSLOWEST\tSTAGES\tPATH")
	secret := true
	for _, s := range all.Operations {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%s\t%v\t%s\n", cli.Clock(s.Began), s.Server, cli.Printable(s.Operation),
			s.Millis, cli.Printable(s.Slowest), s.Stages, cli.Printable(s.Path))
		secret = secret && s.Session == ""
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if secret {
		return cli.Printf(out, "\npaths, sessions and ids of traces need --auth-file\n")
	}
	return nil
}
