package bench

import (
	"context"
	"time"
)

// mixLoad returns a load that sends kinds drawn from a mix: get, set, create, mixed and the mixes of other tools.
func mixLoad(name, summary string, defaults func(p *Params)) Load {
	flags := []string{"outstanding", "mix", "size", "znodes", "path-length", "duration", "warmup", "rate", "slice",
		"seed", "keep"}
	return Load{name, summary, flags, defaults, func(ctx context.Context, t *Target, p Params) (Trial, error) {
		s, err := newStage(ctx, t, p, true, p.Mix.creates())
		if err != nil {
			return nil, err
		}
		m := &mixTrial{stage: s, name: name}
		m.setMix(p.Mix)
		return m, nil
	}}
}

// mixTrial is a mixLoad on one target.
type mixTrial struct {
	*stage
	name    string
	sources []*mixture // by lane; they last as long as the trial
}

func (m *mixTrial) isEndless() {}

// setMix changes what all lanes do from the next drive on.
func (m *mixTrial) setMix(mix Mix) {
	c := newChooser(mix)
	if m.sources == nil {
		for i := range m.fleet.lanes {
			m.sources = append(m.sources, newMixture(m.tree, c, m.params.Size, m.params.Seed, i))
		}
	}
	for _, s := range m.sources {
		s.choose = c
	}
}

// begin starts the load.
func (m *mixTrial) begin() *drive {
	d := &drive{window: m.params.Outstanding, rec: newRecorder(m.params.Rate > 0),
		source: func(lane int) requester { return m.sources[lane] }}
	if m.params.Rate > 0 {
		d.pace = &schedule{rate: m.params.Rate, begin: m.fleet.now(), slack: runtimeSlack}
	}
	m.fleet.start(d)
	return d
}

func (m *mixTrial) Warm(ctx context.Context, warm time.Duration) error {
	d := m.begin()
	m.pass(ctx, d, "warming up", warm)
	d.stop()
	if err := d.wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// settle is the beginning of every window that is not measured: connections fill their windows,
// and the servers come back from idleness.
func settle(d time.Duration) time.Duration { return min(d/8, 300*time.Millisecond) }

func (m *mixTrial) Measure(ctx context.Context, window time.Duration) ([]*Row, error) {
	row, err := m.measure(ctx, m.name, window)
	if err != nil {
		return nil, err
	}
	return []*Row{row}, nil
}

func (m *mixTrial) measure(ctx context.Context, name string, window time.Duration) (*Row, error) {
	reconnects, expired := m.fleet.reconnects.Load(), m.fleet.expired.Load()
	d := m.begin()
	m.pass(ctx, d, name, settle(window))
	meter, err := m.target.begin()
	d.rec.open(m.fleet.now())
	m.pass(ctx, d, name, window)
	d.rec.close(m.fleet.now())
	var row *Row
	if err == nil {
		row, err = meter.end(name)
	}
	d.stop()
	if failed := d.wait(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	row.fill(d.rec.collect())
	if n := m.fleet.reconnects.Load() - reconnects; n > 0 {
		row.Figures = append(row.Figures, Figure{"reconnects", float64(n), ""})
	}
	if n := m.fleet.expired.Load() - expired; n > 0 {
		row.Figures = append(row.Figures, Figure{"expired sessions", float64(n), ""})
	}
	return row, nil
}

// pass waits for a while, until ctx ends or d fails, and tells how it goes every second.
func (m *mixTrial) pass(ctx context.Context, d *drive, phase string, wait time.Duration) {
	end, tick := time.After(wait), time.Tick(time.Second)
	last := d.rec.replies()
	for {
		select {
		case <-end:
			return
		case <-ctx.Done():
			return
		case <-d.ctx.Done():
			return
		case <-tick:
			n := d.rec.replies()
			if m.target.Progress != nil {
				m.target.Progress(phase+", replies/s", n-last, 0)
			}
			last = n
		}
	}
}
