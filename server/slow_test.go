package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// slowest waits until a server has a slow operation on a path, and returns it. The times of its stages are its time.
func slowest(t *testing.T, s *server.Server, path string) (found facts.SlowOperation) {
	t.Helper()
	require.Eventually(t, func() bool {
		var all facts.Slow
		resp, body := fetch(t, s, "/commands/slow", superUser)
		if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &all) != nil {
			return false
		}
		for _, o := range all.Operations {
			if o.Path == path {
				found = o
				return true
			}
		}
		return false
	}, 10*time.Second, 10*time.Millisecond, "no slow operation on %s", path)
	g := found.Stages
	sum := g.Queue + g.Prepare + g.Forward + g.Sync + g.Quorum + g.Apply + g.Socket
	require.InDelta(t, found.Millis, sum, 0.01, "stages are rounded to a microsecond each")
	return found
}

// slowEnsemble starts an ensemble whose slow operations are kept from 100 ms on.
func slowEnsemble(t *testing.T, servers int) (*embed.Ensemble, *observer.ObservedLogs) {
	core, lines := observer.New(zapcore.WarnLevel)
	e := embed.Start(t, embed.Options{Servers: servers, TickTime: patient, Log: zap.New(core),
		Configure: func(_ int, cfg *config.Config) {
			cfg.Trace.Slow = 100 * time.Millisecond
			cfg.Admin.Enabled, cfg.Admin.Address, cfg.Admin.Port = true, "127.0.0.1", 0
			cfg.SuperDigest = auth.DigestIdentity("super:secret").ID
		}})
	return e, lines
}

// hold makes the syncs of a disk take long.
func hold(disk *vfs.Mem, d time.Duration) {
	disk.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			time.Sleep(d)
		}
		return nil
	})
}

// A write that waits for the log of its server names that stage: in the log, in the answer of slow, and in a counter.
// The time that the client measures is the time of the stages, but for the way between the two.
func TestSlowDiskIsNamed(t *testing.T) {
	e, lines := slowEnsemble(t, 1)
	s := e.Server(1)
	c := dial(t, e.Addr(1), wire.Options{})
	create(t, c, "/fast")
	hold(e.Disk(1), 300*time.Millisecond)
	began := time.Now()
	create(t, c, "/slow-disk")
	measured := time.Since(began)
	e.Disk(1).Hook(nil)

	o := slowest(t, s, "/slow-disk")
	require.Equal(t, "sync", o.Slowest)
	require.GreaterOrEqual(t, o.Stages.Sync, 300.0)
	require.InDelta(t, millisOf(measured), o.Millis, 100, "the client sees the last byte when the server has sent it")
	require.NotContains(t, o.Session, c.Session().String(), "an id opens the session")
	require.Eventually(t, func() bool { return lines.FilterMessage("an operation was slow").Len() > 0 },
		5*time.Second, time.Millisecond)
	line := lines.FilterMessage("an operation was slow").All()[0].ContextMap()
	require.Equal(t, "/slow-disk", line["path"])
	require.Equal(t, "sync", line["slowest"])
	require.Equal(t, o.Session, line["session"])
	_, body := fetch(t, s, "/metrics", "")
	require.Contains(t, string(body), `warren_server_slow_operations_total{stage="sync"} 1`)
	require.Contains(t, string(body), `warren_server_stage_seconds_count{stage="sync"}`)
}

// A write whose acknowledgements are late names the quorum: at the leader, and at a follower whose own log is fast.
func TestCutQuorumIsNamed(t *testing.T) {
	e, _ := slowEnsemble(t, 3)
	leader := leaderOf(t, e)
	c := dial(t, e.Addr(leader), wire.Options{})
	f := dial(t, e.Addr(leader%3+1), wire.Options{})
	create(t, c, "/a", "/b")
	for _, id := range e.IDs() {
		if id != leader {
			e.OneWay(id, leader)
		}
	}
	time.AfterFunc(300*time.Millisecond, e.Heal)
	create(t, c, "/late")
	o := slowest(t, e.Server(leader), "/late")
	require.Equal(t, "quorum", o.Slowest)
	require.Greater(t, o.Stages.Quorum, 150.0)

	// The request of a follower's client is in time, and the COMMIT is late, because the disks of the others are slow.
	for _, id := range e.IDs() {
		if id != leader%3+1 {
			hold(e.Disk(id), 300*time.Millisecond)
		}
	}
	create(t, f, "/late-commit")
	o = slowest(t, e.Server(leader%3+1), "/late-commit")
	require.Equal(t, "quorum", o.Slowest)
	require.Zero(t, o.Stages.Prepare)
	for _, id := range e.IDs() {
		e.Disk(id).Hook(nil)
	}
}

// A request that comes late to the leader names stage forward.
func TestSlowForwardIsNamed(t *testing.T) {
	e, _ := slowEnsemble(t, 3)
	leader := leaderOf(t, e)
	follower := leader%3 + 1
	c := dial(t, e.Addr(follower), wire.Options{})
	create(t, c, "/a")
	e.Delay(follower, leader, 300*time.Millisecond)
	create(t, c, "/b")
	e.Heal()
	o := slowest(t, e.Server(follower), "/b")
	require.Equal(t, "forward", o.Slowest)
	require.GreaterOrEqual(t, o.Stages.Forward, 300.0)
}

// A read that waits behind a slow write waits in the queue. A client that does not take its replies makes the stage
// socket long.
func TestSlowReadsAreNamed(t *testing.T) {
	e, _ := slowEnsemble(t, 1)
	c := dial(t, e.Addr(1), wire.Options{})
	create(t, c, "/read", "/write")
	hold(e.Disk(1), 300*time.Millisecond)
	calls := []*wire.Call{c.Send(wire.SetData("/write", nil, -1)), c.Send(wire.GetData("/read", false))}
	for _, call := range calls {
		require.NoError(t, call.Wait())
	}
	e.Disk(1).Hook(nil)
	o := slowest(t, e.Server(1), "/read")
	require.Equal(t, "queue", o.Slowest)
	require.Equal(t, "getData", o.Operation)
}

// Without a threshold nothing is kept. What may be secret needs the permissions for a snapshot.
func TestSlowIsSwitchedOffAndHidden(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Trace.Slow = -1 })
	create(t, c, "/a")
	var all facts.Slow
	_, body := fetch(t, s, "/commands/slow", superUser)
	require.NoError(t, json.Unmarshal(body, &all))
	require.Contains(t, string(body), `"threshold_ms" : 0,`)
	require.Empty(t, all.Operations)

	s, c = withAdmin(t, func(cfg *config.Config) { cfg.Trace.Slow = time.Nanosecond })
	create(t, c, "/secret")
	require.Equal(t, "create", slowest(t, s, "/secret").Operation)
	for _, page := range []string{"/commands/slow", "/api/v1/slow"} {
		_, body := fetch(t, s, page, "")
		require.Contains(t, string(body), "create")
		require.NotContains(t, string(body), "secret")
		require.NotContains(t, string(body), "s-", "no session")
		_, body = fetch(t, s, page, superUser)
		require.Contains(t, string(body), "/secret")
	}
}

func millisOf(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
