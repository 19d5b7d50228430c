package system

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/wal"
)

// node is one server of the ensemble, with what outlives its processes.
type node struct {
	w      *world
	id     int
	cfg    *config.Config
	disk   *disk
	p      *process // nil while it is down
	peers  *host
	lives  int
	began  time.Time      // the first life, by the wall clock
	srv    *server.Server // set when Start is called
	up     bool           // Start has returned
	last   proto.Zxid     // that it has applied, in this life
	stops  bool           // it was told to stop
	lost   bool           // its disk, and it has not served since
	served bool           // it has served at some time
	// lostIDs is up to when, by the wall clock, ids of sessions may have been given out by lives whose meta.db is
	// lost.
	lostIDs time.Time
	earlier copied // that it may get back
}

// start begins a process on what the disk holds.
func (n *node) start() {
	n.lives++
	if n.disk.spoilt == "" {
		n.w.harvest(n)
		n.keep()
	}
	n.w.faults.past = append(n.w.faults.past, incident{restarted, n.id, n.w.s.now, n.w.s.now})
	n.p = n.w.s.newProcess(fmt.Sprintf("s%d", n.id))
	n.p.drift, n.p.wall = n.w.drift(), n.w.s.between(-n.w.wallMax, n.w.wallMax)
	// The clock of some machines begins at the same time whenever they are switched on.
	if n.lives == 1 {
		n.began = n.p.Now()
	} else if n.w.s.chance(30) {
		n.p.wall += n.began.Sub(n.p.Now())
	}
	// A server that has lost its meta.db, and whose clock was set back, may give a session the id of another that has
	// ended.
	if behind := n.lostIDs.Sub(n.p.Now()); behind >= 0 && sessionTime(n.disk.meta).Before(n.lostIDs) {
		n.p.wall += behind + time.Millisecond
	}
	n.peers = n.w.net.plug(n.id, n.p)
	n.disk.mount(n)
	n.up, n.stops, n.last, n.disk.hurt = false, false, 0, n.disk.bad || n.disk.full
	p := n.p
	n.srv = server.New(n.cfg, server.Options{
		Log: n.log(), FS: n.disk.mem, Meta: n.disk.store(n.peers), Version: "simulated", Runtime: p,
		DialPeer: n.peers.dial, ListenPeer: n.peers.listen, ListenClient: n.peers.listen,
		WindowTxns: n.w.window, EpochTxns: n.w.epochTxns,
		Applied: func(zxid proto.Zxid, payload []byte, digest int64) { n.w.applied(n, zxid, payload, digest) },
	})
	srv := n.srv
	p.serves = srv.Serving
	p.Go("main", func() {
		if err := srv.Start(); err != nil {
			n.w.s.plan(0, p, "start failed", func() { n.ended(err) })
			return
		}
		n.up = true
	})
}

// log is where the server logs: the trace.
func (n *node) log() *zap.Logger {
	if !n.w.s.tracing {
		return nil
	}
	return zap.New(traceCore{n.w.s, n.p}, zap.WithClock(clock{n.p}))
}

// look ends a server that has failed, as the process ends then.
func (n *node) look() {
	if n.p == nil || !n.up || n.stops {
		return
	}
	if n.serves() {
		switch {
		case strings.Contains(n.disk.spoilt, "meta.db"):
			n.disk.dormant, n.disk.dormantSince = n.disk.spoilt, n.lives
		case n.lives > n.disk.dormantSince:
			n.disk.dormant = ""
		}
		n.served, n.lost, n.disk.spoilt = true, false, ""
	}
	n.bounded()
	if err := n.srv.Failure(); err != nil {
		n.ended(err)
	}
}

// ended is the end of a process by itself.
func (n *node) ended(err error) {
	n.w.s.tracef("s%d ended: %v", n.id, err)
	started := n.up
	n.down(true)
	n.disk.crash(100)
	switch {
	case n.disk.hurt:
		if !n.disk.bad && !n.disk.full { // it was repaired before the server ended; else the repair restarts it
			n.w.faults.restart(n, n.w.tick)
		}
	case n.disk.spoilt != "" && !started, n.disk.dormant != "" && !started && errors.Is(err, rebuild.ErrGap):
		n.refused(err)
	default:
		n.w.s.fail(EndsByItself, "server %d ended by itself: %v", n.id, err)
	}
}

// wipe empties the disk of a server that is down. It may leave what meta.db holds: the epochs.
func (n *node) wipe(keepsMeta bool) {
	old := n.disk
	if old.spoilt == "" {
		n.w.harvest(n)
	}
	n.lost, n.disk = true, n.w.s.newDisk(n.id)
	if keepsMeta {
		n.disk.meta = old.meta
		return
	}
	if base := sessionTime(old.meta); base.After(n.lostIDs) {
		n.lostIDs = base
	}
}

// kill ends the process. Of what the disk has not synced so much is there afterwards, in percent. With word the other
// ends of its connections hear of it.
func (n *node) kill(unsynced int, word bool) {
	if n.p == nil {
		return
	}
	n.down(word)
	n.disk.crash(unsynced)
}

func (n *node) down(word bool) {
	n.p.kill()
	n.w.net.unplug(n.peers, word)
	n.p, n.srv, n.up = nil, nil, false
}

// stop ends the server as an operator does.
func (n *node) stop() {
	if n.p == nil || !n.up || n.stops {
		return
	}
	n.stops = true
	p, srv := n.p, n.srv
	p.Go("stop", func() {
		srv.Stop()
		n.w.s.plan(0, p, "stopped", func() { n.down(true) })
	})
}

// handOver asks the server to hand its leadership to another one, as an operator does.
func (n *node) handOver(to *node) {
	srv := n.srv
	n.p.Go("hand over", func() { _ = srv.HandOver(proto.ServerID(to.id)) }) // it may be refused
}

// serves reports whether clients are served, and may write.
func (n *node) serves() bool {
	if n.p == nil || !n.up || n.stops {
		return false
	}
	st := n.srv.Status()
	return st.Serving && st.Mode != "read-only"
}

// mayBeLost reports whether the disk may have to be given up: it is lost, or a damage may yet stop the next start.
func (n *node) mayBeLost() bool { return n.lost || n.disk.dormant != "" }

// leads reports whether the server is a leader that serves.
func (n *node) leads() bool { return n.serves() && n.srv.Status().Mode == "leader" }

// logged calls fn with each record of the log on its disk, in their order.
func (n *node) logged(fn func(r *wal.Record)) {
	dir := filepath.Join(dataDir, "version-2")
	names, _ := n.disk.mem.List(dir)
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) }) // numbers without leading zeros
	for _, name := range names {
		if !strings.HasPrefix(name, "log.") {
			continue
		}
		_, err := wal.ScanLast(n.disk.mem, filepath.Join(dir, name), 1, func(r *wal.Record) error {
			fn(r)
			return nil
		})
		if err != nil {
			n.w.s.tracef("log %s of server %d: %v", name, n.id, err)
		}
	}
}
