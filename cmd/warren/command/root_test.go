package command

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

// run runs one command line and returns its exit code and what it printed.
func run(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Main(append([]string{}, args...), &out, &err) // of nil, cobra would make the arguments of the test
	return code, out.String(), err.String()
}

func TestUsage(t *testing.T) {
	code, out, errs := run()
	require.Equal(t, 0, code)
	require.Contains(t, out, "Usage:")
	require.Contains(t, out, "server")
	require.Empty(t, errs)

	code, out, _ = run("server", "--help")
	require.Equal(t, 0, code)
	require.Contains(t, out, "CONFIG | CLIENT_PORT DATA_DIR")

	for name, args := range map[string][]string{
		`unknown command "sever"`:                  {"sever"},
		"unknown flag: --foo":                      {"server", "--foo"},
		"5 arguments are too many":                 {"server", "1", "2", "3", "4", "5"},
		"--config and arguments exclude":           {"server", "--config", "a", "b"},
		`unexpected argument "x"`:                  {"version", "x"},
		`log level "loud" is not`:                  {"server", "--log-level", "loud"},
		`log level "fatal" is not`:                 {"server", "--log-level", "fatal"},
		`log format "xml" is not`:                  {"server", "--log-format", "xml"},
		`invalid argument "70000" for "--client-`:  {"server", "--client-port", "70000"},
		`invalid argument "-1" for "--client-port`: {"server", "--client-port", "-1"},
	} {
		code, out, errs := run(args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.Contains(t, errs, name)
		require.Contains(t, errs, "usage: warren")
	}
}

func TestExitCodes(t *testing.T) {
	_, _, invalid := config.Load("", []string{"tickTime=x"}, nil)
	for want, err := range map[int]error{
		0:  nil,
		1:  errors.New("x"),
		2:  fmt.Errorf("x: %w", invalid),
		3:  fmt.Errorf("x: %w", &server.DataError{Dir: "d", Err: errors.New("x")}),
		10: fmt.Errorf("%w: x", server.ErrDurability),
		14: &server.BindError{Addr: "a", Err: errors.New("x")},
	} {
		require.Equal(t, want, exitCode(err), "%v", err)
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := run("version")
	require.Equal(t, 0, code)
	require.Regexp(t, `^warren \S+\ncommit \S+\nbuilt \S+\ngo go1\.\S+ \w+/\w+\nzookeeper \d+\.\d+\.\d+\n$`, out)
}

// What parsers of ZooKeeper's version line look for.
func TestZooKeeperVersion(t *testing.T) {
	shape := regexp.MustCompile(`^\d+\.\d+\.\d+-[0-9a-f]{40}, built on \d\d/\d\d/\d{4} \d\d:\d\d UTC$`)
	require.Regexp(t, shape, build{}.zookeeperVersion())
	b := build{commit: strings.Repeat("ab", 20), date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}
	require.Equal(t, "3.9.4-"+b.commit+", built on 01/02/2026 02:04 UTC", b.zookeeperVersion())
	require.Regexp(t, shape, thisBuild().zookeeperVersion())
}
