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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// The exit codes of warren status.
const (
	exitDegraded = 1 // something is found that is worse than a notice
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
		Long: "Asks every server what it is, and shows one table: program (Warren or ZooKeeper), role, epoch of\n" +
			"the last txn, zxid, how many txns it lags behind the leader, connections, outstanding requests,\n" +
			"latency, the free space of the fullest disk, with the time until it is full if that is less than\n" +
			"30 days away, and why a server needs attention. The findings below the table are those of\n" +
			"warren doctor, with what to do.\n\n" +
			"The exit code is 0 if no finding is worse than a notice, 1 if one is, and 2 if there is no leader,\n" +
			"or more than one.",
		Example: "  warren status\n" +
			"  warren status a:2181 b:2181 c:2181\n" +
			"  warren status --config /etc/zookeeper/conf/zoo.cfg --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
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
	o.AddTo(cmd)
	flags.StringVar(&o.config, "config", "", "zoo.cfg that names the servers, instead of --servers")
	cli.NotEmpty(cmd, "config")
	cli.AddOutput(flags, &o.output, "table", "table or json")
	cli.AddTimeout(flags, &o.timeout, 3*time.Second, "how long to wait for a server")
	flags.Int64Var(&o.maxLag, "max-lag", 10_000, "txns that a server may lag behind its leader")
	flags.IntVar(&o.adminPort, "admin-port", 8080,
		"admin port of ZooKeeper servers, asked for their clocks; 0: not asked")
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
	if !cmd.Flags().Changed("admin-port") {
		o.adminPort = cfg.Admin.Port
	}
	secure, err := o.Of("")
	if err != nil {
		return err
	}
	if secure != nil {
		preferTLS(cfg)
	}
	lacks := func(m config.Member) bool { return m.Client.Port <= 0 }
	if cfg.ClientPort <= 0 && (len(cfg.Members) == 0 || slices.ContainsFunc(cfg.Members, lacks)) {
		return cli.Misuse(cmd, fmt.Errorf("%s: a server has no client port to ask", o.config))
	}
	o.servers = nil
	for _, m := range cfg.Members {
		o.servers = append(o.servers, m.ClientAddress(cfg.ClientPort))
	}
	if len(cfg.Members) == 0 {
		host := cmp.Or(cfg.ClientPortAddress, "127.0.0.1")
		o.servers = []string{net.JoinHostPort(host, strconv.Itoa(cfg.ClientPort))}
	}
	return nil
}

// preferTLS puts the ports that speak TLS in the place of the client ports, where there are any.
func preferTLS(cfg *config.Config) {
	always := cfg.SecureClientPort > 0
	if always {
		cfg.ClientPort, cfg.ClientPortAddress = cfg.SecureClientPort, cfg.SecureClientPortAddress
	}
	for i := range cfg.Members {
		if m := &cfg.Members[i]; always || m.Secure.Port > 0 {
			m.Client = m.Secure
		}
	}
}

// clusterStatus is all of it.
type clusterStatus struct {
	Verdict  string          `json:"verdict"`
	Servers  []reach.Status  `json:"servers"`
	Findings doctor.Findings `json:"findings"` // as warren doctor has them
	code     int
}

