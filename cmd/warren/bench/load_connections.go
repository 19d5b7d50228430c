package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// connectionsLoad opens --connections sessions, holds them idle for --duration, and says what one
// costs the servers.
var connectionsLoad = Load{
	name: "connections",
	summary: "opens --connections idle sessions: sessions/s, and with --pid memory per session and CPU of holding " +
		"them",
	flags: []string{"duration", "rounds"},
	defaults: func(p *Params) {
		p.Connections, p.Warmup, p.Timeout = 1000, 0, 60*time.Second
	},
	prepare: prepareConnections,
}

func prepareConnections(_ context.Context, t *Target, p Params) (Trial, error) {
	d, err := newDialer(t, p)
	if err != nil {
		return nil, err
	}
	return &connectionsTrial{t, p, d}, nil
}

type connectionsTrial struct {
	target *Target
	params Params
	dialer *dialer
}

func (t *connectionsTrial) Warm(context.Context, time.Duration) error { return nil }

func (t *connectionsTrial) Close(context.Context) error { return nil }

// Measure implements Trial: a Row for opening the sessions and one for holding them.
func (t *connectionsTrial) Measure(ctx context.Context, d time.Duration) ([]*Row, error) {
	f := makeFleet(t.dialer, t.params.Connections)
	defer f.close()
	opened, err := t.open(ctx, f)
	if err != nil {
		return nil, err
	}
	held, err := t.hold(ctx, f, d)
	if err != nil {
		return nil, err
	}
	return []*Row{opened, held}, nil
}

func (t *connectionsTrial) open(ctx context.Context, f *fleet) (*Row, error) {
	meter, err := t.target.begin()
	if err != nil {
		return nil, err
	}
	rec := newRecorder(false)
	rec.open(0)
	err = f.each(ctx, dialing, t.target.progress("connecting"), func(ctx context.Context, l *lane) error {
		at := f.now()
		if err := l.connect(ctx, 0); err != nil {
			return err
		}
		s := rec.shard(l.index)
		s.mu.Lock()
		s.add(Ephemeral, proto.OK, at, f.now())
		s.mu.Unlock()
		return nil
	})
	if err != nil {
		return nil, err
	}
	row, err := meter.endWith("open sessions", rec.collect())
	if err != nil {
		return nil, err
	}
	if row.Servers != nil {
		grown := row.Servers.ResidentMiB*(1<<20) - float64(meter.before.rss)
		row.Figures = append(row.Figures,
			Figure{"resident growth per session", grown / float64(len(f.lanes)), "bytes"})
	}
	return row, nil
}

func (t *connectionsTrial) hold(ctx context.Context, f *fleet, d time.Duration) (*Row, error) {
	meter, err := t.target.begin()
	if err != nil {
		return nil, err
	}
	t.target.progress("holding")(len(f.lanes), len(f.lanes))
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	row, err := meter.end("hold sessions")
	if err != nil {
		return nil, err
	}
	var alive atomic.Int64
	err = f.each(ctx, dialing, nil, func(ctx context.Context, l *lane) error {
		if _, err := l.call(ctx, proto.OpExists, func(b []byte) []byte {
			return appendPathWatch(b, []byte("/"), false)
		}); err == nil {
			alive.Add(1)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	if alive.Load() == 0 {
		return nil, fmt.Errorf("bench: none of the %d sessions was alive after %v", len(f.lanes), d)
	}
	row.Figures = append(row.Figures, Figure{"sessions alive", float64(alive.Load()), ""})
	if row.Servers != nil {
		row.Figures = append(row.Figures, Figure{"servers' CPU", 100 * row.Servers.CPUSeconds / row.Seconds, "%"})
	}
	return row, nil
}
