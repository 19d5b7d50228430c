package env

import (
	"sync"
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
//
// now is a clock in ns that is never set: a second of the wall clock that is set back by an hour would last an hour.
func BoundLog(log *zap.Logger, now func() int64, leftOut *atomic.Int64) *zap.Logger {
	bound := &bound{now: now, leftOut: leftOut, lines: map[kind]int{}}
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return boundedCore{core, bound} }))
}

// bound counts the lines of the present second.
type bound struct {
	now     func() int64
	leftOut *atomic.Int64

	mu    sync.Mutex
	until int64 // the end of the second
	lines map[kind]int
}

// kind is what counts as the same line.
type kind struct {
	level   zapcore.Level
	message string
}

// admits counts a line, and reports whether it may be written.
func (b *bound) admits(e zapcore.Entry) bool {
	k := kind{e.Level, e.Message}
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); now >= b.until {
		clear(b.lines)
		b.until = now + int64(time.Second)
	}
	if b.lines[k] >= LinesPerSecond {
		b.leftOut.Add(1)
		return false
	}
	b.lines[k]++
	return true
}

// boundedCore is a core that drops entries from the level info on that are above the bound.
type boundedCore struct {
	zapcore.Core
	bound *bound
}

// With implements zapcore.Core.
func (c boundedCore) With(fields []zapcore.Field) zapcore.Core {
	return boundedCore{c.Core.With(fields), c.bound}
}

// Check implements zapcore.Core.
func (c boundedCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Level >= zapcore.InfoLevel && c.Enabled(e.Level) && !c.bound.admits(e) {
		return ce
	}
	return c.Core.Check(e, ce)
}
