package system

import (
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

// Sync implements zapcore.Core.
func (traceCore) Sync() error { return nil }
