package bench

import (
	"runtime"
	"time"
)

// schedule says when each request of an open loop is due: request j of all is due j/rate after
// the beginning and belongs to lane j mod n. What is late is sent late but measured from when it
// was due, so a slow server cannot slow down what it is measured by (no coordinated omission).
type schedule struct {
	rate  float64 // requests a second, all lanes
	begin int64   // ns since the fleet's start
	lanes []paced
	fired int64         // requests handed to lanes
	slack time.Duration // how much of a sleep is left to the kernel; see runtimeSlack
}

// paced is a lane with what it needs to send.
type paced struct {
	lane *lane
	src  requester
	s    *shard
}

// intended returns when request k of a lane is due, in ns since the fleet's start.
func (p *schedule) intended(lane int, k int64) int64 {
	j := k*int64(len(p.lanes)) + int64(lane)
	return p.begin + p.offset(j)
}

func (p *schedule) offset(j int64) int64 { return int64(float64(j) * 1e9 / p.rate) }

// dueBy returns how many requests of all are due at now.
func (p *schedule) dueBy(now int64) int64 {
	if now < p.begin {
		return 0
	}
	j := int64(float64(now-p.begin) * p.rate / 1e9)
	for p.offset(j) > now-p.begin { // rounding
		j--
	}
	for p.offset(j+1) <= now-p.begin {
		j++
	}
	return j + 1
}

// run hands out requests when they are due until d stops.
func (p *schedule) run(d *drive) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sleepExactly()
	for !d.stopping.Load() {
		now := d.fleet.now()
		p.fire(d, now)
		p.sleepUntil(d, p.begin+p.offset(p.fired))
	}
}

// fire gives every lane what is due and makes it send.
func (p *schedule) fire(d *drive, now int64) {
	due, n := p.dueBy(now), int64(len(p.lanes))
	first := p.fired
	p.fired = max(due, first)
	for i := first; i < min(due, first+n); i++ {
		at := i % n
		lane := p.lanes[at]
		l := lane.lane
		l.mu.Lock()
		l.due = (due - at + n - 1) / n
		l.refill(d, lane.src, lane.s, now)
		l.mu.Unlock()
	}
}

// runtimeSlack is what timers of the runtime may be late by when the process is idle.
const runtimeSlack = 1500 * time.Microsecond

// sleepUntil sleeps until t, in ns since the fleet's start, or until d stops.
func (p *schedule) sleepUntil(d *drive, t int64) {
	if wait := time.Duration(t-d.fleet.now()) - p.slack; wait > 0 {
		select {
		case <-time.After(wait):
		case <-d.ctx.Done():
			return
		}
	}
	if wait := t - d.fleet.now(); wait > 0 {
		sleep(time.Duration(wait))
	}
}
