package server

import "go.uber.org/zap"

// prepareEvents turns what happens while txns are prepared into the log.
type prepareEvents struct{ srv *Server }

// QuotaExceeded implements prepare.Events.
func (e prepareEvents) QuotaExceeded(path []byte, hard bool) {
	if hard {
		e.srv.metrics.quotaExceeded.Of(namespace(path)).Inc()
	}
	e.srv.log.Warn("quota exceeded", zap.ByteString("path", path), zap.Bool("refused", hard))
}

// SequenceExhausted implements prepare.Events.
func (e prepareEvents) SequenceExhausted(parent []byte) {
	e.srv.log.Error("sequence counter is at its limit: sequential creates fail under this znode from now on",
		zap.ByteString("path", parent))
}
