package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

// devOptions are the flags of warren dev.
type devOptions struct {
	servers   int
	observers int
	dir       string
	port      uint16
	logLevel  string
}

// Distances of the ports of warren dev from the client port of the first server.
const (
	devQuorumPort   = 1000
	devElectionPort = 2000
	devAdminPort    = 3000
)

func newDevCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run an ensemble on this machine, to try things out",
		Long: "Runs an ensemble of servers in one process, on loopback. Each server has a folder with its zoo.cfg,\n" +
			"myid and data below --dir, so that it can also be started alone: `warren server DIR/1/zoo.cfg`. The\n" +
			"data is kept from run to run. Server N serves clients on port --port + N - 1; its other ports are\n" +
			"1000 (quorum), 2000 (election) and 3000 (admin) above that. SIGINT and SIGTERM stop it.",
		Example: "  warren dev\n" +
			"  warren dev --servers 5 --observers 1 --port 3181 --dir /tmp/ensemble\n" +
			"  warren status --servers 127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.servers < 1 || o.observers < 0 || o.servers+o.observers > 50 {
				return cli.Misuse(cmd,
					fmt.Errorf("--servers must be at least 1, --observers at least 0, and both together at most 50"))
			}
			if int(o.port) < 1 || int(o.port)+devAdminPort+o.servers+o.observers > 65535 {
				return cli.Misuse(cmd, fmt.Errorf("--port %d: it, and the ports up to %d above it, must be valid",
					o.port, devAdminPort+o.servers+o.observers))
			}
			return runDev(cmd, &o)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.servers, "servers", 3, "number of voters")
	flags.IntVar(&o.observers, "observers", 0, "number of observers")
	flags.StringVar(&o.dir, "dir", "warren-dev", "folder for all files")
	flags.Uint16Var(&o.port, "port", 2181, "client port of the first server")
	flags.StringVar(&o.logLevel, "log-level", "warn",
		"debug, info, warn or error; each line carries the server's name")
	return cmd
}

// runDev runs the servers until a signal arrives or one of them fails.
func runDev(cmd *cobra.Command, o *devOptions) error {
	out, errs, over := outlets(cmd)
	defer over()
	log, level, err := newLogger(o.logLevel, "console", errs)
	if err != nil {
		return cli.Misuse(cmd, err)
	}
	configs, err := o.configs()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	b := build.This()
	began := time.Now()
	var all []*server.Server
	defer func() {
		for _, s := range all {
			s.Stop()
		}
	}()
	for i, cfg := range configs {
		s := server.New(cfg, server.Options{Log: log.Named("server." + strconv.Itoa(i+1)),
			LogLevel: &level, Registry: prometheus.NewRegistry(), Version: b.ZooKeeperVersion(),
			Program: b.Program()})
		if err := s.Start(); err != nil {
			return startFailed(err, "console", log)
		}
		all = append(all, s)
	}
	switch err := waitServing(ctx, all); {
	case ctx.Err() != nil:
		return nil // a signal came first
	case err != nil:
		return startFailed(err, "console", log)
	}
	o.describe(out, configs, time.Since(began))
	return waitAny(ctx, all)
}

// configs writes the folders of all servers and reads their configurations.
func (o *devOptions) configs() ([]*config.Config, error) {
	var err error
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return nil, err
	}
	if !utf8.ValidString(o.dir) { // a zoo.cfg could not name it
		return nil, fmt.Errorf("--dir %q is not UTF-8", o.dir)
	}
	var lines strings.Builder
	n := o.servers + o.observers
	if n > 1 {
		for i := range n {
			role := ""
			if i >= o.servers {
				role = ":observer"
			}
			port := int(o.port) + i
			fmt.Fprintf(&lines, "server.%d=127.0.0.1:%d:%d%s;127.0.0.1:%d\n", i+1, port+devQuorumPort,
				port+devElectionPort, role, port)
		}
	}
	var all []*config.Config
	for i := range n {
		home := filepath.Join(o.dir, strconv.Itoa(i+1))
		if err := os.MkdirAll(home, 0o755); err != nil {
			return nil, err
		}
		text := fmt.Sprintf("# Written by warren dev.\ndataDir=%s\ntickTime=500\ninitLimit=20\nsyncLimit=10\n"+
			"maxClientCnxns=0\n4lw.commands.whitelist=*\n"+
			"admin.serverAddress=127.0.0.1\nadmin.serverPort=%d\n",
			strings.ReplaceAll(filepath.ToSlash(home), `\`, `\\`), int(o.port)+devAdminPort+i)
		if n == 1 {
			text += fmt.Sprintf("clientPort=%d\nclientPortAddress=127.0.0.1\n", o.port)
		}
		file := filepath.Join(home, "zoo.cfg")
		if err := os.WriteFile(file, []byte(text+lines.String()), 0o644); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(home, "myid"), []byte(strconv.Itoa(i+1)+"\n"), 0o644); err != nil {
			return nil, err
		}
		cfg, _, err := config.Load(file, nil, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, cfg)
	}
	return all, nil
}

// describe says where the servers are.
func (o *devOptions) describe(out io.Writer, configs []*config.Config, took time.Duration) {
	var addresses []string
	for i := range configs {
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port)+i)))
	}
	fmt.Fprintf(out, "Serving after %[2]v: %[1]s. Data is in %[3]s.\n", wording.Count(len(configs), "server"),
		took.Round(time.Millisecond), o.dir)
	fmt.Fprintf(out, "connect string  %s\n", strings.Join(addresses, ","))
	for i := range configs {
		admin := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port)+devAdminPort+i))
		fmt.Fprintf(out, "server.%-8d %s  %s/console/  %s/commands  %s/metrics\n", i+1, addresses[i],
			admin, admin, admin)
	}
	fmt.Fprintf(out, "try             %[1]s shell -s %[2]s\n                %[1]s status --servers %[3]s\n",
		callable(os.Args[0]), addresses[0], strings.Join(addresses, ","))
}

// waitServing waits until every server accepts clients.
func waitServing(ctx context.Context, all []*server.Server) error {
	began := time.Now()
	for slices.ContainsFunc(all, func(s *server.Server) bool { return !s.Serving() }) {
		if time.Since(began) > time.Minute {
			return errors.New("the servers have not found a leader within a minute")
		}
		if err := cli.Pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// waitAny blocks until ctx is done or a server has ended by itself, and returns why.
func waitAny(ctx context.Context, all []*server.Server) error {
	ended := make(chan error, len(all))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, s := range all {
		go func() { ended <- s.Wait(ctx) }()
	}
	return <-ended
}
