package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/bench"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
)

// benchOptions are the flags of warren bench that are not bench.Params.
type benchOptions struct {
	servers  []string
	compare  []string
	pids     pidList
	pidsB    pidList
	output   string
	progress bool
}

const benchManual = `Puts a ZooKeeper server or ensemble under load over the client protocol, and measures it.

LOAD is one of

%s
The default is mixed. Every load has its own defaults for connections, outstanding requests, size and so on; flags
override them. ` + "`warren bench LOAD --help`" + ` shows the defaults of that load.

Closed and open loop. Without --rate every connection keeps --outstanding requests in flight and sends the next one
when a reply comes: the load adapts to the servers, and the result is throughput. With --rate requests are due at fixed
times whatever the servers do, and latency counts from the moment at which a request was due, so a pause of a server
shows in every request that fell into it. Requests that were due but never sent are reported as errors "unsent".

Kinds of requests for --mix: get, exists, children, watch (getData with a watch) and sync read shared znodes; set writes
them; create, seq (sequential) and ephemeral create znodes under a parent of the connection's own; delete removes the
oldest znode that the connection has created, and creates one if there is none; multi creates a znode, sets a shared one
and deletes the first, in one multi.

--pid names the processes of the servers on this machine. Their CPU time over all threads and their resident memory are
then part of the result, as are operations per CPU second, the fairer number when servers and load share the cores.

--compare measures a second target in the same run: A for --slice, B for --slice, A, B, ... until each has had
--duration. The result has the figures of both, and the ratio A/B of each round as minimum, median and maximum.

Znodes are created below /warren-bench-<random> and removed at the end, even after an interrupt (a second interrupt
exits at once), unless --keep is given. The exit code is 0 if the run was finished, even if servers answered with
errors: those are in the result.`

const benchExamples = `  warren bench get
  warren bench mixed --mix get=90,set=10 --servers a:2181,b:2181,c:2181 --connections 64 --outstanding 4
  warren bench set --rate 5000 --duration 60s --output json
  warren bench get --servers 127.0.0.1:2181 --pid 4711 --compare 127.0.0.1:2182 --pids-b 4712 --duration 30s
  warren bench fill --znodes 1000000 --size 100 --path-length 40 --keep --pid 4711
  warren bench connections --connections 100000 --pid 4711`

func newBenchCommand() *cobra.Command {
	var (
		o      = benchOptions{servers: []string{"127.0.0.1:2181"}, output: "table"}
		params = bench.DefaultParams()
	)
	cmd := &cobra.Command{
		Use:       "bench [LOAD]",
		Short:     "Measure a ZooKeeper server under load",
		Long:      fmt.Sprintf(benchManual, bench.Describe()),
		Example:   benchExamples,
		ValidArgs: bench.Names(),
		Args:      cli.Arguments(0, 1, ""),
		RunE:      func(cmd *cobra.Command, args []string) error { return runBench(cmd, &o, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.servers, "servers", o.servers,
		"`host:port,...` of the servers; connections are spread over them")
	f.StringSliceVar(&o.compare, "compare", nil,
		"`host:port,...` of a second target, measured in turns with the first")
	f.Var(&o.pids, "pid", "process of a server, for CPU and memory; can be repeated")
	f.Var(&o.pids, "pids", "the same as --pid")
	f.Var(&o.pidsB, "pids-b", "processes of the servers of --compare")
	f.StringVar(&o.output, "output", o.output, "`table` or json")
	_, terminal := cli.TerminalOf(os.Stderr)
	f.BoolVar(&o.progress, "progress", terminal != nil,
		"report progress on standard error (default: if it is a terminal)")
	params.Register(f)
	usage := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		showDefaultsOf(cmd, args)
		usage(cmd, args)
	})
	return cmd
}

