package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
)

// fanoutLoad has all connections watch one znode, sets it once, and measures when the events are
// there.
var fanoutLoad = Load{
	name:    "watch-fanout",
	summary: "--connections sessions watch one znode, one more sets it: time to the first, median and last event",
	flags:   []string{"size", "rounds", "warmup", "keep"},
	defaults: func(p *Params) {
		p.Connections, p.Znodes, p.Rounds, p.Warmup, p.Timeout = 1000, 1, 10, 0, 60*time.Second
	},
	prepare: prepareFanout,
}

func prepareFanout(ctx context.Context, t *Target, p Params) (Trial, error) {
	p.Znodes = 1
	s, err := newStage(ctx, t, p, true, false)
	if err != nil {
		return nil, err
	}
	d := *s.fleet.dialer
	writer, err := newFleet(ctx, &d, 1, nil)
	if err != nil {
		return nil, closing(err, s)
	}
	return &fanoutTrial{s, writer}, nil
}

type fanoutTrial struct {
	*stage
	writer *fleet
}

func (t *fanoutTrial) Close(ctx context.Context) error {
	t.writer.close()
	return t.stage.Close(ctx)
}

// Warm implements Trial: one round.
func (t *fanoutTrial) Warm(ctx context.Context, _ time.Duration) error {
	_, err := t.round(ctx, newKindSample())
	return err
}

// Measure implements Trial: --rounds rounds.
func (t *fanoutTrial) Measure(ctx context.Context, _ time.Duration) ([]*Row, error) {
	meter, err := t.target.begin()
	if err != nil {
		return nil, err
	}
	sample := newSample()
	var all [4][]time.Duration // first, median, last event, reply to the set
	for i := range t.params.Rounds {
		t.target.progress("watch-fanout")(i, t.params.Rounds)
		times, err := t.round(ctx, sample.kind(Watch))
		if err != nil {
			return nil, err
		}
		for k, d := range times {
			all[k] = append(all[k], d)
		}
	}
	row, err := meter.endWith("event after set", sample)
	if err != nil {
		return nil, err
	}
	for k, name := range []string{"first event", "median event", "last event", "reply to set"} {
		row.Figures = append(row.Figures, Figure{name + ", median round", microseconds(median(all[k])), "us"})
	}
	row.Figures = append(row.Figures, Figure{"last event, worst round", microseconds(slices.Max(all[2])), "us"})
	return []*Row{row}, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// median returns the middle of v, which is not empty, and sorts it.
func median[T float64 | time.Duration](v []T) T {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// eventTimeout bounds the wait for the last event of a round.
const eventTimeout = time.Minute

// round registers all watches, sets the znode, and returns when the first, the median and the last event
// and the reply came, counted from the set.
func (t *fanoutTrial) round(ctx context.Context, s *KindSample) ([4]time.Duration, error) {
	var times [4]time.Duration
	path := t.tree.path(0)
	armed, err := t.fleet.forAll(ctx, len(t.fleet.lanes), 1, Watch, proto.OpGetData, func(b []byte, _ int) []byte {
		return appendPathWatch(b, path, true)
	})
	if err != nil {
		return times, err
	}
	for code, n := range armed.total().Errors {
		return times, fmt.Errorf("bench: registering watches: %d of %d: %w", n, len(t.fleet.lanes), code)
	}
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	events := make([]time.Duration, len(t.fleet.lanes))
	base := time.Now()
	failed := make(chan error, 1)
	go func() {
		failed <- t.fleet.each(ctx, len(t.fleet.lanes), nil, func(ctx context.Context, l *lane) error {
			err := l.awaitEvent(ctx)
			events[l.index] = time.Since(base)
			return err
		})
	}()
	set := time.Since(base)
	_, err = t.writer.lanes[0].call(ctx, proto.OpSetData, func(b []byte) []byte {
		return appendSet(b, path, make([]byte, t.params.Size.Max))
	})
	times[3] = time.Since(base) - set
	if err != nil {
		cancel()
		<-failed
		return times, err
	}
	if err := <-failed; err != nil {
		return times, fmt.Errorf("bench: waiting for events: %w", err)
	}
	slices.Sort(events)
	for _, e := range events {
		recordLatency(s.Latency, int64(e-set))
	}
	times[0], times[1], times[2] = events[0]-set, events[len(events)/2]-set, events[len(events)-1]-set
	return times, nil
}

// awaitEvent waits for a notification. Nothing else may be in flight but pings.
func (l *lane) awaitEvent(ctx context.Context) error {
	l.mu.Lock()
	nc := l.nc
	l.mu.Unlock()
	if nc == nil {
		return proto.ErrConnectionLoss
	}
	defer interruptible(ctx, nc)()
	header, _, err := l.reply(ctx)
	if err == nil && header.Xid != proto.XidNotification {
		err = fmt.Errorf("bench: reply has xid %d, want a notification", header.Xid)
	}
	return err
}
