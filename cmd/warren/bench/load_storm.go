package bench

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
)

// stormLoad drops the connections of all sessions at once and resumes them all at once, each with
// its watches: what clients do when a server restarts or a network comes back.
var stormLoad = Load{
	name:    "reconnect-storm",
	summary: "drops --connections sessions with --watches watches each and resumes them: time until all are back",
	flags:   []string{"size", "znodes", "watches", "rounds", "keep"},
	defaults: func(p *Params) {
		p.Connections, p.Znodes, p.Rounds, p.Warmup, p.Timeout = 1000, 1000, 3, 0, 60*time.Second
	},
	prepare: prepareStorm,
}

// storming is how many sessions resume at the same time; the others wait in line, as they would
// in the accept queue of a server.
const storming = 2000

func prepareStorm(ctx context.Context, t *Target, p Params) (Trial, error) {
	s, err := newStage(ctx, t, p, true, false)
	if err != nil {
		return nil, err
	}
	trial := &stormTrial{s}
	lanes := len(s.fleet.lanes)
	err = s.fleet.must(ctx, "registering watches", lanes*p.Watches, proto.OpGetData, proto.OK,
		func(b []byte, i int) []byte {
			return appendPathWatch(b, trial.watched(i%lanes, i/lanes), true)
		})
	if err != nil {
		return nil, closing(err, s)
	}
	return trial, nil
}

type stormTrial struct{ *stage }

// watched returns the path of the kth watch of a lane.
func (t *stormTrial) watched(lane, k int) []byte {
	return t.tree.path((lane*t.params.Watches + k) % t.tree.n)
}

// Measure implements Trial: --rounds storms.
func (t *stormTrial) Measure(ctx context.Context, _ time.Duration) ([]*Row, error) {
	meter, err := t.target.begin()
	if err != nil {
		return nil, err
	}
	sample, expired := newSample(), t.fleet.expired.Load()
	var last []time.Duration
	var retries int64
	for i := range t.params.Rounds {
		t.target.progress("reconnect-storm")(i, t.params.Rounds)
		took, failed, err := t.storm(ctx, sample.kind(Watch))
		if err != nil {
			return nil, err
		}
		last = append(last, took)
		retries += failed
	}
	row, err := meter.endWith("session back", sample)
	if err != nil {
		return nil, err
	}
	row.Figures = append(row.Figures,
		Figure{"all back, worst storm", slices.Max(last).Seconds() * 1000, "ms"},
		Figure{"all back, median storm", median(last).Seconds() * 1000, "ms"},
		Figure{"attempts that failed", float64(retries), ""},
		Figure{"sessions that expired", float64(t.fleet.expired.Load() - expired), ""})
	return []*Row{row}, nil
}

// storm drops all connections and resumes all sessions; it returns when the last was back.
func (t *stormTrial) storm(ctx context.Context, s *KindSample) (took time.Duration, failed int64, err error) {
	for _, l := range t.fleet.lanes {
		l.abort()
	}
	begin := time.Now()
	var mu sync.Mutex
	err = t.fleet.each(ctx, storming, nil, func(ctx context.Context, l *lane) error {
		var attempts int64
		for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
			err := t.resume(ctx, l, int(attempts))
			if err == nil {
				break
			}
			attempts++
			l.drop()
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return err
			}
		}
		back := time.Since(begin)
		mu.Lock()
		defer mu.Unlock()
		recordLatency(s.Latency, int64(back))
		took, failed = max(took, back), failed+attempts
		return nil
	})
	return took, failed, err
}

// resume opens a connection, resumes the session and registers its watches again.
func (t *stormTrial) resume(ctx context.Context, l *lane, attempt int) error {
	if err := l.connect(ctx, attempt); err != nil {
		return err
	}
	watches := proto.SetWatches{RelativeZxid: l.lastZxid(), ExistWatches: []proto.Text{}, ChildWatches: []proto.Text{}}
	watches.DataWatches = make([]proto.Text, t.params.Watches)
	for k := range watches.DataWatches {
		watches.DataWatches[k] = t.watched(l.index, k)
	}
	_, err := l.call(ctx, proto.OpSetWatches, watches.AppendTo)
	return err
}

func (l *lane) lastZxid() proto.Zxid {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.lastZxid
}

// abort closes the connection with a reset, which leaves no port behind in TIME_WAIT.
func (l *lane) abort() {
	l.mu.Lock()
	if tcp, ok := l.nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	l.mu.Unlock()
	l.drop()
}
