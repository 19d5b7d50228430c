package server

import "go.uber.org/zap"

// prepareEvents turns what happens while txns are prepared into the log.
type prepareEvents struct{ m *member }

// QuotaExceeded implements prepare.Events.
func (e prepareEvents) QuotaExceeded(path []byte, hard bool) {
	if hard {
		e.m.metrics.quotaExceeded.Of(namespace(path)).Inc()
	}
	e.m.log.Warn("quota exceeded", zap.ByteString("path", path), zap.Bool("refused", hard))
}

// SequenceExhausted implements prepare.Events.
func (e prepareEvents) SequenceExhausted(parent []byte) {
	e.m.log.Error("sequence counter is at its limit: sequential creates fail under this znode from now on",
		zap.ByteString("path", parent))
}
