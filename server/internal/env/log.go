package env

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LinesPerSecond is how often one message may be written in a second.
const LinesPerSecond = 10

// BoundLog returns a logger that writes each message at most LinesPerSecond times a second, and counts the rest in leftOut. Whoever
// reaches a port can be the cause of a line, of a refused connection or a session that expires: no such line, also none
// that somebody adds later, may fill the disk. The numbers that lines stand for have metrics of their own. Messages are constant, so
// that a message is a place in the program. What is written at the level debug is not counted: who switches that on wants all of it.
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

// boundedCore is a core that asks another one what is to be written from the level info on.
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
