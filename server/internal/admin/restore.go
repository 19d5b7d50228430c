package admin

import (
	"errors"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/orders"
)

// restore replaces the server's state by the snapshot in the body of the request. The reason of a refusal is in
// the log only, as ZooKeeper's. Source: operations 3.5.
func restore(s *Server, w http.ResponseWriter, r *http.Request) answer {
	switch {
	case !s.o.RestoreEnabled:
		return s.refuse(http.StatusServiceUnavailable, "Restore command is disabled", r)
	case s.o.SnapshotLacksZxid:
		return s.refuse(http.StatusInternalServerError,
			"the command restore needs serializeLastProcessedZxid.enabled", r)
	case r.ContentLength == 0:
		return s.refuse(http.StatusBadRequest, "the command restore needs a snapshot in the body of the request", r)
	case !s.restores.Allow(s.o.Now()):
		s.o.Node.RestoreRefused()
		return s.refuse(http.StatusTooManyRequests,
			"the command restore is asked too often: admin.rateLimiterIntervalInMS", r,
			zap.Duration("interval", s.restores.Every))
	}
	zxid, err := s.o.Node.Restore(r.Context(),
		&patient{of: http.NewResponseController(w), r: r.Body, pieces: answerTimeout})
	switch {
	case errors.Is(err, orders.ErrCannotRestore):
		return s.refuse(http.StatusServiceUnavailable, "Restore command is refused", r, zap.Error(err))
	case err != nil:
		s.o.Log.Error("restoring a snapshot for a client", zap.String("client_addr", r.RemoteAddr), zap.Error(err))
		return answer{status: http.StatusInternalServerError}
	}
	return answer{fields: struct {
		Zxid int64 `json:"last_zxid"`
	}{zxid}}
}

// patient is the body of a request that may take long, but not for a single piece of it.
type patient struct {
	of     *http.ResponseController
	r      io.Reader
	pieces time.Duration
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	_ = p.of.SetReadDeadline(time.Now().Add(p.pieces)) // some connections have no deadline
	return p.r.Read(b)
}
