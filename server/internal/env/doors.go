package env

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/internal/sched"
)

// Doors says whether clients are let in. Clients that come in the middle of an election may wait for its end, which is
// mostly nearer than another server that serves. Any goroutine may call the methods.
type Doors struct {
	rt   sched.Runtime
	open atomic.Bool
	left atomic.Bool // to the other servers, by a leader
	mu   struct {
		sync.Mutex
		next    *sched.Gate   // opens when the wait is over; nil while there is nothing to wait for
		shut    time.Duration // when that began
		waiting int
	}
}

// waitingMax bounds the clients that wait. Each has its connection and no more than one buffer of input.
const waitingMax = 1 << 14

func newDoors(rt sched.Runtime) *Doors {
	d := &Doors{rt: rt}
	d.Shut()
	return d
}

// IsOpen reports whether clients are let in.
func (d *Doors) IsOpen() bool { return d.open.Load() }

// InService reports whether the server's state is up to date: clients are let in, or it leads and leaves them to the
// other servers.
func (d *Doors) InService() bool { return d.open.Load() || d.left.Load() }

// Open lets clients in.
func (d *Doors) Open() { d.set(true, false) }

// Leave leaves clients to the other servers: this one leads.
func (d *Doors) Leave() { d.set(false, true) }

// Bar keeps clients out of a server that stops.
func (d *Doors) Bar() { d.set(false, false) }

// set ends the wait.
func (d *Doors) set(open, left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open.Store(open)
	d.left.Store(left)
	if d.mu.next != nil {
		d.mu.next.Open()
		d.mu.next = nil
	}
}

// Shut keeps clients out for as long as there is no leader.
func (d *Doors) Shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open.Store(false)
	d.left.Store(false)
	if d.mu.next == nil {
		d.mu.next, d.mu.shut = sched.NewGate(d.rt), d.rt.Elapsed()
	}
}

// Await waits for at most limit until the doors are open, and reports whether they are. A server that has been without
// a leader for longer than limit makes nobody wait: it may be for long, and another server may have one.
func (d *Doors) Await(limit time.Duration) bool {
	next := d.join(limit)
	if next == nil {
		return d.IsOpen()
	}
	next.WaitFor(limit)
	d.mu.Lock()
	d.mu.waiting--
	d.mu.Unlock()
	return d.IsOpen()
}

// join counts a client that is to wait. It returns nil if the client need not or must not wait.
func (d *Doors) join(limit time.Duration) *sched.Gate {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.next == nil || d.mu.waiting == waitingMax || d.rt.Elapsed()-d.mu.shut >= limit {
		return nil
	}
	d.mu.waiting++
	return d.mu.next
}
