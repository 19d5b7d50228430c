package admin

import (
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// snapshot writes a snapshot and sends it, unless streaming=false. The reason of a refusal is in the log only,
// as ZooKeeper's. Source: operations section 3.5.
func snapshot(s *Server, r *http.Request) answer {
	switch {
	case !s.o.SnapshotEnabled:
		s.o.Log.Warn("Snapshot command is disabled", zap.String("client_addr", r.RemoteAddr))
		return answer{status: http.StatusServiceUnavailable}
	case s.o.SnapshotLacksZxid:
		s.o.Log.Warn("the command snapshot needs serializeLastProcessedZxid.enabled", zap.String("client_addr", r.RemoteAddr))
		return answer{status: http.StatusInternalServerError}
	case !s.snapshots.allow(s.o.Now()):
		s.o.Node.SnapshotRefused()
		s.o.Log.Warn("the command snapshot is asked too often: admin.rateLimiterIntervalInMS",
			zap.String("client_addr", r.RemoteAddr), zap.Duration("interval", s.snapshots.every))
		return answer{status: http.StatusTooManyRequests}
	}
	snap, err := s.o.Node.Snapshot(r.Context())
	if err != nil {
		s.o.Log.Error("writing a snapshot for a client", zap.String("client_addr", r.RemoteAddr), zap.Error(err))
		return answer{status: http.StatusInternalServerError}
	}
	streaming, given := argument(r, "streaming")
	return answer{snapshot: snap, stream: !given || strings.EqualFold(streaming, "true")}
}

// announce puts what a snapshot is into the headers, spelled as ZooKeeper does.
func announce(w http.ResponseWriter, snap *Snapshot) {
	w.Header()["last_zxid"] = []string{"0x" + strconv.FormatUint(uint64(snap.Zxid), 16)}
	w.Header()["snapshot_size"] = []string{strconv.FormatInt(snap.Size, 10)}
}

// restore answers as where admin.restore.enabled is false: this server does not replace its state while it
// serves. A snapshot is restored by starting a server on it.
func restore(s *Server, r *http.Request) answer {
	s.o.Log.Warn("Restore command is disabled: this server cannot restore while it runs", zap.String("client_addr", r.RemoteAddr))
	return answer{status: http.StatusServiceUnavailable}
}
