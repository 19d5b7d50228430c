package server

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestEachMessageIsBounded(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	var leftOut atomic.Int64
	now, wall := int64(0), wallClock{time.Unix(1_800_000_000, 0)}
	log := env.BoundLog(zap.New(core, zap.WithClock(&wall)), func() int64 { return now }, &leftOut)
	const lines = 500
	// A second lasts as long as ever after the wall clock was set back.
	for _, set := range []time.Duration{0, -time.Hour, -time.Hour, 5 * time.Hour} {
		now, wall.Time = now+int64(time.Second), wall.Add(time.Second+set)
		leftOut.Store(0)
		for range lines {
			log.Debug("every byte")
			log.Info("a client")
			log.With(zap.Int("n", 1)).Warn("a client") // another level is another line
			log.Error("another", zap.Error(errors.New("reason")))
		}
		all := logs.TakeAll()
		require.Len(t, all, lines+3*env.LinesPerSecond)
		counts := map[zapcore.Level]int{}
		for _, e := range all {
			counts[e.Level]++
			require.Equal(t, wall.Time, e.Time)
			if e.Level == zapcore.WarnLevel {
				require.Equal(t, int64(1), e.ContextMap()["n"])
			}
		}
		const bound = env.LinesPerSecond
		require.Equal(t, map[zapcore.Level]int{zapcore.DebugLevel: lines, zapcore.InfoLevel: bound,
			zapcore.WarnLevel: bound, zapcore.ErrorLevel: bound}, counts)
		require.EqualValues(t, 3*(lines-bound), leftOut.Load())
	}
}

// wallClock is a clock for a logger.
type wallClock struct{ time.Time }

func (c *wallClock) Now() time.Time                       { return c.Time }
func (c *wallClock) NewTicker(time.Duration) *time.Ticker { panic("a logger has no ticker") }

// TestStrangersDoNotFillTheLog does a few hundred times everything that a client can cause to be logged by reaching
// a port. No message is logged more often than its bound, and the metric counts the dropped lines.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	cfg := saslConfig()
	cfg.Admin.Enabled, cfg.Admin.Address, cfg.Admin.Port = true, "127.0.0.1", 0
	cfg.EnforceQuota = true
	s := serveSASL(t, cfg, zap.New(core))
	began := time.Now()
	const times = 100

	owner := dialWire(t, s, wire.Options{})
	for _, znode := range [][2]string{{"/full", ""}, {"/zookeeper/quota/full", ""},
		{"/zookeeper/quota/full/zookeeper_limits", "count=1,bytes=-1=;countHardLimit=1"},
		{"/zookeeper/quota/full/zookeeper_stats", "count=1,bytes=0"}} {
		require.NoError(t, must.Err(owner.Create(znode[0], []byte(znode[1]), proto.ModePersistent)), znode[0])
	}
	for range times {
		require.ErrorIs(t, must.Err(owner.Create("/full/n", nil, proto.ModePersistent)), proto.ErrQuotaExceeded)

		c := dialWire(t, s, wire.Options{})
		login(t, c, "bob", "bobsecret")
		c.Close()
		c = dialWire(t, s, wire.Options{})
		login(t, c, "bob", "wrong")
		c.Close()
		c = dialWire(t, s, wire.Options{TimeoutMs: 1}) // it will expire
		c.Close()
		c = dialWire(t, s, wire.Options{})
		c.MustDo(t, wire.Auth("digest", nil))
		c.Close()

		get := must.Do(http.Get("http://" + s.AdminAddr().String() + "/commands/snapshot"))(t)
		require.NoError(t, get.Body.Close())
	}
	http.DefaultClient.CloseIdleConnections()
	eventually(t, func() bool { return s.Metrics.StaleSessions.Total() >= times }, "sessions expire")

	counts := map[string]int{}
	for _, e := range logs.All() {
		counts[e.Level.String()+" "+e.Message]++
	}
	most := env.LinesPerSecond * (2 + int(time.Since(began)/time.Second))
	for message, n := range counts {
		require.LessOrEqual(t, n, most, message)
	}
	for _, message := range []string{"warn quota exceeded", "info client authenticated",
		"warn SASL authentication failed", "warn authentication refused",
		"warn command refused", "info expiring session"} {
		require.NotZero(t, counts[message], "%s: %v", message, counts)
	}
	require.Positive(t, gathered(t, s, "warren_server_log_lines_left_out_total"))
}
