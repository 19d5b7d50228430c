package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// fleet is the sessions a load holds at one target. One goroutine keeps the idle ones alive.
type fleet struct {
	dialer     *dialer
	lanes      []*lane
	base       time.Time
	reconnects atomic.Int64 // connections replaced after a loss
	expired    atomic.Int64 // sessions the servers had given up
	quit       chan struct{}
	wg         sync.WaitGroup
}

// dialing is how many connections are opened at the same time.
const dialing = 128

// now returns ns since the fleet's start; it never goes back.
func (f *fleet) now() int64 { return int64(time.Since(f.base)) }

// newFleet opens n sessions. progress is told how many are open.
func newFleet(ctx context.Context, d *dialer, n int, progress func(done, of int)) (*fleet, error) {
	f := makeFleet(d, n)
	if err := f.each(ctx, dialing, progress,
		func(ctx context.Context, l *lane) error { return l.connect(ctx, 0) }); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// makeFleet makes n lanes without connections.
func makeFleet(d *dialer, n int) *fleet {
	f := &fleet{dialer: d, base: time.Now(), quit: make(chan struct{}), lanes: make([]*lane, n)}
	for i := range f.lanes {
		f.lanes[i] = &lane{fleet: f, index: i}
	}
	f.wg.Go(f.keepAlive)
	return f
}

// each calls fn for every lane, at most parallel at the same time, and returns the first error,
// after which no more calls begin.
func (f *fleet) each(
	ctx context.Context, parallel int, progress func(done, of int), fn func(context.Context, *lane) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range min(parallel, len(f.lanes)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(f.lanes) {
					return
				}
				if err := fn(ctx, f.lanes[i]); err != nil {
					cancel(fmt.Errorf("connection %d of %d: %w", i+1, len(f.lanes), err))
					return
				}
				if n := int(done.Add(1)); progress != nil {
					progress(n, len(f.lanes))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// keepAlive pings idle lanes.
func (f *fleet) keepAlive() {
	step := min(max(time.Duration(f.dialer.timeoutMs)*time.Millisecond/30, 20*time.Millisecond), time.Second)
	tick := time.Tick(step)
	for {
		select {
		case <-f.quit:
			return
		case <-tick:
		}
		now := f.now()
		for _, l := range f.lanes {
			l.pingIfIdle(now, step)
		}
	}
}

// close ends all sessions, waiting for the replies for a short while, and closes all connections.
func (f *fleet) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = f.each(ctx, dialing, nil, func(ctx context.Context, l *lane) error {
		_, _ = l.call(ctx, proto.OpCloseSession, nil)
		return nil
	})
	close(f.quit)
	f.wg.Wait()
	for _, l := range f.lanes {
		l.drop()
	}
}

// recover makes every lane usable, whatever happened to its connection, and up to date.
func (f *fleet) recover(ctx context.Context, path string) error {
	for attempt := 0; ; attempt++ {
		// A connection that died while it was idle fails here and is replaced by the drive.
		err := f.syncAll(ctx, path)
		if err == nil || attempt == 2 {
			return err
		}
	}
}
