package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/internal/answers"
)

// topOptions are the flags of warren top.
type topOptions struct {
	adminPorts
	by    string
	once  bool
	every time.Duration
}

// topAsked is how many entries of a kind a server is asked for at least: a key that is the first of the ensemble need
// not be among the first of each server.
const topAsked = 200

func newTopCommand() *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top [HOST:PORT...]",
		Short: "Show which paths, sessions, addresses and operations cause the load",
		Long: "Asks the admin ports of the servers what causes most of their requests, bytes and time, and shows\n" +
			"the sums for all servers, again every two seconds. The figures are averages per second over about\n" +
			"the last minute. The time of a read is its execution; that of a write runs from its arrival until\n" +
			"it is applied. The servers need warren.top.enabled=true.\n\n" +
			"Paths, sessions and addresses are shown with --auth-file, to a super user or an identity with every\n" +
			"permission on /; without it, only operations are.\n\n" +
			"The exit code is 0 if a server answered, and 1 if none did.",
		Example: "  warren top zk1:2181 zk2:2181 zk3:2181 --auth-file super.txt\n" +
			"  warren top --by bytes --once\n" +
			"  warren top --once --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"requests", "bytes", "time"}, o.by) {
				return cli.Misuse(cmd, fmt.Errorf("--by %q: it must be requests, bytes or time", o.by))
			}
			if o.every <= 0 {
				return cli.Misuse(cmd, fmt.Errorf("--interval %v: it must be more than 0, such as 2s", o.every))
			}
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	o.addTo(cmd, 10, "of each kind")
	flags.StringVar(&o.by, "by", "requests", "order: requests, bytes or time")
	flags.BoolVar(&o.once, "once", false, "show the figures once, and exit")
	flags.DurationVar(&o.every, "interval", cli.RefreshUsual, "time between two updates")
	return cmd
}

// topOfServer is what one server has said.
type topOfServer struct {
	Address string      `json:"address"`
	Problem string      `json:"problem,omitempty"`
	Top     answers.Top `json:"top"`
}

// topOfAll is what all servers have said, and the sums.
type topOfAll struct {
	Top     answers.Top   `json:"top"`
	Servers []topOfServer `json:"servers"`
}

func (o *topOptions) run(cmd *cobra.Command) error {
	show := func(out io.Writer) error {
		told, err := o.ask(cmd.Context())
		if err != nil {
			return err
		}
		if err := o.print(out, o.sum(told)); err != nil {
			return err
		}
		return exitOf(told)
	}
	told, err := o.ask(cmd.Context())
	if err != nil {
		return err
	}
	if ended := exitOf(told); o.once || ended != nil { // without an answer there is nothing to look at again
		return cmp.Or(o.print(cmd.OutOrStdout(), o.sum(told)), ended)
	}
	return cli.Repeat(cmd, o.every, show)
}

func (o *topOptions) ask(ctx context.Context) ([]answer[answers.Top], error) {
	path := fmt.Sprintf("/commands/top?by=%s&limit=%d", o.by, min(max(o.limit, topAsked), listMax))
	return askEach(ctx, &o.adminPorts, path, func(t *answers.Top) error {
		if !t.Enabled {
			return errors.New("warren.top.enabled is false there: set it to true and restart the server")
		}
		return nil
	})
}

// sum adds what the servers have said.
func (o *topOptions) sum(told []answer[answers.Top]) *topOfAll {
	all := &topOfAll{Top: answers.Top{By: o.by}, Servers: make([]topOfServer, len(told))}
	var tops []*answers.Top
	for i := range told {
		t := &told[i].record
		all.Servers[i] = topOfServer{Address: told[i].address, Problem: told[i].problem, Top: *t}
		if told[i].problem == "" {
			tops = append(tops, t)
			all.Top.WindowSeconds = t.WindowSeconds
		}
	}
	all.Top.Add(tops, o.limit)
	return all
}

func (o *topOptions) print(out io.Writer, all *topOfAll) error {
	if o.output == "json" {
		return json.NewEncoder(out).Encode(all) // one line, even if it is followed by the next look
	}
	for _, s := range all.Servers {
		if s.Problem != "" {
			fmt.Fprintf(out, "%s: %s\n", s.Address, s.Problem)
		}
	}
	t := &all.Top
	if !t.Enabled {
		return nil
	}
	fmt.Fprintf(out, "%.1f requests/s, %s/s, %.1f ms/s; by %s, about the last %d s", t.Total.Requests,
		bytesText(t.Total.Bytes), t.Total.Millis, t.By, t.WindowSeconds)
	if t.OneIn > 1 {
		fmt.Fprintf(out, "; one request of %d is counted for all", t.OneIn)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, kind := range []struct {
		name string
		list []answers.TopEntry
	}{{"OPERATION", t.Operations}, {"PATH", t.Paths}, {"SESSION", t.Sessions}, {"ADDRESS", t.Addresses}} {
		if len(kind.list) == 0 {
			continue
		}
		fmt.Fprintf(w, "\t\t\t\nREQUESTS/S\tBYTES/S\tMS/S\t%s\n", kind.name)
		for _, e := range kind.list {
			fmt.Fprintf(w, "%.1f\t%s\t%.1f\t%s\n", e.Requests, bytesText(e.Bytes), e.Millis, cli.Printable(e.Key))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if t.Paths == nil {
		return cli.Printf(out, "\npaths, sessions and addresses need --auth-file\n")
	}
	return nil
}

// bytesText is a number of bytes with a unit.
func bytesText(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}
