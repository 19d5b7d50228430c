package admin

import (
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/orders"
)

// snapshot writes a snapshot and sends it, unless streaming=false. The reason of a refusal is in the log only,
// as ZooKeeper's. Source: operations 3.5.
func snapshot(s *Server, r *http.Request) answer {
	switch {
	case !s.o.SnapshotEnabled:
		return s.refuse(http.StatusServiceUnavailable, "Snapshot command is disabled", r)
	case s.o.SnapshotLacksZxid:
		return s.refuse(http.StatusInternalServerError,
			"the command snapshot needs serializeLastProcessedZxid.enabled", r)
	case !s.o.Orders.Snapshots.Allow(s.o.Now()):
		s.o.Node.SnapshotRefused()
		return s.refuse(http.StatusTooManyRequests,
			"the command snapshot is asked too often: admin.rateLimiterIntervalInMS", r,
			zap.Duration("interval", s.o.Orders.Snapshots.Every))
	}
	snap, err := s.o.Node.Snapshot(r.Context())
	if err != nil {
		s.o.Log.Error("writing a snapshot for a client", zap.String("client_addr", r.RemoteAddr), zap.Error(err))
		return answer{status: http.StatusInternalServerError}
	}
	streaming, given := argument(r, "streaming")
	return answer{snapshot: snap, stream: !given || strings.EqualFold(streaming, "true")}
}

// announce writes the description of a snapshot into the headers, spelled as in ZooKeeper.
func announce(w http.ResponseWriter, snap *orders.Snapshot) {
	w.Header()[lastZxidHeader] = []string{"0x" + strconv.FormatUint(uint64(snap.Zxid), 16)}
	w.Header()["snapshot_size"] = []string{strconv.FormatInt(snap.Size, 10)}
}

func (s *Server) logRefusal(why string, r *http.Request, facts ...zap.Field) {
	s.o.Log.Warn(why, append(facts, zap.String("client_addr", r.RemoteAddr))...)
}

// refuse logs why a client is refused, and answers with the status alone.
func (s *Server) refuse(status int, why string, r *http.Request, facts ...zap.Field) answer {
	s.logRefusal(why, r, facts...)
	return answer{status: status}
}

// lastZxidHeader is ZooKeeper's name of the header with a snapshot's zxid, sent in just this form:
// net/http would send Last_zxid.
var lastZxidHeader = "last_zxid"