func showStatus(ctx context.Context, out io.Writer, o *statusOptions) error {
	e := doctor.Ensemble{Servers: o.servers, AdminPort: o.adminPort, Timeout: o.timeout, MaxLag: o.maxLag,
		Now: time.Now, TLS: o.Of}
	st := judged(o.servers, e.Look(ctx))
	if o.output == "json" {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
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

// roleOutside is the role of a server that cannot follow the leader, because its directory has another history.
const roleOutside = "outside"

// judged makes the rows of the servers at these addresses, and the verdict.
func judged(addresses []string, seen *doctor.Seen) *clusterStatus {
	st := &clusterStatus{Servers: make([]reach.Status, len(addresses)), Findings: seen.Findings}
	if st.Findings == nil {
		st.Findings = doctor.Findings{}
	}
	var leader *findings.Server
	for i := range addresses {
		if f := &seen.Servers[i]; f.Known() && f.Serving && (f.Mode == "leader" || f.Mode == "standalone") {
			leader = f
		}
	}
	for i, address := range addresses {
		s, f := &st.Servers[i], &seen.Servers[i]
		s.Address = address
		if err := cmp.Or(seen.Err[i], s.Parse(seen.Srvr[i])); err != nil {
			s.Problem = wording.About(address, err)
		}
		describe(s, f, leader)
		if i < len(seen.Programs) {
			s.Program = seen.Programs[i]
		}
		var why []string
		for _, x := range st.Findings {
			if x.Subject == address && !x.Whole && (x.Severity > doctor.Notice || x.Check == "drained") {
				why = append(why, x.What)
			}
		}
		if len(why) > 0 {
			s.Problem = strings.Join(why, "; ")
		}
	}
	st.conclude()
	return st
}

// describe adds to a row what a server tells beside srvr. leader are the facts of the leader, or nil.
func describe(s *reach.Status, f, leader *findings.Server) {
	switch {
	case f.Outside != nil:
		s.Role = roleOutside
	case s.Role == "" && f.Known() && f.Serving && f.Mode == "leader":
		s.Role, s.LeavesClients, s.Version, s.Problem = f.Mode, true, f.Version, "leaves clients to the other servers"
		s.Zxid, s.Connections, s.Outstanding = proto.Zxid(f.Zxid), f.Connections, f.Outstanding
		s.ZxidText, s.Epoch = s.Zxid.String(), s.Zxid.Epoch()
	}
	s.Drained = f.Draining
	if f.DiskFree > 0 {
		s.DiskFree = &f.DiskFree
	}
	if in := f.DiskFullIn; in != nil && *in < int64(forecastMax/time.Second) {
		s.DiskFullIn = in
	}
	if leader != nil && f.Known() && f.Serving && f.Zxid>>32 == leader.Zxid>>32 {
		s.Lag = new(int64(max(leader.Zxid, f.Zxid) - f.Zxid))
	}
}

// leaderless are the checks of which a finding says that no server leads, or several do.
var leaderless = []string{"no-quorum", "databases-missing", "several-leaders", "election"}

// conclude makes the verdict and the exit code of the findings.
func (st *clusterStatus) conclude() {
	counts := map[doctor.Severity]int{}
	lost := ""
	for _, x := range st.Findings {
		counts[x.Severity]++
		if lost == "" && slices.Contains(leaderless, x.Check) {
			lost = x.What
		}
	}
	var parts []string
	for s := doctor.Critical; s > doctor.Notice; s-- {
		noun := s.String()
		if s == doctor.Critical {
			noun = "critical finding"
		}
		if n := counts[s]; n > 0 {
			parts = append(parts, wording.Count(int64(n), noun))
		}
	}
	switch {
	case lost != "":
		st.Verdict, st.code = lost, exitNoQuorum
	case len(parts) > 0:
		st.Verdict, st.code = "not healthy: "+strings.Join(parts, ", "), exitDegraded
	case st.followed():
		st.Verdict = "healthy: a server that was not asked leads"
	default:
		st.Verdict = "healthy"
	}
}

// followed reports whether no server that was asked leads.
func (st *clusterStatus) followed() bool {
	return !slices.ContainsFunc(st.Servers,
		func(s reach.Status) bool { return s.Role != "follower" && s.Role != "observer" })
}

// table prints the servers, what is found of them, and the verdict, unless a finding says the same.
func (st *clusterStatus) table(to io.Writer) error {
	out := new(strings.Builder)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tPROGRAM\tROLE\tTXN EPOCH\tZXID\tLAG\tCONNECTIONS\tOUTSTANDING\tZNODES\tLATENCY MS\t"+
		"DISK FREE\tWHY")
	for _, s := range st.Servers {
		if s.Role == "" || s.Role == roleOutside {
			fmt.Fprintf(w, "%s\t%s\t%s\t-\t-\t-\t-\t-\t-\t-\t-\t%s\n", s.Address, cmp.Or(s.Program, "-"),
				cmp.Or(s.Role, "-"), s.Problem)
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
		switch {
		case s.DiskFullIn != nil && *s.DiskFullIn == 0:
			disk += ", full"
		case s.DiskFullIn != nil:
			disk += ", full in " + longText(time.Duration(*s.DiskFullIn)*time.Second)
		}
		znodes := strconv.FormatInt(s.Znodes, 10)
		latency := rounded(s.LatencyMs[0]) + "/" + rounded(s.LatencyMs[1]) + "/" + rounded(s.LatencyMs[2])
		if s.LeavesClients {
			znodes, latency = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", s.Address, cmp.Or(s.Program, "-"), s.Role,
			s.Epoch, s.ZxidText, lag, s.Connections, s.Outstanding, znodes, latency, disk, s.Problem)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	told := false // the verdict, as a finding
	for _, x := range st.Findings {
		if x.Severity > doctor.Notice {
			told = told || x.What == st.Verdict
			fmt.Fprintf(out, "%s  %s: %s: %s\n", x.Severity, x.Check, x.Subject, x.Text())
			if x.Remedy != "" {
				fmt.Fprintf(out, "  do: %s\n", x.Remedy)
			}
		}
	}
	if !told {
		fmt.Fprintln(out, st.Verdict)
	}
	_, err := io.WriteString(to, wording.Safe(out.String()))
	return err
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
