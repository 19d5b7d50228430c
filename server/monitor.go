package server

import (
	"net"
	"net/http"
	"sync/atomic"

	"github.com/seed94657493/warren/server/admin"
)

// monitor is what operators ask a server for: the four-letter words, the admin server and the exporter of metrics.
type monitor struct {
	*env
	disk  *disk
	front *front
	host  *member
	// role tells what this member of an ensemble is now; ok is false for a standalone server and before recovery.
	role func() (r quorumRole, ok bool)

	traceMask atomic.Int64  // of stmk; it has no effect
	admin     *admin.Server // nil if there is none
	adminAddr net.Addr      // where it listens
	metricsLn net.Listener
	web       *http.Server // serves metricsLn
}

func newMonitor(e *env, d *disk, f *front, m *member) *monitor {
	s := &monitor{env: e, disk: d, front: f, host: m, role: m.roleNow}
	s.traceMask.Store(traceMaskDefault)
	e.registry.MustRegister(newExporter(s))
	s.exportDifferences()
	s.exportRuntime()
	return s
}

// metricsAddr is the address of the metrics exporter, or nil if there is none.
func (s *monitor) metricsAddr() net.Addr {
	if s.metricsLn == nil {
		return nil
	}
	return s.metricsLn.Addr()
}

// stopExporter closes the ports of the exporter.
func (s *monitor) stopExporter() {
	if s.web != nil {
		_ = s.web.Close()
	}
}
