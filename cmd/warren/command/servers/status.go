package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
)

// The exit codes of warren status.
const (
	exitDegraded = 1 // there is a leader, or a standalone server, but something is missing
	exitNoQuorum = 2 // no server leads, so no client is served; or more than one server claims to lead
)

// statusOptions are the flags of warren status.
type statusOptions struct {
	reach.ClientTLS
	servers   []string
	config    string
	output    string
	timeout   time.Duration
	maxLag    int64
	adminPort int
	watch     bool
}

func newStatusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [HOST:PORT...]",
		Short: "Show the servers of an ensemble in one table",
		Long: "Asks every server what it is, and shows one table: role, epoch of the last txn, zxid, how many txns\n" +
			"it lags behind the leader, connections, outstanding requests, latency, and the free space of the\n" +
			"fullest disk, with the time until it is full if that is less than 30 days away. Disks are asked for\n" +
			"at the admin port, where Warren tells about them. The rest needs nothing but the word srvr, which\n" +
			"every server answers. A server that is not serving is asked at its admin port what it waits for, " +
			"and\n" +
			"whether it stays outside the ensemble because its directory has another history.\n\n" +
			"The exit code is 0 if a leader (or a standalone server) serves and every server that was asked\n" +
			"follows it, even if only followers and observers were asked; 1 if something is missing, because a\n" +
			"server does not answer, does not serve, or lags by more than --max-lag txns; and 2 if no server\n" +
			"leads, or two do.",
		Example: "  warren status\n" +
			"  warren status a:2181 b:2181 c:2181\n" +
			"  warren status --config /etc/zookeeper/conf/zoo.cfg --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTable(cmd, o.output); err != nil {
				return err
			}
			if err := o.addresses(cmd, args); err != nil {
				return err
			}
			show := func(out io.Writer) error { return showStatus(cmd.Context(), out, &o) }
			if o.watch {
				return cli.Repeat(cmd, cli.RefreshUsual, show)
			}
			return show(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	reach.AddServers(flags, &o.servers)
	o.AddTo(flags)
	flags.StringVar(&o.config, "config", "", "zoo.cfg that names the servers, instead of --servers")
	flags.StringVar(&o.output, "output", "table", "table or json")
	cli.AddTimeout(flags, &o.timeout, 3*time.Second, "how long to wait for a server")
	flags.Int64Var(&o.maxLag, "max-lag", 10_000, "txns a server may lag behind its leader")
	flags.IntVar(&o.adminPort, "admin-port", 8080,
		"admin port of the servers, asked about disks and the cause of trouble; 0: not asked")
	flags.BoolVar(&o.watch, "watch", false, "show the table again every two seconds, until interrupted")
	return cmd
}

// addresses takes the servers from the arguments or the configuration, if one is named.
func (o *statusOptions) addresses(cmd *cobra.Command, args []string) error {
	if o.config == "" {
		return reach.NamedServers(cmd, &o.servers, args)
	}
	if cmd.Flags().Changed("servers") || len(args) > 0 {
		return cli.Misuse(cmd, errors.New("use either --servers or --config"))
	}
	cfg, err := config.LoadServers(o.config)
	if err != nil {
		return err
	}
	lacks := func(m config.Member) bool { return m.Client.Port <= 0 }
	if cfg.ClientPort <= 0 && (len(cfg.Members) == 0 || slices.ContainsFunc(cfg.Members, lacks)) {
		return cli.Misuse(cmd, fmt.Errorf("%s: a server has no client port to ask", o.config))
	}
	o.servers = nil
	for _, m := range cfg.Members {
		o.servers = append(o.servers, reach.ClientPortOf(cfg, &m))
	}
	if len(cfg.Members) == 0 {
		host := cfg.ClientPortAddress
		if host == "" {
			host = "127.0.0.1"
		}
		o.servers = []string{net.JoinHostPort(host, strconv.Itoa(cfg.ClientPort))}
	}
	return nil
}

// clusterStatus is all of it.
type clusterStatus struct {
	Verdict string         `json:"verdict"`
	Servers []reach.Status `json:"servers"`
	code    int
}

func showStatus(ctx context.Context, out io.Writer, o *statusOptions) error {
	st := askAll(ctx, o)
	if o.output == "json" {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(st); err != nil {
			return err
		}
	} else if err := st.table(out); err != nil {
		return err
	}
	if st.code != cli.ExitOK {
		return cli.ExitStatus(st.code)
	}
	return nil
}

// forecastMax bounds the forecasts of full disks that are shown: what grows for longer changes before.
const forecastMax = 30 * 24 * time.Hour

// askAll asks all servers at the same time and judges the answers.
func askAll(ctx context.Context, o *statusOptions) *clusterStatus {
	st := &clusterStatus{Servers: make([]reach.Status, len(o.servers))}
	var all sync.WaitGroup
	for i, address := range o.servers {
		all.Go(func() {
			s := &st.Servers[i]
			s.Address = address
			err := o.Srvr(ctx, s, o.timeout)
			admin := doctor.AdminPort{Port: o.adminPort, Timeout: o.timeout, TLS: o.Of}
			switch {
			case o.adminPort == 0:
			case errors.Is(err, reach.ErrNotServing):
				err = outside(ctx, &admin, s, err)
			case err == nil:
				if state, ok := admin.State(ctx, address); ok {
					s.DiskFree = &state.Free
					if in := int64(state.FullIn / time.Second); state.FullIn >= 0 && state.FullIn < forecastMax {
						s.DiskFullIn = &in
					}
					s.Drained = state.Draining
					if state.Full {
						err = errors.New("its disk has no room: it takes no writes, or will take none when too many " +
							"other voters have no room either")
					}
				}
			}
			if err != nil {
				s.Problem = wording.About(address, err)
			}
		})
	}
	all.Wait()
	st.judge(o.maxLag)
	return st
}

