package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
)

// slowOptions are the flags of warren slow.
type slowOptions struct {
	reach.ClientTLS
	servers   []string
	adminPort int
	authFile  string
	limit     int
	output    string
	timeout   time.Duration
}

func newSlowCommand() *cobra.Command {
	var o slowOptions
	cmd := &cobra.Command{
		Use:   "slow [HOST:PORT...]",
		Short: "Show which operations were slow, and where their time went",
		Long: "Ask the admin ports of the servers for the newest operations that took warren.slow.threshold or " +
			"longer, and show them\n" +
			"with the stages of their time in ms: queue, prepare (at a leader) or forward (at another server), " +
			"sync (the log of that\n" +
			"server), quorum, apply, socket. The sum of the stages is the whole time.\n\n" +
			"Paths, sessions and ids of traces are shown with --auth-file, to a super user or an identity with " +
			"every permission on /.\n\n" +
			"The exit code is 0 if a server has answered, and 1 if none has.",
		Example: "  warren slow zk1:2181 zk2:2181 zk3:2181 --auth-file super.txt\n" +
			"  warren slow --limit 100 --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTable(cmd, o.output); err != nil {
				return err
			}
			if o.limit < 1 || o.limit > topLimitMax {
				return cli.Misuse(cmd, fmt.Errorf("--limit is from 1 to %d", topLimitMax))
			}
			if err := reach.NamedServers(cmd, &o.servers, args); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	reach.AddServers(flags, &o.servers)
	o.AddTo(flags)
	flags.IntVar(&o.adminPort, "admin-port", 8080, "admin port of the servers")
	flags.StringVar(&o.authFile, "auth-file", "", "file with the header Authorization, such as: digest super:password")
	flags.IntVarP(&o.limit, "limit", "n", 20, "how many operations are shown")
	flags.StringVar(&o.output, "output", "table", "table or json")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Second, "how long to wait for a server")
	return cmd
}

// slowRecord is the answer to the admin command slow.
type slowRecord struct {
	ThresholdMs float64         `json:"threshold_ms"`
	Found       int             `json:"found"`
	Operations  []slowOperation `json:"operations"`
}

// slowOperation is one operation that took long.
type slowOperation struct {
	Server    string     `json:"server"` // that the client was connected to
	Began     int64      `json:"began"`
	Operation string     `json:"operation"`
	Path      string     `json:"path,omitempty"`
	Session   string     `json:"session,omitempty"`
	Zxid      string     `json:"zxid,omitempty"`
	Error     string     `json:"error,omitempty"`
	Millis    float64    `json:"ms"`
	Slowest   string     `json:"slowest"`
	Stages    slowStages `json:"stages"`
	Trace     string     `json:"trace,omitempty"`
}

// slowStages are the times of the stages, ms.
type slowStages struct {
	Queue   float64 `json:"queue"`
	Prepare float64 `json:"prepare"`
	Forward float64 `json:"forward"`
	Sync    float64 `json:"sync"`
	Quorum  float64 `json:"quorum"`
	Apply   float64 `json:"apply"`
	Socket  float64 `json:"socket"`
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
	port := doctor.AdminPort{Port: o.adminPort, Timeout: o.timeout, TLS: o.Of}
	if o.authFile != "" {
		text, err := os.ReadFile(o.authFile)
		if err != nil {
			return err
		}
		port.Authorization = strings.TrimSpace(string(text))
	}
	all := o.ask(cmd.Context(), &port)
	if err := o.print(cmd.OutOrStdout(), all); err != nil {
		return err
	}
	if !slices.ContainsFunc(all.Servers, func(s slowOfServer) bool { return s.Problem == "" }) {
		return cli.ExitStatus(cli.ExitUnexpected)
	}
	return nil
}

// ask asks all servers at the same time.
func (o *slowOptions) ask(ctx context.Context, port *doctor.AdminPort) *slowOfAll {
	all := &slowOfAll{Servers: make([]slowOfServer, len(o.servers)), Operations: []slowOperation{}}
	records := make([]slowRecord, len(o.servers))
	var done sync.WaitGroup
	for i, address := range o.servers {
		done.Go(func() {
			s := &all.Servers[i]
			s.Address = address
			if err := askSlow(ctx, port, address, o.limit, &records[i]); err != nil {
				s.Problem = err.Error()
				return
			}
			s.ThresholdMs, s.Found = records[i].ThresholdMs, records[i].Found
		})
	}
	done.Wait()
	for i := range records {
		for _, one := range records[i].Operations {
			one.Server = o.servers[i]
			all.Operations = append(all.Operations, one)
		}
	}
	slices.SortStableFunc(all.Operations, func(a, b slowOperation) int { return cmp.Compare(b.Began, a.Began) })
	all.Operations = all.Operations[:min(len(all.Operations), o.limit)]
	return all
}

// askSlow asks one server.
func askSlow(ctx context.Context, port *doctor.AdminPort, address string, limit int, record *slowRecord) error {
	answer, err := port.Get(ctx, address, fmt.Sprintf("/commands/slow?limit=%d", limit))
	if err != nil {
		return err
	}
	var text struct {
		slowRecord
		Error *string `json:"error"`
	}
	switch err := json.Unmarshal(answer.Body, &text); {
	case err != nil:
		return fmt.Errorf("the admin port answers %s, and nothing that can be read: is it Warren's?", answer.Status)
	case text.Error != nil:
		return fmt.Errorf("the admin port answers: %q", *text.Error)
	case text.ThresholdMs <= 0:
		return errors.New("warren.slow.threshold is off there: set it and restart the server")
	}
	*record = text.slowRecord
	return nil
}

func (o *slowOptions) print(out io.Writer, all *slowOfAll) error {
	if o.output == "json" {
		return json.NewEncoder(out).Encode(all)
	}
	for _, s := range all.Servers {
		if s.Problem != "" {
			fmt.Fprintf(out, "%s: %s\n", s.Address, s.Problem)
		} else {
			fmt.Fprintf(out, "%s: %d operations took %g ms or longer since it began\n", s.Address, s.Found,
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%s\t%s\t%s\n", cli.Clock(s.Began), s.Server, cli.Printable(s.Operation),
			s.Millis, cli.Printable(s.Slowest), s.Stages.text(), cli.Printable(s.Path))
		secret = secret && s.Session == ""
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if secret {
		_, err := fmt.Fprintln(out, "\npaths, sessions and ids of traces need --auth-file")
		return err
	}
	return nil
}

// text writes the stages that took time, in their order.
func (s *slowStages) text() string {
	var parts []string
	for _, stage := range []struct {
		name string
		ms   float64
	}{{"queue", s.Queue}, {"prepare", s.Prepare}, {"forward", s.Forward}, {"sync", s.Sync}, {"quorum", s.Quorum},
		{"apply", s.Apply}, {"socket", s.Socket}} {
		if stage.ms >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s %.1f", stage.name, stage.ms))
		}
	}
	return strings.Join(parts, ", ")
}
