package env

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// guard watches the free space of the disks. Below the watermark, clients' writes are refused with NotReadOnly, an
// error that every client knows. In an ensemble the leader decides about that: see package succession. Reads
// and sessions go on: what is left is enough for the beginnings and ends of sessions. When there is space again,
// writes are accepted again without an operator.
type guard struct {
	srv     *Env
	dirs    []string
	low     atomic.Bool
	written int64 // bytes of log since the log last called Check; owned by the journal goroutine
	room    struct {
		sync.Mutex
		disks []disk // in the order of dirs
	}
}

// disk is what is known of the room in a directory.
type disk struct {
	Disk
	forecast forecast
}

// Disk is the room of one of the directories with data.
type Disk struct {
	Dir    string
	Name   string  // "data", even if the log is there, or "log"
	Free   int64   // bytes
	FullIn float64 // seconds until the watermark at the growth of the last hour; noForecast if it is not foreseen
}

// guardInterval is how often the free space is checked.
const guardInterval = 500 * time.Millisecond

func NewGuard(s *Env) *guard {
	g := &guard{srv: s, dirs: s.Dirs()}
	g.room.disks = make([]disk, len(g.dirs))
	for i, name := range []string{"data", "log"}[:len(g.dirs)] {
		g.room.disks[i].Disk = Disk{Dir: g.dirs[i], Name: name, FullIn: noForecast}
	}
	g.Check()
	for i := range g.dirs {
		s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "warren_server_disk_free_bytes", Help: "Free space of a directory with data.",
			ConstLabels: prometheus.Labels{"disk": g.room.disks[i].Name},
		}, func() float64 { return float64(g.Disks()[i].Free) }))
	}
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_server_disk_full_in_seconds",
		Help: "Time until a directory with data has less free space than the watermark, at the growth of the last " +
			"hour; -1 if that is not foreseen.",
	}, func() float64 { return g.FullIn() }))
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
	for i, dir := range g.dirs {
		free, total, err := g.srv.FS.Free(dir)
		if err != nil {
			g.srv.Log.Warn("cannot read the free space of a data directory: it counts as having room",
				zap.String("file", dir), zap.Error(err))
			continue
		}
		limit := max(g.srv.Config.DiskWatermark.Bytes, int64(float64(total)*g.srv.Config.DiskWatermark.Percent/100))
		if int64(free) < limit {
			low = true
		}
		g.note(i, int64(free), limit)
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

// note keeps what is known of the room of a disk.
func (g *guard) note(i int, free, limit int64) {
	g.room.Lock()
	defer g.room.Unlock()
	d := &g.room.disks[i]
	d.forecast.add(g.srv.Clock.Now(), free)
	d.Free, d.FullIn = free, d.forecast.seconds(free, limit)
}

// Disks returns what is known of the room of each directory with data.
func (g *guard) Disks() (all []Disk) {
	g.room.Lock()
	defer g.room.Unlock()
	for i := range g.room.disks {
		all = append(all, g.room.disks[i].Disk)
	}
	return all
}

// FullIn returns the seconds until the first of the disks has no room; noForecast if that is not foreseen.
func (g *guard) FullIn() float64 {
	first := float64(noForecast)
	for _, d := range g.Disks() {
		if d.FullIn >= 0 && (first < 0 || d.FullIn < first) {
			first = d.FullIn
		}
	}
	return first
}

// RetryAfter is how long the journal waits before it retries a write to a full disk.
const RetryAfter = 100 * time.Millisecond
