package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
)

// serverOptions are the flags of warren server.
type serverOptions struct {
	config        string
	dataDir       string
	clientPort    uint16
	clientAddress string
	myID          string
	set           []string
	logLevel      string
	logFormat     string
}

func NewServerCommand() *cobra.Command {
	var o serverOptions
	cmd := &cobra.Command{
		Use:   "server [CONFIG | CLIENT_PORT DATA_DIR [TICK_TIME [MAX_CLIENT_CNXNS]]]",
		Short: "Run a server",
		Long: "Runs a server with the zoo.cfg CONFIG, or standalone with a client port and a data directory.\n" +
			"Without either, it serves on 127.0.0.1:2181 and keeps its data in ./data; with the variables of\n" +
			"ZooKeeper's container image (ZOO_SERVERS, ZOO_DATA_DIR...) it writes zoo.cfg and myid as that\n" +
			"image does, and starts with them. Settings on the command line take precedence over WARREN_*\n" +
			"variables, and both over the file. For keys that ZooKeeper treats as system properties, the file\n" +
			"takes precedence, with a warning. SIGTERM and SIGINT stop the server; on SIGHUP it reads\n" +
			"warren.logLevel and the certificates again; on SIGQUIT it writes the stacks of its goroutines to\n" +
			"standard error.",
		Example: "  warren server\n" +
			"  warren server /etc/zookeeper/conf/zoo.cfg\n" +
			"  warren server 2181 /var/lib/zookeeper\n" +
			"  warren server --data-dir /var/lib/warren --client-address 0.0.0.0 -D snapCount=50000",
		Args: func(cmd *cobra.Command, args []string) error { return o.checkArguments(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return runServer(cmd, &o, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", "path of zoo.cfg")
	cli.NotEmpty(cmd, "config")
	flags.StringVar(&o.dataDir, "data-dir", "", "directory for snapshots and, unless dataLogDir is set, the txn log")
	flags.Uint16Var(&o.clientPort, "client-port", 0, "port for clients, 0 for any free one")
	flags.StringVar(&o.clientAddress, "client-address", "", "host or address to serve clients on")
	flags.StringVar(&o.myID, "myid", "", "id of this server, if there is no file myid")
	flags.StringArrayVarP(&o.set, "set", "D", nil, "any key of zoo.cfg, as `KEY=VALUE`; can be repeated")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.logFormat, "log-format", "console", "console or json")
	return cmd
}

// checkArguments accepts a path alone, or two to four values of the positional form, and a configuration only once.
func (o *serverOptions) checkArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 4:
		return cli.Misuse(cmd, fmt.Errorf("too many arguments: %d", len(args)))
	case len(args) == 1 && args[0] == "":
		return cli.Misuse(cmd, errors.New("the name of the configuration is empty"))
	case len(args) > 0 && o.config != "":
		return cli.Misuse(cmd, errors.New("name the configuration with --config or as an argument, not both"))
	}
	return nil
}

// load reads the configuration that the flags and arguments name: when the server starts, with the flags of the log.
func (o *serverOptions) load(cmd *cobra.Command, args []string, starts bool) (*config.Config, config.Warnings, error) {
	set := slices.Clone(o.set)
	flag := func(name, key, value string) {
		if cmd.Flags().Changed(name) {
			set = append(set, key+"="+value)
		}
	}
	if starts {
		flag("log-level", "warren.logLevel", o.logLevel)
		flag("log-format", "warren.logFormat", o.logFormat)
	}
	flag("data-dir", "dataDir", o.dataDir)
	flag("client-port", "clientPort", strconv.Itoa(int(o.clientPort)))
	flag("client-address", "clientPortAddress", o.clientAddress)
	flag("myid", "myid", o.myID)
	if len(args) > 1 {
		return config.LoadArguments(args, set, os.Environ())
	}
	file := o.config
	if len(args) == 1 {
		file = args[0]
	}
	return Load(file, set)
}

// Load reads the zoo.cfg that a server would start with, under the settings of -D. If the environment has the
// variables of ZooKeeper's container image, and file is empty or the one of that image, they make the file.
func Load(file string, set []string) (*config.Config, config.Warnings, error) {
	if image := config.NewImage(os.Environ()); image.File != "" && (file == "" || file == image.File) {
		return image.Load(set, os.Environ())
	}
	return config.Load(file, set, os.Environ())
}

// runServer serves until a signal arrives.
func runServer(cmd *cobra.Command, o *serverOptions, args []string) error {
	out, errs, over := outlets(cmd)
	defer over()
	log, level, err := newLogger(o.logLevel, o.logFormat, errs)
	if err != nil {
		return cli.Misuse(cmd, err)
	}
	cfg, warnings, err := o.load(cmd, args, true)
	format := o.logFormat
	if err == nil {
		format = cfg.Log.Format
		log, level, err = newLogger(cfg.Log.Level, format, errs)
	}
	for _, w := range warnings {
		log.Warn("configuration", zap.Stringer("warning", w))
	}
	if err != nil {
		return startFailed(err, format, log)
	}
	limitMemory(log)
	if cfg.Process.Scheduling == "batch" {
		if err := scheduleAsBatch(); err != nil {
			log.Warn("writes will be slower: the system refuses the scheduling policy \"batch\"; "+
				"set CPUSchedulingPolicy=batch in the systemd unit, or warren.scheduling=normal", zap.Error(err))
		}
	}

	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	reloads := &reloader{log: log, level: level,
		load: func() (*config.Config, config.Warnings, error) { return o.load(cmd, args, false) }}
	defer reloads.start()()

	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "warren_server_log_lines_lost_total",
		Help: "Lines that standard output and standard error did not take: the reader of a pipe had ended or did " +
			"not read, or the disk was full."}, func() float64 { return float64(out.Lost() + errs.Lost()) }))
	if err := serve(ctx, cfg, log, out, registry, reloads); err != nil {
		return startFailed(err, format, log)
	}
	return nil
}

