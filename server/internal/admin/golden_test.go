package admin

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.json anew; commit only what you understand")

// ask sends one request to a handler.
func ask(t *testing.T, h http.Handler, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body := must.ReadAll(t, w.Result().Body)
	return w.Result(), string(body)
}

// golden are the requests whose answers are in testdata, by the file's name. The shapes are those of operations 3.4.
var golden = map[string]string{
	"configuration": "configuration", "connection_stat_reset": "connection_stat_reset", "connections": "connections",
	"dirs": "dirs", "dump": "dump", "environment": "environment", "get_trace_mask": "get_trace_mask", "hash": "hash",
	"initial_configuration": "initial_configuration", "is_read_only": "is_read_only", "last_snapshot": "last_snapshot",
	"leader": "leader", "monitor": "monitor", "observer_connection_stat_reset": "observer_connection_stat_reset",
	"observers": "observers", "ruok": "ruok", "server_stats": "server_stats",
	"set_trace_mask": "set_trace_mask?traceMask=7&traceMask=8", "set_trace_mask_missing": "set_trace_mask",
	"set_trace_mask_bad": "set_trace_mask?traceMask=x<y", "stat_reset": "stat_reset", "stats": "stats",
	"system_properties": "system_properties", "voting_view": "voting_view", "watch_summary": "watch_summary",
	"watches": "watches", "watches_by_path": "watches_by_path", "zabstate": "zabstate", "unknown": "no/such<command>",
	"slow": "slow?limit=1", "top": "top?by=bytes", "snapshot_not_streamed": "snapshot?streaming=false",
}

func TestAnswersAreGolden(t *testing.T) {
	for name, node := range map[string]func() *fakeNode{
		"standalone": func() *fakeNode { return &fakeNode{} }, "member": member,
	} {
		for file, request := range golden {
			t.Run(name+"/"+file, func(t *testing.T) {
				s := New(Options{Node: node(), SnapshotEnabled: true})
				resp, body := ask(t, s, "GET", "/commands/"+request, "Authorization", "ip")
				require.Equal(t, http.StatusOK, resp.StatusCode)
				require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
				require.True(t, json.Valid([]byte(body)), body)
				path := filepath.Join("testdata", name, file+".json")
				if *rewrite {
					require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
					require.NoError(t, os.WriteFile(path, []byte(body+"\n"), 0o644))
				}
				require.Equal(t, string(must.ReadFile(t, path)), body+"\n")
			})
		}
	}
}

// Every command has a golden answer, but for the one that is never offered, and every file belongs to a request.
func TestEveryCommandIsGolden(t *testing.T) {
	commands, names := table()
	for _, name := range names {
		switch {
		case commands[name].post:
		case name == "snapshot":
			require.Contains(t, golden, "snapshot_not_streamed")
		default:
			require.Contains(t, golden, name)
		}
	}
	for _, node := range []string{"standalone", "member"} {
		require.Len(t, must.Glob(t, filepath.Join("testdata", node, "*.json")), len(golden))
	}
}

func TestAliasesGiveTheAnswerOfThePrimaryName(t *testing.T) {
	s := New(Options{Node: &fakeNode{}, SnapshotEnabled: true})
	for alias, name := range map[string]string{
		"conf": "configuration", "config": "configuration", "crst": "connection_stat_reset", "cons": "connections",
		"env": "environment", "envi": "environment", "gtmk": "get_trace_mask", "icfg": "initial_configuration",
		"isro": "is_read_only", "lsnp": "last_snapshot", "lead": "leader", "mntr": "monitor",
		"orst": "observer_connection_stat_reset", "obsr": "observers", "srvr": "server_stats", "srst": "stat_reset",
		"stat": "stats", "sysp": "system_properties", "wchs": "watch_summary", "wchc": "watches",
		"wchp": "watches_by_path", "stmk": "set_trace_mask",
	} {
		_, want := ask(t, s, "GET", "/commands/"+name)
		_, got := ask(t, s, "GET", "/commands/"+alias)
		require.Equal(t, want, got, alias)
		require.Contains(t, got, `"command" : "`+name+`"`)
	}
}

func TestCommandsThatChangeSomethingDoIt(t *testing.T) {
	node := &fakeNode{}
	s := New(Options{Node: node})
	for _, name := range []string{"srst", "crst", "orst", "stmk?traceMask=-4"} {
		ask(t, s, "GET", "/commands/"+name)
	}
	require.Equal(t, []string{"stats", "connections", "observers"}, node.resets)
	require.EqualValues(t, -4, node.TraceMask())
}
