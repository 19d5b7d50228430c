package env

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// guard watches the free space of the disks. Below the watermark, clients' writes are refused with NotReadOnly, an
// error that every client knows. In an ensemble the leader decides about that: see room.go of package host. Reads
// and sessions go on: what is left is enough for the beginnings and ends of sessions. When there is space again,
// writes are accepted again without an operator.
type guard struct {
	srv     *Env
	dirs    []string
	low     atomic.Bool
	written int64 // bytes of log since the log last called Check; owned by the journal goroutine
}

// guardInterval is how often the free space is checked.
const guardInterval = 500 * time.Millisecond

func NewGuard(s *Env) *guard {
	g := &guard{srv: s, dirs: s.Dirs()}
	g.Check()
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_server_disk_full",
		Help: "1 while a data directory has less free space than the watermark: make room.",
	}, func() float64 {
		if g.Full() {
			return 1
		}
		return 0
	}))
	return g
}

// Full reports whether writes must be refused.
func (g *guard) Full() bool { return g.low.Load() }

// Wrote notes n bytes of log. A disk may fill up faster than guardInterval passes, so the free space is also
// checked after every sixteenth of the watermark.
func (g *guard) Wrote(n int) {
	g.written += int64(n)
	if limit := g.srv.Config.DiskWatermark.Bytes / 16; limit > 0 && g.written > limit {
		g.written = 0
		g.Check()
	}
}

// MarkFull refuses writes until the next check finds room.
func (g *guard) MarkFull() { g.low.Store(true) }

// Stuck reports whether the journal waits for room.
func (g *guard) Stuck() bool {
	since := g.srv.LogStalled.Load()
	return since != 0 && g.Full() && g.srv.Clock.Now()-since > int64(RetryAfter)
}

func (g *guard) Run() {
	for !g.srv.Stopping.WaitFor(guardInterval) {
		g.Check()
	}
}

// Check reads the free space and updates the state of the guard.
func (g *guard) Check() {
	low := false
	for _, dir := range g.dirs {
		free, total, err := g.srv.FS.Free(dir)
		if err != nil {
			g.srv.Log.Warn("asking for free disk space", zap.String("file", dir), zap.Error(err))
			continue
		}
		limit := max(g.srv.Config.DiskWatermark.Bytes, int64(float64(total)*g.srv.Config.DiskWatermark.Percent/100))
		if int64(free) < limit {
			low = true
		}
	}
	if since := g.srv.LogStalled.Load(); since != 0 && g.Full() {
		low = true // the journal is still waiting for room
	}
	if was := g.low.Swap(low); was != low {
		if low {
			g.srv.Log.Error(
				"disk is almost full: refusing writes, unless enough other servers of an ensemble have room; "+
					"free space on the data directories", zap.Strings("dirs", g.dirs))
		} else {
			g.srv.Log.Info("disk has room again")
		}
	}
}

// RetryAfter is how long the journal waits before it retries a write to a full disk.
const RetryAfter = 100 * time.Millisecond
