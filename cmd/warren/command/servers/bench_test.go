package servers

import (
	"bytes"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/bench"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

func TestBenchRefusesNonsense(t *testing.T) {
	for args, want := range map[string]string{
		"nothing":                    `unknown load "nothing": use one of get, set,`,
		"get set":                    `unexpected argument "set"`,
		"get --output xml":           `--output is "xml", want table or json`,
		"get --connections 0":        "--connections 0: it must be at least 1",
		"fill --mix get=1":           "--mix has no effect on fill",
		"get --mix put=1":            `unknown kind "put"`,
		"get --servers [::1":         `"[::1" is neither a host nor host:port: a bracket is not closed`,
		"get --pids-b 7":             "--pids-b needs --compare",
		"get --pid x":                `"x" is not a process id`,
		"get --size 5-4":             `size "5-4" is not a number`,
		"watch-fanout --rate 5":      "--rate has no effect on watch-fanout",
		"get --source nowhere":       `--source "nowhere" is not an address`,
		"reconnect-storm --watches=": `--watches "" is not a whole number`,
	} {
		var out, errs bytes.Buffer
		code := cli.Run(cli.Root(Commands()...), append([]string{"bench"}, strings.Fields(args)...), &out, &errs)
		require.Equal(t, cli.ExitUsage, code, args)
		require.Contains(t, errs.String(), want, args)
		require.Empty(t, out.String(), args)
	}
}

// TestBenchHelpShowsTheDefaultsOfTheLoad: the help of a load differs from that of the command.
func TestBenchHelpShowsTheDefaultsOfTheLoad(t *testing.T) {
	help := func(args ...string) string {
		var out, errs bytes.Buffer
		require.Equal(t, cli.ExitOK, cli.Run(cli.Root(Commands()...), append([]string{"bench"}, args...), &out, &errs),
			errs.String())
		return out.String()
	}
	plain := help("--help")
	for _, name := range bench.Names() {
		require.Contains(t, plain, "\n  "+name)
	}
	require.Regexp(t, `--znodes int .*\(default 1000\)`, plain)
	require.Regexp(t, `--znodes int .*\(default 100000\)`, help("fill", "--help"))
	require.Regexp(t, `--connections int .*\(default 100\)`, help("rk-create", "--help"))
}

func TestBenchParamsAreTheLoadsUnlessGiven(t *testing.T) {
	cmd := newBenchCommand()
	require.NoError(t,
		cmd.ParseFlags([]string{"--size", "0-9", "--source", "127.0.0.1,127.0.0.2", "--duration", "3s"}))
	l := must.Do(bench.Find("rk-mixed"))(t)
	p := must.Do(benchParams(cmd, l))(t)
	require.Equal(t, bench.Size{Min: 0, Max: 9}, p.Size)
	require.Equal(t, []string{"127.0.0.1", "127.0.0.2"}, p.Sources)
	require.Equal(t, 3*time.Second, p.Duration)
	require.Equal(t, 100, p.Connections, "of the load")
	require.Equal(t, 1, p.Outstanding, "of the load")
}

func TestBenchWithoutServer(t *testing.T) {
	l := must.Listen(t)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitUnexpected,
		cli.Run(cli.Root(Commands()...), []string{"bench", "get", "--servers", addr}, &out, &errs))
	require.Contains(t, errs.String(), "connection refused")
}

// TestBenchAgainstAServer measures this program's own server, with both outputs.
func TestBenchAgainstAServer(t *testing.T) {
	server := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.serverPort=0")
	defer server.Stop(t, syscall.SIGTERM)
	addr := server.Addr
	var out, errs bytes.Buffer
	var args []string
	var report bench.Report
	for took := 100 * time.Millisecond; ; took *= 4 { // on a busy machine little happens in a moment
		args = []string{"bench", "mixed", "--servers", addr, "--duration", took.String(), "--warmup", "0s",
			"--connections", "2", "--output", "json"}
		out.Reset()
		require.Equal(t, cli.ExitOK, cli.Run(cli.Root(Commands()...), args, &out, &errs), errs.String())
		require.NoError(t, json.Unmarshal(out.Bytes(), &report))
		if report.Targets[0].Rounds[0][0].Operations > 0 || took > time.Minute {
			break
		}
	}
	row := report.Targets[0].Rounds[0][0]
	require.Positive(t, row.Operations)
	require.Empty(t, row.Errors)

	out.Reset()
	require.Equal(t, cli.ExitOK, cli.Run(cli.Root(Commands()...), append(args[:len(args)-1], "table"), &out, &errs),
		errs.String())
	require.Contains(t, out.String(), "\n  mixed")
}