// showDefaultsOf makes the help of `bench LOAD` show that load's defaults.
func showDefaultsOf(cmd *cobra.Command, args []string) {
	for _, name := range append(cmd.Flags().Args(), args...) {
		l, err := bench.Find(name)
		if err != nil {
			continue
		}
		p, own := bench.DefaultsOf(l), pflag.NewFlagSet("", pflag.ContinueOnError)
		p.Register(own)
		own.VisitAll(func(f *pflag.Flag) { cmd.Flags().Lookup(f.Name).DefValue = f.DefValue })
		return
	}
}

// benchParams returns the load's defaults with the flags that were given on top.
func benchParams(cmd *cobra.Command, l bench.Load) (bench.Params, error) {
	p, own := bench.DefaultsOf(l), pflag.NewFlagSet("", pflag.ContinueOnError)
	p.Register(own)
	var errs []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		target := own.Lookup(f.Name)
		if target == nil {
			return
		}
		if !slices.Contains(l.Flags(), f.Name) {
			errs = append(errs, fmt.Errorf("bench: --%s has no effect on %s", f.Name, l.Name()))
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			errs = append(errs, target.Value.(pflag.SliceValue).Replace(list.GetSlice()))
			return
		}
		errs = append(errs, target.Value.Set(f.Value.String()))
	})
	return p, errors.Join(append(errs, p.Validate())...)
}

func runBench(cmd *cobra.Command, o *benchOptions, args []string) error {
	name := "mixed"
	if len(args) > 0 {
		name = args[0]
	}
	load, err := bench.Find(name)
	if err != nil {
		return cli.Misuse(cmd, err)
	}
	p, err := benchParams(cmd, load)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return cli.Misuse(cmd, err)
	}
	if err = reach.NamedServers(cmd, &o.servers, nil); err == nil && len(o.compare) > 0 {
		err = reach.NamedServers(cmd, &o.compare, nil)
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal is not waited for

	show := &benchProgress{out: cmd.ErrOrStderr(), enabled: o.progress}
	targets := []*bench.Target{{Name: "A", Servers: o.servers, PIDs: o.pids, Progress: show.of("A")}}
	if len(o.compare) > 0 {
		targets = append(targets, &bench.Target{Name: "B", Servers: o.compare, PIDs: o.pidsB, Progress: show.of("B")})
	}
	report, err := bench.Run(ctx, load, p, targets...)
	show.end()
	if report == nil {
		return err
	}
	write := report.Table
	if o.output == "json" {
		write = report.JSON
	}
	return errors.Join(write(cmd.OutOrStdout()), err)
}

// check reports the first flag that makes no sense.
func (o *benchOptions) check() error {
	if o.output != "table" && o.output != "json" {
		return fmt.Errorf("bench: --output is %q, want table or json", o.output)
	}
	if len(o.pidsB) > 0 && len(o.compare) == 0 {
		return errors.New("bench: --pids-b needs --compare")
	}
	return nil
}

// pidList is a flag of process ids, separated by commas, that may be repeated.
type pidList []int

func (p *pidList) String() string { return strings.Trim(fmt.Sprint([]int(*p)), "[]") }

func (p *pidList) Type() string { return "pid,..." }

func (p *pidList) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		pid, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || pid < 1 {
			return fmt.Errorf("%q is not a process id", word)
		}
		*p = append(*p, pid)
	}
	return nil
}

// benchProgress keeps one line on standard error up to date, four times a second at most.
type benchProgress struct {
	out     io.Writer
	enabled bool
	mu      sync.Mutex
	last    time.Time
	shown   bool
}

func (b *benchProgress) of(target string) func(phase string, done, of int64) {
	if !b.enabled {
		return nil
	}
	return func(phase string, done, of int64) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if time.Since(b.last) < 250*time.Millisecond {
			return
		}
		b.last, b.shown = time.Now(), true
		count := strconv.FormatInt(done, 10)
		if of > 0 {
			count += "/" + strconv.FormatInt(of, 10)
		}
		fmt.Fprintf(b.out, "\r\x1b[K%s: %s %s", target, phase, count)
	}
}

func (b *benchProgress) end() {
	if b.shown {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