// outlets makes the standard output and the standard error of a command that serves such that neither what is behind
// them nor a signal of the log's reader ends the process. over must be called when the command ends. What is printed
// after that, such as the reason of the exit, goes through them, too.
func outlets(cmd *cobra.Command) (out, errs *outlet, over func()) {
	out, errs = &outlet{to: cmd.OutOrStdout()}, &outlet{to: cmd.ErrOrStderr()}
	cmd.Root().SetOut(out)
	cmd.Root().SetErr(errs)
	stop := outliveSignals(errs)
	return out, errs, func() {
		stop()
		_, _ = out.Sync(), errs.Sync()
	}
}

// serve runs one server until ctx is done, and says on out when it listens for clients and when it serves them.
func serve(ctx context.Context, cfg *config.Config, log *zap.Logger, out *outlet, registry *prometheus.Registry,
	reloads *reloader,
) error {
	b := build.This()
	log.Info("starting", zap.String("version", b.Version), zap.String("commit", b.Commit),
		zap.String("config", cfg.File), zap.String("data_dir", cfg.DataDir),
		zap.String("data_log_dir", cfg.DataLogDir), zap.Duration("tick_time", cfg.TickTime))
	if runtime.GOOS == "windows" {
		log.Warn("on Windows a server is for trying things out: clients cannot use TLS, and what it has " +
			"acknowledged may not survive a loss of power")
	}
	server.AwaitKeys(ctx, cfg, log)
	starts := startsWith(cfg.DataDir, time.Now())
	srv := server.New(cfg, server.Options{Log: log, LogLevel: &reloads.level, Registry: registry,
		Version: b.ZooKeeperVersion(), Program: b.Program(), WholeProcess: true, Recheck: reloads.recheck,
		Starts: starts})
	if err := srv.Start(); err != nil {
		return err
	}
	noteStarts(cfg.DataDir, starts)
	reloads.server.Store(srv)
	addr := "no port"
	if a := srv.Addr(); a != nil {
		addr = a.String()
	}
	tell := func(state string) {
		if err := notifyManager(state); err != nil {
			log.Warn("the service manager was not told", zap.Error(err))
		}
	}
	a := &announcer{status: srv.Status, version: b.Version, addr: addr, dataDir: cfg.DataDir, out: out, tell: tell}
	if at, err := filepath.Abs(cfg.DataDir); err == nil {
		a.dataDir = at
	}
	if _, terminal := cli.TerminalOf(out.to); terminal != nil {
		a.hints = nextSteps(srv.Addr(), srv.AdminAddr(), cfg.Admin.Console && !cfg.Admin.ForceHTTPS)
	}
	a.start()
	announcing, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() { a.run(announcing) })
	err := srv.Wait(ctx)
	stop()
	ended.Wait()
	tell("STOPPING=1")
	stopAfter(err, srv.Stop, failedStopMax, log)
	if err == nil {
		forgetStarts(cfg.DataDir)
	}
	return err
}

// failedStopMax is how long a server that has failed may take to stop.
const failedStopMax = 30 * time.Second

// stopAfter stops a server. After a failure something may wait for what has failed: then the process ends without
// waiting for it, so that it can be started again.
func stopAfter(failure error, stop func(), limit time.Duration, log *zap.Logger) {
	if failure == nil {
		stop()
		return
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
	case <-time.After(limit):
		log.Error("the server has failed and does not stop: ending the process",
			zap.Duration("waited", limit))
	}
}

// startFailed says once why the server ends, with ZooKeeper's sentence for it, which scripts look for on standard
// error: in a log of JSON in the same line, else in plain words below it. It returns what is left to say. Source:
// operations 1.3.
func startFailed(err error, format string, log *zap.Logger) error {
	sentence := "Unexpected exception, exiting abnormally"
	switch cli.ExitCode(err) {
	case cli.ExitUsage:
		sentence = "Invalid config, exiting abnormally"
	case cli.ExitDataDir:
		sentence = "Unable to access datadir, exiting abnormally"
	}
	if _, ok := errors.AsType[*inuse.Error](err); ok {
		err = fmt.Errorf("%w: stop that process, or choose another port", err)
	}
	if _, ok := errors.AsType[*datadir.LockedError](err); ok {
		err = fmt.Errorf("%w: stop that process, or choose another directory", err)
	}
	if format == "json" {
		log.Error(sentence, zap.String("error", wording.Text(err)))
		return cli.ExitStatus(cli.ExitCode(err))
	}
	log.Error(sentence)
	return err
}
