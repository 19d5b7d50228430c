package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// adminThatTells is an admin server whose command top says the same to each request with the right credentials.
func adminThatTells(t *testing.T, text string) (port string, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if auth := r.Header.Get("Authorization"); auth != "" && auth != "digest super:secret" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"command":"top","error":"Not authenticated"}`)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	port = must.Port(t, s.Listener.Addr().String())
	return port, asked
}

const someTop = `{"enabled":true,"by":"requests","window_s":60,"sampled_one_in":8,"total":{"requests":1000,"bytes":2048,"ms":3},
"operations":[{"key":"getData","requests":1000,"bytes":2048,"ms":3}],"paths":[{"key":"/a\u001b[2J","requests":900,"bytes":1024,"ms":1},
{"key":"/b","requests":100,"bytes":1024,"ms":2}],"sessions":null,"addresses":null,"command":"top","error":null}`

func TestTopOnce(t *testing.T) {
	port, _ := adminThatTells(t, someTop)
	out := runs(t, "top", "--once", "--admin-port", port, "127.0.0.1:1")
	require.Contains(t, out,
		"1000.0 requests/s, 2.0 KiB/s, 3.0 ms/s; by requests, about the last 60 s; one request of 8")
	require.Contains(t, out, "getData")
	require.Contains(t, out, `"/a\x1b[2J"`)
	require.NotContains(t, out, "\x1b", "a path must not steer the terminal")

	code, out, errs := run("top", "--once", "--output", "json", "--by", "bytes", "--admin-port", port,
		"127.0.0.1:1", "127.0.0.1:2")
	require.Zero(t, code, errs)
	var all topOfAll
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all.Servers, 2)
	sums := answers.TopSums{Requests: 2000, Bytes: 4096, Millis: 6}
	require.Equal(t, []answers.TopEntry{{Key: "getData", TopSums: sums}}, all.Top.Operations)
}

func TestTopSaysWhatIsWrong(t *testing.T) {
	for text, says := range map[string]string{
		"<html>": "is it Warren's",
		`{"command":"top","error":"Unknown command: top"}`:     "Unknown command: top",
		`{"enabled":false,"command":"top","error":null}`:       "warren.top.enabled is false",
		`{"command":"top","error":"not now` + "\x1b" + `[2J"}`: "nothing that can be read",
	} {
		port, _ := adminThatTells(t, text)
		code, out, _ := run("top", "--once", "--admin-port", port, "127.0.0.1:1")
		require.Equal(t, cli.ExitUnexpected, code)
		require.Contains(t, out, says)
	}
	code, out, _ := run("top", "--admin-port", "1", "127.0.0.1:1")
	require.Equal(t, cli.ExitUnexpected, code, "it does not look again at a server that is dead")
	require.Contains(t, out, "refused")
	port, _ := adminThatTells(t, someTop)
	code, out, _ = run("top", "--once", "--admin-port", port, "--auth-file", fileWith(t, "digest super:wrong\n"),
		"127.0.0.1:1")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "the user or the password of --auth-file is wrong")
	code, _, errs := run("top", "--once", "--admin-port", port, "--auth-file", fileWith(t, "digest super:secret\n"),
		"127.0.0.1:1")
	require.Zero(t, code, errs)
	for _, args := range [][]string{
		{"--by", "size"}, {"--limit", "0"}, {"--limit", "1001"}, {"--interval", "0s"}, {"--output", "xml"},
	} {
		code, _, _ := run(append([]string{"top", "--once"}, args...)...)
		require.Equal(t, cli.ExitUsage, code, args)
	}
}

// Servers of one machine have an admin port each, which they tell.
func TestTopFindsAdminPorts(t *testing.T) {
	args := []string{"top", "--once"}
	for range 2 {
		ln := must.Listen(t)
		port := ln.Addr().(*net.TCPAddr).Port
		require.NoError(t, ln.Close())
		args = append(args, startShellServer(t, func(c *config.Config) {
			c.Admin.Enabled, c.Admin.Address, c.Admin.Port, c.Admin.Top = true, "127.0.0.1", port, true
		}))
	}
	code, out, errs := run(append(args, "--output", "json")...)
	require.Zero(t, code, out+errs)
	var all topOfAll
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all.Servers, 2)
	for _, s := range all.Servers {
		require.Empty(t, s.Problem)
	}
}

// A key that is the first of all servers together is first, even if it is the first of none.
func TestTopAddsServers(t *testing.T) {
	o := topOptions{by: "requests", adminPorts: adminPorts{limit: 2}}
	entry := func(key string, requests float64) answers.TopEntry {
		return answers.TopEntry{Key: key, TopSums: answers.TopSums{Requests: requests}}
	}
	paths := func(some ...answers.TopEntry) answers.Top { return answers.Top{Paths: some} }
	all := o.sum([]answer[answers.Top]{
		{record: paths(entry("/a", 5), entry("/all", 4))},
		{record: paths(entry("/b", 5), entry("/all", 4))},
		{problem: "away", record: paths(entry("/c", 50))},
	})
	require.Equal(t, []answers.TopEntry{entry("/all", 8), entry("/a", 5)}, all.Top.Paths)
}

// top and status --watch look again until they are interrupted.
func TestRepeats(t *testing.T) {
	port, asked := adminThatTells(t, someTop)
	for _, args := range [][]string{
		{"top", "--interval", "1ms", "--admin-port", port, "127.0.0.1:1"},
		{"status", "--watch", "--admin-port", port, "--timeout", "1s",
			cmdline.Answers(t, "Zxid: 0x5\nMode: leader\n")},
	} {
		ctx, stop := context.WithCancel(context.Background())
		cmd := cli.Root(Commands()...)
		cmd.SetArgs(args)
		out := new(cluster.Output)
		cmd.SetOut(out)
		ended := make(chan error, 1)
		go func() { ended <- cmd.ExecuteContext(ctx) }()
		if args[0] == "top" {
			require.Eventually(t, func() bool { return strings.Count(out.String(), "getData") > 1 }, time.Minute,
				time.Millisecond)
			require.Greater(t, asked.Load(), int64(1))
		}
		stop()
		require.NoError(t, <-ended)
	}
}

// fileWith returns the name of a file with this text.
func fileWith(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}
