package server

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// guard watches the free space of the disks. Below the watermark, clients' writes are refused (in an ensemble: see room.go)
// with NotReadOnly, which every client knows, while reads and sessions go on: the ends and beginnings of sessions still fit into
// what is left. When space returns, writes are accepted again without anybody's help.
type guard struct {
	srv     *env
	dirs    []string
	low     atomic.Bool
	written int64 // by the log since it last asked for a look; owned by the journal goroutine
}

// guardInterval is how often the free space is looked at.
const guardInterval = 500 * time.Millisecond

func newGuard(s *env) *guard {
	g := &guard{srv: s, dirs: s.dirs()}
	g.check()
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_server_disk_full", Help: "1 while a data directory has less free space than the watermark: make room.",
	}, func() float64 {
		if g.full() {
			return 1
		}
		return 0
	}))
	return g
}

// full reports whether writes are to be refused.
func (g *guard) full() bool { return g.low.Load() }

// wrote notes n bytes of log. A disk may fill up faster than the guard looks at it, so it looks
// again after every sixteenth of the watermark.
func (g *guard) wrote(n int) {
	g.written += int64(n)
	if limit := g.srv.cfg.DiskWatermark.Bytes / 16; limit > 0 && g.written > limit {
		g.written = 0
		g.check()
	}
}

// markFull refuses writes from now until the next look at the disk finds room.
func (g *guard) markFull() { g.low.Store(true) }

// stuck reports whether the log waits for room.
func (g *guard) stuck() bool {
	since := g.srv.logStalled.Load()
	return since != 0 && g.full() && g.srv.clock.now()-since > int64(retryAfter)
}

func (g *guard) run() {
	for !g.srv.stopping.WaitFor(guardInterval) {
		g.check()
	}
}

// check looks at the free space and changes the state accordingly.
func (g *guard) check() {
	low := false
	for _, dir := range g.dirs {
		free, total, err := g.srv.fs.Free(dir)
		if err != nil {
			g.srv.log.Warn("asking for free disk space", zap.String("file", dir), zap.Error(err))
			continue
		}
		limit := max(g.srv.cfg.DiskWatermark.Bytes, int64(float64(total)*g.srv.cfg.DiskWatermark.Percent/100))
		if int64(free) < limit {
			low = true
		}
	}
	if since := g.srv.logStalled.Load(); since != 0 && g.full() {
		low = true // the journal is still waiting for room
	}
	if was := g.low.Swap(low); was != low {
		if low {
			g.srv.log.Error("disk is almost full: refusing writes, unless enough other servers of an ensemble have room; free space on the data directories",
				zap.Strings("dirs", g.dirs))
		} else {
			g.srv.log.Info("disk has room again")
		}
	}
}
