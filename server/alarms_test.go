package server_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// loggedBy returns the lines with a message in the log of server id, down to the level that logs has.
func loggedBy(logs *observer.ObservedLogs, name, message string) []observer.LoggedEntry {
	return logs.FilterMessage(message).Filter(func(e observer.LoggedEntry) bool { return e.LoggerName == name }).All()
}

// A follower with a tree that differs from the leader's logs and counts it when the next txn shows it; the other
// servers do not.
func TestTreeThatDiffersIsTold(t *testing.T) {
	core, logs := observer.New(zapcore.ErrorLevel)
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Log: zap.New(core)})
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	leader, follower, _ := roles(t, e)
	c := connect(t, e, leader, wire.Options{})
	fill(t, c, "/before", 20)
	require.NoError(t, e.WaitEqual(within(t)))
	const alarm = "tree digest differs from the one in the txn: the data of this server has diverged"
	require.Empty(t, logs.FilterMessage(alarm).All())
	require.NoError(t, e.Server(follower).Stray("/stray"))
	c.MustCreate(t, "/after", nil, proto.ModePersistent)
	until(t, alarm, func() bool { return logs.FilterMessage(alarm).Len() > 0 })
	text := wire.MustFourLetter(t, e.Addr(follower), "mntr", time.Minute)
	require.Regexp(t, `zk_digest_mismatches_count\t[1-9]`, text)
	for _, e := range logs.All() { // as soon as it looks, it tells the finding, too
		if e.ContextMap()["check"] == "digest" {
			require.True(t, strings.HasPrefix(e.Message, "server "+strconv.Itoa(follower)+": "), e.Message)
			continue
		}
		require.Equal(t, alarm, e.Message, "nothing else is wrong")
		require.Equal(t, strconv.Itoa(follower), e.LoggerName, "nobody else says it")
	}
}

// A leader that dies while it sends its state does not stop the follower: the follower logs it, and learns from the
// next leader.
func TestInterruptedSnapshotIsTold(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Log: zap.New(core),
		Configure: func(_ int, c *config.Config) { c.ForceSnapshotSync = true }})
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	leader, follower, _ := roles(t, e)
	c := connect(t, e, leader, wire.Options{})
	const znodes = 16
	for range znodes {
		c.MustCreate(t, "/big", make([]byte, 900_000), proto.ModePersistentSequential)
	}
	e.Stop(follower)
	logs.TakeAll()
	require.NoError(t, e.Wipe(follower))
	e.Delay(leader, follower, 200*time.Millisecond) // of each MiB
	require.NoError(t, e.Start(follower))
	until(t, "a transfer", func() bool {
		return len(loggedBy(logs, strconv.Itoa(follower),
			"receiving a snapshot")) > 0
	})
	e.Kill(leader)
	until(t, "the follower's warning",
		func() bool { return logs.FilterMessage("cannot load the leader's snapshot").Len() > 0 })
	require.NoError(t, e.Start(leader))
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	require.NoError(t, e.WaitEqual(within(t)))
	require.Len(t, connect(t, e, follower, wire.Options{}).MustChildren(t, "/", false), znodes+1)
}

// A leader logs which followers it has lost.
func TestLostFollowerIsTold(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	e := embed.Start(t, embed.Options{TickTime: patient / 3, Servers: 3, Log: zap.New(core)})
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	leader, follower, _ := roles(t, e)
	lost := func() bool {
		for _, line := range loggedBy(logs, strconv.Itoa(leader)+".peers", "link ended") {
			if line.ContextMap()["peer_id"] == int64(follower) && line.ContextMap()["error"] != nil {
				return true
			}
		}
		return false
	}
	e.Kill(follower)
	until(t, "a line about a follower that was killed", lost)
	require.NoError(t, e.Start(follower))
	require.NoError(t, e.WaitServing(within(t), follower))
	logs.TakeAll()
	e.Isolate(follower)
	until(t, "a line about a follower that is cut off", lost)
}

// The server logs files that it cannot remove, and removes them as soon as it can.
func TestLogsThatCannotBePurgedAreTold(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	e := embed.Start(t, embed.Options{Servers: 1, Log: zap.New(core), Configure: func(_ int, c *config.Config) {
		c.SnapCount, c.Autopurge.PurgeInterval = 20, 20*time.Millisecond
	}})
	e.Disk(1).Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && strings.HasPrefix(filepath.Base(op.Name), "log.") {
			return errors.New("read-only file system")
		}
		return nil
	})
	c := connect(t, e, 1, wire.Options{})
	until(t, "a warning about logs", func() bool {
		fill(t, c, time.Now().Format("/n150405.000000000"), 50)
		return logs.FilterMessage("cannot purge logs").Len() > 1
	})
	require.Empty(t, logsPurged(logs))
	e.Disk(1).Hook(nil)
	until(t, "the oldest log is removed", func() bool {
		fill(t, c, time.Now().Format("/m150405.000000000"), 50)
		return slices.Contains(logsPurged(logs), "log.1")
	})
}

// logsPurged are the names of the log files that were removed.
func logsPurged(logs *observer.ObservedLogs) (names []string) {
	for _, line := range logs.FilterMessage("purged").All() {
		for _, name := range line.ContextMap()["logs"].([]any) {
			names = append(names, name.(string))
		}
	}
	return names
}
