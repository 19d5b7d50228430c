package system

import (
	"time"

	"go.uber.org/zap/zapcore"
)

// traceCore puts what a server logs into the trace.
type traceCore struct {
	s *scheduler
	p *process
}

// Enabled implements zapcore.Core.
func (traceCore) Enabled(zapcore.Level) bool { return true }

// With implements zapcore.Core.
func (c traceCore) With([]zapcore.Field) zapcore.Core { return c }

// Check implements zapcore.Core.
func (c traceCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, c)
}

// Write implements zapcore.Core.
func (c traceCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	c.s.tracef("%s: %s %v", c.p.name, e.Message, enc.Fields)
	return nil
}

// clock is the clock of a process for its log: a server leaves lines out that come too often.
type clock struct{ *process }

var _ zapcore.Clock = clock{}

// NewTicker implements zapcore.Clock. Nothing asks for it.
func (clock) NewTicker(time.Duration) *time.Ticker { panic("system: a log has no ticker") }

// Sync implements zapcore.Core.
func (traceCore) Sync() error { return nil }
