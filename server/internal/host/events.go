package host

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/quota"
)

// prepareEvents turns what happens while txns are prepared into the log.
type prepareEvents struct{ m *Host }

// QuotaExceeded implements prepare.Events.
func (e prepareEvents) QuotaExceeded(path []byte, hard bool) {
	if hard {
		e.m.Metrics.QuotaExceeded.Of(quota.Namespace(path)).Inc()
	}
	e.m.Log.Warn("quota exceeded", zap.ByteString("path", path), zap.Bool("refused", hard))
}

// SequenceExhausted implements prepare.Events.
func (e prepareEvents) SequenceExhausted(parent []byte) {
	e.m.Log.Error("sequence counter is at its limit: sequential creates fail under this znode from now on",
		zap.ByteString("path", parent))
}
