//go:build interop

package interop

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// operateEnsemble starts three voters and an observer and returns them by their role: the leader first, the observer
// last.
func operateEnsemble(t *testing.T, kind cluster.Kind) []*operated {
	t.Helper()
	var options []cluster.Options
	var all []*operated
	for i := range 4 {
		port := strconv.Itoa(cluster.FreePort(t))
		all = append(all, &operated{admin: net.JoinHostPort("127.0.0.1", port)})
		options = append(options, cluster.Options{Kind: kind, Observer: i == 3, Settings: map[string]string{
			"admin.enableServer": "true", "admin.serverAddress": "127.0.0.1", "admin.serverPort": port}})
	}
	nodes := cluster.Ensemble(t, options...)
	for i, n := range nodes {
		all[i].Node = n
		n.Launch()
	}
	for _, n := range nodes {
		n.WaitServing()
	}
	var leader, observer *operated
	var followers []*operated
	for _, o := range all {
		switch o.Mode() {
		case "leader":
			leader = o
		case "follower":
			followers = append(followers, o)
		case "observer":
			observer = o
		}
	}
	require.NotNil(t, leader)
	require.NotNil(t, observer)
	require.Len(t, followers, 2)
	return append(append([]*operated{leader}, followers...), observer)
}

// zxidLine is the line of srvr with the last txn that a server has applied.
var zxidLine = regexp.MustCompile(`(?m)^Zxid: 0x[0-9a-f]+$`)

// TestEnsembleSurface compares what a leader, a follower, an observer, and a server without a quorum say.
func TestEnsembleSurface(t *testing.T) {
	f := newFacts(t)
	for side, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
		all := operateEnsemble(t, kind)
		require.Eventually(t, func() bool {
			text := all[0].word(t, "mntr")
			return strings.Contains(text, "zk_synced_followers\t2\n") &&
				strings.Contains(text, "zk_synced_observers\t1\n")
		}, 20*time.Second, 50*time.Millisecond)
		c := wire.Open(t, all[1].Addr(), wire.Options{TimeoutMs: 30_000})
		for i := range 5 {
			c.MustCreate(t, fmt.Sprintf("/n%d", i), nil, proto.ModeEphemeral)
		}
		require.NoError(t, c.Sync("/"))
		at := zxidLine.FindString(all[1].word(t, "srvr"))
		require.NotEmpty(t, at)
		for _, o := range all {
			require.Eventually(t, func() bool { return zxidLine.FindString(o.word(t, "srvr")) == at }, 20*time.Second,
				10*time.Millisecond)
		}
		for role, o := range map[string]*operated{"leader": all[0], "follower": all[1], "observer": all[3]} {
			f.member(side, role+" ", o)
		}
		c.Close()
		for _, o := range all[1:] {
			o.Kill()
		}
		f.alone(side, all[0])
	}
	f.compare(ensembleDifferences)
}

// member asks a server that serves.
func (f *facts) member(side int, role string, o *operated) {
	for _, w := range strings.Fields("conf dirs dump envi gtmk isro ruok srvr wchs") {
		f.text(side, role+"word "+w, o.word(f.t, w))
	}
	f.monitor(side, role+"mntr",
		strings.ReplaceAll(strings.ReplaceAll("\n"+o.word(f.t, "mntr"), "\nzk_", "\n"), "\t", "="))
	for _, c := range strings.Fields("configuration dump is_read_only leader observers server_stats voting_view " +
		"watch_summary zabstate") {
		resp, body := o.get(f.t, "/commands/"+c)
		f.json(side, role+"command "+c, fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type")), body)
	}
}

// alone asks a server that has lost its quorum.
func (f *facts) alone(side int, o *operated) {
	require.Eventually(f.t, func() bool { return strings.Contains(o.word(f.t, "srvr"), "not currently serving") },
		time.Minute, 50*time.Millisecond)
	for _, w := range strings.Fields("conf cons crst dirs dump gtmk hash isro mntr ruok srst srvr " +
		"stat wchc wchp wchs") {
		f.exact(side, "alone: word "+w, o.word(f.t, w))
	}
	f.text(side, "alone: word envi", o.word(f.t, "envi"))
	for _, c := range strings.Fields("configuration connections dirs dump get_trace_mask hash is_read_only leader " +
		"observers ruok server_stats stats voting_view watches zabstate") {
		resp, body := o.get(f.t, "/commands/"+c)
		f.json(side, "alone: command "+c, fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type")), body)
	}
}
