package doctor

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/findings"

	"github.com/seed94657493/warren/wal/vfs"
)

// adminServer answers zabstate until the test ends.
func adminServer(t *testing.T, answer string) (port int) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/commands/zabstate" {
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(s.Close)
	_, text, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	port, err = strconv.Atoi(text)
	require.NoError(t, err)
	return port
}

// checks returns the findings of some checks.
func (f Findings) checks(names ...string) (some Findings) {
	for _, one := range f {
		for _, name := range names {
			if one.Check == name {
				some = append(some, one)
			}
		}
	}
	return some
}

func TestServerStaysOutside(t *testing.T) {
	idle := wordServer(t, map[string]string{"srvr": "This ZooKeeper instance is not currently serving requests\n"})
	_, port, err := net.SplitHostPort(idle)
	require.NoError(t, err)
	outside := `{"myid": 3, "client_port": ` + port + `, "secure_client_port": -1,
		"outside": true, "outside_leader": 2,
		"outside_reason": "ensemble 1 is not ensemble 2", "own_history": "mine", "their_history": "theirs",
		"strangers": [{"myid": 2, "reason": "ensemble 1 is not ensemble 2", "history": "theirs"}]}`
	check := func(answer string) Findings {
		port := adminServer(t, answer)
		e := Ensemble{Servers: []string{idle}, AdminPort: port, Timeout: 5 * time.Second, Now: time.Now}
		return e.Check(t.Context()).checks("outside", "other-history", "not-serving")
	}
	const what = "server 3 stays outside the ensemble that server 2 leads: ensemble 1 is not ensemble 2; " +
		"it has: mine; the leader has: theirs"
	require.Equal(t, Findings{{Critical, "outside", idle, what, findings.RemedyOutside}}, check(outside))

	var z map[string]any
	require.NoError(t, json.Unmarshal([]byte(outside), &z))
	z["outside"] = false
	waiting, err := json.Marshal(z)
	require.NoError(t, err)
	found := check(string(waiting))
	require.Len(t, found, 2, "a server that looks for a leader among others")
	require.Equal(t, "server 3 says that server 2 has another history: ensemble 1 is not ensemble 2; "+
		"that server has: theirs", found[1].What)

	z["client_port"] = 1 // another server of this host
	other, err := json.Marshal(z)
	require.NoError(t, err)
	for _, answer := range []string{string(other), "{}", "<html>", ""} {
		found := check(answer)
		require.Len(t, found, 1, answer)
		require.Equal(t, "not-serving", found[0].Check)
	}
}

// What directories of ZooKeeper say is less: the epochs, and how far they go.
func TestCompareDirectoriesOfZooKeeper(t *testing.T) {
	root := t.TempDir()
	old, empty := filepath.Join(root, "old"), filepath.Join(root, "empty")
	require.NoError(t, os.CopyFS(old, os.DirFS(fixtures+"02-snapshot-and-log")))
	require.NoError(t, os.WriteFile(filepath.Join(old, "version-2", "acceptedEpoch"), []byte("7"), 0o644))
	require.NoError(t, os.MkdirAll(empty, 0o755))
	f := CompareDirectories(vfs.OS(), []string{old, empty}, "")
	require.Len(t, f, 2)
	require.Regexp(t, `^ensemble unknown, no epoch, .*; acceptedEpoch 7, currentEpoch 0; last txn 0x\w+ of 20\d\d-`,
		f[0].What)
	require.Regexp(t, `^ensemble unknown, no epoch, .*; acceptedEpoch 0, currentEpoch 0; no data$`, f[1].What)

	require.NoError(t, os.WriteFile(filepath.Join(empty, "version-2"), nil, 0o644))
	f = CompareDirectories(vfs.OS(), []string{empty}, "")
	require.Len(t, f, 1)
	require.Equal(t, Error, f[0].Severity)
	require.NotEmpty(t, f[0].Remedy)
}
