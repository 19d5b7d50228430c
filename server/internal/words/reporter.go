package words

import (
	"net"
	"net/http"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Reporter answers operators: the four-letter words, the admin server and the exporter of metrics.
type Reporter struct {
	*env.Env
	disk  *durable.Disk
	front *serve.Front
	host  *host.Host
	// Role returns the present role of this member of an ensemble. ok is false on a standalone server and before
	// recovery.
	Role func() (r host.QuorumRole, ok bool)

	traceMask atomic.Int64  // set by the word stmk; it has no effect
	admin     *admin.Server // nil if there is none
	AdminAt   net.Addr      // where it listens, or nil
	MetricsLn net.Listener
	web       *http.Server // serves MetricsLn

	steered *orders.Live
	orders  *orders.Executor

	liveness *env.Liveness

	keys struct{ admin, exporter atomic.Pointer[keystore.Keys] } // nil without TLS
}

// New returns a Reporter. level is the one of the log; nil if operators may not change it.
func New(e *env.Env, d *durable.Disk, f *serve.Front, m *host.Host, level *zap.AtomicLevel) *Reporter {
	s := &Reporter{Env: e, disk: d, front: f, host: m, Role: m.RoleNow}
	s.liveness = env.NewLiveness(e, s.takeLocks)
	s.steered = orders.NewLive(e, d, f, m, level)
	s.orders = orders.New(orders.Options{Server: s.steered, Log: e.Log,
		SnapshotsOff: !e.Config.Admin.SnapshotEnabled, SnapshotInterval: e.Config.Admin.RateLimiterInterval})
	s.traceMask.Store(traceMaskDefault)
	e.Registry.MustRegister(&exporter{s})
	s.exportDifferences()
	s.exportRuntime()
	return s
}

// takeLocks returns when it has had each of the locks that requests of clients take.
func (s *Reporter) takeLocks() {
	s.host.Ended()
	s.Store.LockedZxid()
	s.front.ProbeLocks()
	s.Tracker.Locals()
}

// MetricsAddr is the address of the metrics exporter, or nil if there is none.
func (s *Reporter) MetricsAddr() net.Addr {
	if s.MetricsLn == nil {
		return nil
	}
	return s.MetricsLn.Addr()
}

// StopExporter closes the ports of the exporter.
func (s *Reporter) StopExporter() {
	if s.web != nil {
		_ = s.web.Close()
	}
}
