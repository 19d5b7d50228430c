package env

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LinesPerSecond is how often one message may be logged in a second.
const LinesPerSecond = 10

// BoundLog returns a logger that writes each message at most LinesPerSecond times a second, and counts the dropped
// lines in leftOut. Any client that reaches a port can cause log lines, for example by a refused connection or an
// expired session. No such line may fill the disk, including lines that are added to the program later. Metrics
// count what such lines report. Messages are constant, so a message identifies a place in the program. Lines at the
// level debug are not bounded: an operator enables that level to see all of them.
func BoundLog(log *zap.Logger, leftOut *atomic.Int64) *zap.Logger {
	count := zapcore.SamplerHook(func(_ zapcore.Entry, d zapcore.SamplingDecision) {
		if d&zapcore.LogDropped != 0 {
			leftOut.Add(1)
		}
	})
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return boundedCore{core, zapcore.NewSamplerWithOptions(core, time.Second, LinesPerSecond, 0, count)}
	}))
}

// boundedCore is a core that passes entries from the level info on to bounded, which drops those above the limit.
type boundedCore struct {
	zapcore.Core
	bounded zapcore.Core
}

// With implements zapcore.Core.
func (c boundedCore) With(fields []zapcore.Field) zapcore.Core {
	return boundedCore{c.Core.With(fields), c.bounded.With(fields)}
}

// Check implements zapcore.Core.
func (c boundedCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Level < zapcore.InfoLevel {
		return c.Core.Check(e, ce)
	}
	return c.bounded.Check(e, ce)
}