// outside looks what a server that does not serve waits for, and whether it stays outside the ensemble. If the server
// does not say, it returns err.
func outside(ctx context.Context, admin *doctor.AdminPort, s *reach.Status, err error) error {
	zab, askErr := admin.ZabState(ctx, s.Address)
	if askErr != nil { // there need not be an admin server
		return err
	}
	if zab.Outside {
		s.Role = roleOutside
		return fmt.Errorf("it cannot follow leader %d: %s", zab.Leader, zab.Reason)
	}
	if zab.WaitsFor != "" {
		err = fmt.Errorf("does not serve: %s", zab.WaitsFor)
	}
	if len(zab.Strangers) > 0 {
		err = fmt.Errorf("%w; server %d has another history: %s", err, zab.Strangers[0].ID, zab.Strangers[0].Reason)
	}
	return err
}

// roleOutside is the role of a server that cannot follow the leader, because its directory has another history.
const roleOutside = "outside"

// judge fills in the lags and the verdict.
func (st *clusterStatus) judge(maxLag int64) {
	var leaders []*reach.Status
	for i := range st.Servers {
		if s := &st.Servers[i]; s.Role == "leader" || s.Role == "standalone" {
			leaders = append(leaders, s)
		}
	}
	troubled := 0
	for i := range st.Servers {
		s := &st.Servers[i]
		if len(leaders) == 1 && s.Role != "" && s.Role != roleOutside {
			lagBehind(s, leaders[0], maxLag)
		}
		if s.Problem != "" {
			troubled++
		}
	}
	switch {
	case len(leaders) == 0 && troubled == 0 && st.followed():
		st.Verdict = "healthy: a server that was not asked leads" + st.drained()
	case len(leaders) == 0:
		st.Verdict, st.code = "no server leads: no client can write", exitNoQuorum
	case len(leaders) > 1:
		st.Verdict, st.code = fmt.Sprintf("%d servers say that they lead: they are not one ensemble, or a leader "+
			"has been replaced this moment", len(leaders)), exitNoQuorum
	case troubled > 0:
		st.Verdict, st.code = fmt.Sprintf("%d of %d servers need attention", troubled, len(st.Servers)), exitDegraded
	default:
		st.Verdict = "healthy" + st.drained()
	}
}

// drained is the end of a verdict that names the servers which take no clients, as an operator wants it.
func (st *clusterStatus) drained() string {
	var all []string
	for i := range st.Servers {
		if st.Servers[i].Drained {
			all = append(all, st.Servers[i].Address)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; drained, until `warren drain --resume`: " + strings.Join(all, ", ")
}

// followed reports whether every server says that it follows a leader.
func (st *clusterStatus) followed() bool {
	return !slices.ContainsFunc(st.Servers,
		func(s reach.Status) bool { return s.Role != "follower" && s.Role != "observer" })
}

// lagBehind compares a server with its leader. The answers are not of one moment, so a small lag, or a negative one,
// means nothing.
func lagBehind(s, leader *reach.Status, maxLag int64) {
	if s.Role == "read-only" {
		s.Problem = "serves reads only: it has lost the quorum"
		return
	}
	if s.Zxid.Epoch() != leader.Zxid.Epoch() && s.Zxid.Counter() != 0 && leader.Zxid.Counter() != 0 {
		s.Problem = "is in another epoch than the leader"
		return
	}
	lag := max(int64(leader.Zxid.Counter())-int64(s.Zxid.Counter()), 0)
	s.Lag = &lag
	if lag > maxLag {
		s.Problem = fmt.Sprintf("lags %s behind the leader", wording.Count(lag, "txn"))
	}
}

// table prints the servers, and the verdict after them.
func (st *clusterStatus) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tROLE\tTXN EPOCH\tZXID\tLAG\tCONNECTIONS\tOUTSTANDING\tZNODES\tLATENCY MS\t"+
		"DISK FREE\tPROBLEM")
	for _, s := range st.Servers {
		if s.Role == "" || s.Role == roleOutside {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t-\t-\t-\t-\t-\t%s\n", s.Address, cmp.Or(s.Role, "-"), s.Problem)
			continue
		}
		lag := "-"
		if s.Lag != nil {
			lag = strconv.FormatInt(*s.Lag, 10)
		}
		disk := "-"
		if s.DiskFree != nil {
			disk = bytesText(float64(*s.DiskFree))
		}
		if s.DiskFullIn != nil {
			disk += ", full in " + longText(time.Duration(*s.DiskFullIn)*time.Second)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%d\t%d\t%d\t%s/%s/%s\t%s\t%s\n", s.Address, s.Role, s.Epoch,
			s.ZxidText, lag, s.Connections, s.Outstanding, s.Znodes, rounded(s.LatencyMs[0]), rounded(s.LatencyMs[1]),
			rounded(s.LatencyMs[2]), disk, cmp.Or(s.Problem, drainedText(s.Drained)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, st.Verdict)
	return err
}

// drainedText is what stands in the column of problems of a drained server that has none.
func drainedText(drained bool) string {
	if drained {
		return "drained: takes no clients"
	}
	return ""
}

// longText is a time of minutes to days, in the unit that matters and the next one.
func longText(d time.Duration) string {
	switch d = d.Truncate(time.Minute); {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd %dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// rounded shows a number of milliseconds with the digits that matter.
func rounded(ms float64) string {
	digits := 0
	switch {
	case ms == 0:
	case ms < 1:
		digits = 2
	case ms < 10:
		digits = 1
	}
	return strconv.FormatFloat(ms, 'f', digits, 64)
}
