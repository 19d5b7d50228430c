package bench

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// requester makes the requests of one lane. It is called with the lane locked.
type requester interface {
	// next appends xid, operation and record of the next request; not ok: there is none, and b is as it was.
	next(b []byte, xid int32) (out []byte, kind Kind, ok bool)
}

// drive is one stretch of load on all lanes of a fleet: from start until stop, or until the
// requesters have nothing more.
type drive struct {
	fleet    *fleet
	window   int // requests in flight per lane
	source   func(lane int) requester
	pace     *schedule // nil: closed loop
	rec      *recorder
	ctx      context.Context // ends with stop
	cancel   context.CancelFunc
	stopping atomic.Bool
	wg       sync.WaitGroup

	mu  sync.Mutex
	err error // first failure that no reconnect heals
}

// drainTimeout is how long replies are waited for after the end.
const drainTimeout = 30 * time.Second

// start begins d on every lane.
func (f *fleet) start(d *drive) {
	d.fleet = f
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for _, l := range f.lanes {
		l.mu.Lock()
		l.queue.grow(d.window)
		l.due, l.made = 0, 0
		if d.pace == nil {
			l.due = math.MaxInt64
		}
		l.rd.reserve(min(64<<10, 1024*d.window))
		l.mu.Unlock()
	}
	for i, l := range f.lanes {
		src, s := d.source(i), d.rec.shard(i)
		d.wg.Go(func() { d.lane(l, src, s) })
		if d.pace != nil {
			d.pace.lanes = append(d.pace.lanes, paced{l, src, s})
		}
	}
	if d.pace != nil {
		d.wg.Go(func() { d.pace.run(d) })
	}
}

// stop ends the sending of requests; wait then returns when the replies are in.
func (d *drive) stop() {
	if d.stopping.Swap(true) {
		return
	}
	d.cancel()
	for _, l := range d.fleet.lanes {
		l.mu.Lock()
		if l.nc != nil {
			limit := time.Now().Add(drainTimeout)
			if l.queue.len() == 0 {
				limit = time.Unix(1, 0) // wakes a lane that has nothing to wait for
			}
			_ = l.nc.SetReadDeadline(limit)
		}
		l.mu.Unlock()
	}
}

// wait waits until every lane has its replies and returns the first failure.
func (d *drive) wait() error {
	d.wg.Wait()
	d.cancel()
	for i, l := range d.fleet.lanes {
		l.mu.Lock()
		if l.nc != nil {
			_ = l.nc.SetReadDeadline(time.Time{})
		}
		for d.pace != nil && l.made < l.due {
			d.rec.shard(i).skip(d.pace.intended(i, l.made))
			l.made++
		}
		l.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// finish runs d until its requesters have nothing more or ctx ends.
func (f *fleet) finish(ctx context.Context, d *drive) error {
	f.start(d)
	defer context.AfterFunc(ctx, d.stop)()
	if err := d.wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (d *drive) fail(err error) {
	d.mu.Lock()
	d.err = cmp.Or(d.err, err)
	d.mu.Unlock()
	d.stop()
}

// lane drives one lane to its end, over as many connections as it takes.
func (d *drive) lane(l *lane, src requester, s *shard) {
	for failures := 0; ; {
		if !l.isConnected() && !d.reconnect(l, failures) {
			failures++
			if d.stopping.Load() {
				return
			}
			continue
		}
		failures = 0
		err := d.connection(l, src, s)
		if err == nil {
			return
		}
		if !errors.Is(err, errLost) {
			d.fail(err)
		}
		if d.stopping.Load() {
			return
		}
	}
}

// errLost is the end of a connection that another one may replace.
var errLost = errors.New("bench: connection lost")

// connection drives one lane until everything is answered and nothing is left to send, or until
// the connection ends.
func (d *drive) connection(l *lane, src requester, s *shard) error {
	l.mu.Lock()
	l.refill(d, src, s, d.fleet.now())
	over := d.isOver(l)
	l.mu.Unlock()
	for !over {
		readErr := l.rd.fill()
		now := d.fleet.now()
		l.mu.Lock()
		if readErr != nil {
			if errors.Is(readErr, os.ErrDeadlineExceeded) && l.queue.len() == 0 {
				l.mu.Unlock()
				return nil // stop woke an idle lane
			}
			code := proto.ErrConnectionLoss
			if errors.Is(readErr, os.ErrDeadlineExceeded) {
				code = proto.ErrOperationTimeout
			}
			l.lose(s, code, now)
			l.mu.Unlock()
			l.drop()
			return errLost
		}
		s.mu.Lock()
		err := l.consume(d, s, now)
		s.mu.Unlock()
		if err == nil {
			l.refill(d, src, s, now)
		}
		over = d.isOver(l)
		l.mu.Unlock()
		if err != nil {
			l.drop()
			return err
		}
	}
	return nil
}

// isOver reports whether the lane has nothing in flight and nothing to send. The lane is locked
// and was refilled.
func (d *drive) isOver(l *lane) bool {
	if l.queue.len() > 0 {
		return false
	}
	return d.pace == nil || d.stopping.Load()
}

func (l *lane) isConnected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nc != nil
}

// reconnect resumes the lane's session at the next server. When it cannot, it waits a while, longer
// with every failure, and returns false.
func (d *drive) reconnect(l *lane, failures int) bool {
	if l.connect(d.ctx, failures+1) == nil {
		d.fleet.reconnects.Add(1)
		return true
	}
	select {
	case <-time.After(min(time.Duration(10<<min(failures, 6))*time.Millisecond, 500*time.Millisecond)):
	case <-d.ctx.Done():
	}
	return false
}
