package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// A session ends by whatever server it is asked of, wherever its client is connected: its ephemerals go, its client is
// told that it has expired, and the other sessions go on.
func TestSessionsAreEnded(t *testing.T) {
	e := startSteered(t)
	leader, follower, _ := roles(t, e)
	other := 6 - leader - follower
	for _, c := range []struct{ client, asked int }{
		{leader, leader}, {follower, leader}, {leader, follower}, {follower, follower}, {follower, other},
	} {
		stays := connect(t, e, c.client, wire.Options{})
		stays.MustCreate(t, "/stays", nil, proto.ModeEphemeral)
		client := connect(t, e, c.client, wire.Options{})
		client.MustCreate(t, "/goes", nil, proto.ModeEphemeral)
		s := e.Server(c.asked)
		until(t, "the asked server to know the session and its znode", func() bool {
			status, told := steer(t, s, "end_session", fmt.Sprintf(`{"session": %q, "dry_run": true}`,
				client.Session().String()))
			return status == 200 && told["ephemerals"] == 1.0
		})
		require.NoError(t, client.Ping(), "a dry run changes nothing")

		order := fmt.Sprintf(`{"session": %q}`, client.Session().String())
		told := fieldsOf(t, s, "end_session", order)
		require.Equal(t, true, told["ended"], told)
		require.Equal(t, 1.0, told["ephemerals"])
		require.Equal(t, c.client == c.asked, told["client"] != "", told)
		require.NoError(t, client.WaitClosed())
		require.NoError(t, wire.Rejects(e.Addr(c.client), client.Resume()), "the session has expired")
		status, told := steer(t, s, "end_session", order)
		require.Equal(t, http.StatusConflict, status, told)
		require.Contains(t, told["error"], "there is no session with this id")

		require.NoError(t, stays.Sync("/"))
		stays.MustExists(t, "/stays", false)
		require.ErrorIs(t, must.Err(stays.Exists("/goes", false)), proto.ErrNoNode)
		require.NoError(t, stays.CloseSession())
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// The labels that the admin port shows in place of ids name sessions for the server that has shown them.
func TestSessionsAreEndedByLabel(t *testing.T) {
	e := startSteered(t)
	leader, follower, _ := roles(t, e)
	earlier := int64(0)
	for _, form := range []string{"%d", "0x%x"} {
		client := connect(t, e, follower, wire.Options{})
		must.Do(client.Create("/mine", nil, proto.ModeEphemeral))(t)
		label := int64(0)
		until(t, "the follower to list the client, and the one before no more", func() bool {
			list := fieldsFor(t, e.Server(follower), "cons", "")["connections"].([]any)
			if len(list) != 1 {
				return false
			}
			id, bound := list[0].(map[string]any)["session_id"].(json.Number)
			if !bound {
				return false
			}
			label = must.Do(id.Int64())(t)
			return label != earlier
		})
		earlier = label
		require.NotZero(t, label)
		require.NotEqual(t, int64(client.Session()), label)
		order := fmt.Sprintf(`{"session": "`+form+`"}`, label)
		status, _ := steer(t, e.Server(leader), "end_session", order)
		require.Equal(t, http.StatusConflict, status, "the label is another server's")
		told := fieldsOf(t, e.Server(follower), "end_session", order)
		require.Equal(t, true, told["ended"], told)
		require.NoError(t, client.WaitClosed())
	}
	client := connect(t, e, follower, wire.Options{})
	told := fieldsOf(t, e.Server(follower), "end_session",
		fmt.Sprintf(`{"session": %q, "dry_run": true}`, client.Session().String()))
	told = fieldsOf(t, e.Server(follower), "end_session", fmt.Sprintf(`{"session": %q}`, told["label"]))
	require.Equal(t, true, told["ended"])
	require.NoError(t, client.WaitClosed())
}

// A local session, of which only its own server knows, ends there.
func TestLocalSessionsAreEnded(t *testing.T) {
	e := startSteered(t, func(c *config.Config) { c.LocalSessionsEnabled = true })
	leader, follower, _ := roles(t, e)
	for _, at := range []int{leader, follower} {
		client := connect(t, e, at, wire.Options{})
		order := fmt.Sprintf(`{"session": %q}`, client.Session().String())
		require.Equal(t, true, fieldsOf(t, e.Server(at), "end_session", order)["ended"])
		require.NoError(t, client.WaitClosed())
		require.NoError(t, wire.Rejects(e.Addr(at), client.Resume()), "the session has expired")
	}
}

// The level of the log changes while the server runs, and goes back in time, and with the end of the server.
func TestLogLevel(t *testing.T) {
	level := zap.NewAtomicLevelAt(zapcore.WarnLevel)
	core, log := observer.New(level)
	cfg := testConfig(t)
	cfg.Admin.Enabled, cfg.Admin.Port = true, 0
	cfg.SuperDigest = auth.DigestIdentity("super:secret").ID
	s := server.New(cfg, server.Options{Log: zap.New(core), LogLevel: &level})
	require.NoError(t, s.Start())
	stopped := false
	defer func() {
		if !stopped {
			s.Stop()
		}
	}()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.Equal(t, "warn", fieldsOf(t, s, "log_level", ``)["level"])
	require.Equal(t, "warn", fieldsOf(t, s, "log_level", `{"level": "debug", "dry_run": true}`)["level"])
	require.Equal(t, zapcore.WarnLevel, level.Level())

	told := fieldsOf(t, s, "log_level", `{"level": "debug", "seconds": 1}`)
	require.Equal(t, "debug", told["level"])
	require.Equal(t, "warn", told["then"])
	until(t, "the level to go back", func() bool { return level.Level() == zapcore.WarnLevel })
	until(t, "the line about it", func() bool { return log.FilterMessageSnippet("the log level is back").Len() == 1 })

	fieldsOf(t, s, "log_level", `{"level": "error", "seconds": 3600}`)
	require.Equal(t, 2, log.FilterMessage("command of an operator").Len(), "it is written at any level")
	told = fieldsOf(t, s, "log_level", `{"level": "info", "seconds": 3600}`)
	require.Equal(t, "warn", told["then"], "the level before all limited ones returns")
	stopped = true
	s.Stop()
	require.Equal(t, zapcore.WarnLevel, level.Level())

	other, _ := withAdmin(t, nil)
	status, fields := steer(t, other, "log_level", `{"level": "debug"}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, fields["error"], "does not let the level of its log be changed")
}

// A snapshot is written when it is asked for, and not again without a txn since then.
func TestSnapshotIsTaken(t *testing.T) {
	s, c := withAdmin(t, func(c *config.Config) { c.Admin.RateLimiterInterval = 0 })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	c.MustCreate(t, "/a", nil, proto.ModePersistent)
	before := fieldsOf(t, s, "take_snapshot", `{"dry_run": true}`)
	require.Equal(t, false, before["taken"])
	told := fieldsOf(t, s, "take_snapshot", ``)
	require.Equal(t, true, told["taken"])
	require.Equal(t, 0.0, told["txns"])
	require.NotEqual(t, before["zxid"], told["zxid"])
	again := fieldsOf(t, s, "take_snapshot", ``)
	require.Equal(t, false, again["taken"], "there is nothing to write")
	require.Equal(t, told["zxid"], again["zxid"])
	c.MustCreate(t, "/b", nil, proto.ModePersistent)
	require.Equal(t, 1.0, fieldsOf(t, s, "take_snapshot", `{"dry_run": true}`)["txns"])
	require.Equal(t, true, fieldsOf(t, s, "take_snapshot", ``)["taken"])

	off, _ := withAdmin(t, func(c *config.Config) { c.Admin.SnapshotEnabled = false })
	status, fields := steer(t, off, "take_snapshot", ``)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, fields["error"], "admin.snapshot.enabled")
}
