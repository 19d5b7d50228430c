package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// small returns a load and its defaults, cut down to a test.
func small(t *testing.T, name string) (Load, Params) {
	t.Helper()
	l := must.Do(Find(name))(t)
	p := DefaultsOf(l)
	p.Connections = min(p.Connections, 8)
	p.Outstanding = min(p.Outstanding, 16)
	p.Znodes = min(p.Znodes, 150)
	p.Duration, p.Warmup, p.Slice = 100*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	p.Rounds, p.Step = 2, 100
	return l, p
}

// runLong runs a load again, four times as long, until enough was measured: on a busy machine a tenth of a second is
// not much.
func runLong(t *testing.T, l Load, p Params, s *fakeServer, enough func(*Report) bool) *Report {
	t.Helper()
	for ; ; p.Duration, p.Slice = 4*p.Duration, 4*p.Slice {
		report := must.Do(Run(t.Context(), l, p, &Target{Name: "A", Servers: []string{s.addr()}}))(t)
		if enough(report) || p.Duration > 10*time.Second {
			return report
		}
	}
}

// TestEveryLoad runs every load against the model: no errors, a result, and nothing left behind.
func TestEveryLoad(t *testing.T) {
	for _, l := range loads {
		t.Run(l.Name(), func(t *testing.T) {
			m := newModel()
			s := newFakeServer(t, m.respond)
			l, p := small(t, l.Name())
			report := runLong(t, l, p, s, func(r *Report) bool {
				return !slices.ContainsFunc(r.Targets[0].Rounds[0],
					func(row *Row) bool { return row.Operations == 0 && row.Name != "hold sessions" })
			})
			require.Len(t, report.Targets[0].Rounds, 1)
			rows := report.Targets[0].Rounds[0]
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.Empty(t, r.Errors, r.Name)
				require.Positive(t, r.Seconds, r.Name)
				if r.Name == "hold sessions" {
					continue
				}
				require.Positive(t, r.Operations, r.Name)
				require.Positive(t, r.PerSecond, r.Name)
				require.LessOrEqual(t, r.Latency.P50, r.Latency.P99, r.Name)
				require.LessOrEqual(t, r.Latency.P999, r.Latency.Max, r.Name)
			}
			require.Empty(t, m.left())
			require.GreaterOrEqual(t, m.count(proto.OpCloseSession), p.Connections)
		})
	}
}

func TestKeepLeavesTheZnodes(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, m.respond)
	l, p := small(t, "fill")
	p.Keep, p.PathLength, p.Size = true, 50, Size{3, 3}
	must.Do(Run(t.Context(), l, p, &Target{Servers: []string{s.addr()}}))(t)
	var znodes int
	for _, path := range m.left() {
		if strings.Count(path, "/") == 3 {
			require.Len(t, path, 50)
			require.Len(t, m.nodes[path], 3)
			znodes++
		}
	}
	require.Equal(t, p.Znodes, znodes)
}

func TestMixSendsWhatItSays(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, m.respond)
	l, p := small(t, "mixed")
	p.Mix = mustMix("get=2,set=1,create=1,seq=1,ephemeral=1,exists=1,children=1,delete=1,multi=1,sync=1,watch=1")
	report := runLong(t, l, p, s,
		func(r *Report) bool { return len(r.Targets[0].Rounds[0][0].Kinds) == int(kindCount) })
	row := report.Targets[0].Rounds[0][0]
	require.Len(t, row.Kinds, int(kindCount))
	for _, k := range row.Kinds {
		require.Positive(t, k.Operations, k.Kind)
		if k.Kind != "get" {
			require.InDelta(t, float64(row.Operations)/12, float64(k.Operations),
				float64(row.Operations)/24+10, k.Kind)
		}
	}
	require.Empty(t, row.Errors)
	require.Empty(t, m.left())
}

func TestErrorsAreCountedByCode(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, func(c *fakeConn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
		if op == proto.OpSetData {
			return nil, proto.ErrBadVersion
		}
		return m.respond(c, op, body)
	})
	l, p := small(t, "mixed")
	report := runLong(t, l, p, s, func(r *Report) bool { return len(r.Targets[0].Rounds[0][0].Errors) > 0 })
	row := report.Targets[0].Rounds[0][0]
	require.Len(t, row.Errors, 1)
	require.Positive(t, row.Errors["BadVersion"])
}

// TestTwoTargetsTakeTurns checks the order A B A B and the comparison.
func TestTwoTargetsTakeTurns(t *testing.T) {
	var targets []*Target
	for _, name := range []string{"A", "B"} {
		s := newFakeServer(t, newModel().respond)
		targets = append(targets, &Target{Name: name, Servers: []string{s.addr()}})
	}
	l, p := small(t, "get")
	p.Slice = 200 * time.Millisecond
	p.Duration = 4 * p.Slice
	report := must.Do(Run(t.Context(), l, p, targets...))(t)
	require.Len(t, report.Targets, 2)
	require.Len(t, report.Targets[0].Rounds, 4)
	require.Len(t, report.Targets[1].Rounds, 4)
	require.NotEmpty(t, report.Comparisons)
	c := report.Comparisons[0]
	require.Equal(t, "operations/s", c.Figure)
	require.LessOrEqual(t, c.Ratio.Min, c.Ratio.Median)
	require.LessOrEqual(t, c.Ratio.Median, c.Ratio.Max)
	for i, rows := range report.Targets[0].Rounds {
		require.GreaterOrEqual(t, rows[0].Seconds, p.Slice.Seconds(), "round %d", i)
	}
}

// TestInterruptCleansUp ends a run in the middle.
func TestInterruptCleansUp(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, m.respond)
	for name, op := range map[string]proto.OpCode{"mixed": proto.OpGetData, "create": proto.OpCreate,
		"paper": proto.OpSetData, "watch-fanout": proto.OpGetData, "reconnect-storm": proto.OpSetWatches} {
		l, p := small(t, name)
		p.Duration, p.Rounds = time.Hour, 1_000_000
		ctx, cancel := context.WithCancel(t.Context())
		going := m.after(op, 500)
		go func() {
			<-going
			cancel()
		}()
		require.ErrorIs(t, must.Err(Run(ctx, l, p, &Target{Servers: []string{s.addr()}})), context.Canceled, name)
		require.Empty(t, m.left(), name)
	}
}

func TestSetUpFailureCleansUp(t *testing.T) {
	m := newModel()
	creates := 0
	s := newFakeServer(t, func(c *fakeConn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
		m.mu.Lock()
		if op == proto.OpCreate {
			creates++
		}
		full := op == proto.OpCreate && creates > 50
		m.mu.Unlock()
		if full {
			return nil, proto.ErrQuotaExceeded
		}
		return m.respond(c, op, body)
	})
	l, p := small(t, "get")
	require.ErrorIs(t, must.Err(Run(t.Context(), l, p, &Target{Servers: []string{s.addr()}})), proto.ErrQuotaExceeded)
	require.Empty(t, m.left())
}

func TestNoServer(t *testing.T) {
	s := newFakeServer(t, newModel().respond)
	addr := s.addr()
	s.close()
	l, p := small(t, "get")
	_, err := Run(t.Context(), l, p, &Target{Name: "A", Servers: []string{addr}})
	require.ErrorContains(t, err, "connection refused")
}

// TestConnectionLossIsSurvived drops all connections during a measurement: what was in flight is
// an error, the sessions resume, the load goes on.
func TestConnectionLossIsSurvived(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, m.respond)
	l, p := small(t, "mixed")
	p.Duration, p.Warmup = 600*time.Millisecond, 0
	var report *Report
	for isCut := false; !isCut; p.Duration *= 4 { // a busy machine may measure next to nothing at first
		running, done := m.after(proto.OpGetData, 100), make(chan error, 1)
		p.Slice = p.Duration
		go func() {
			var err error
			report, err = Run(t.Context(), l, p, &Target{Servers: []string{s.addr()}})
			done <- err
		}()
		select {
		case <-running:
			s.dropAll()
			isCut = true
			require.NoError(t, <-done)
		case err := <-done:
			require.NoError(t, err)
		}
	}
	row := report.Targets[0].Rounds[0][0]
	require.Positive(t, row.Operations)
	for code := range row.Errors {
		require.Equal(t, "ConnectionLoss", code)
	}
	require.EqualValues(t, p.Connections, s.resumed.Load())
	require.Empty(t, m.left())
}

// A run whose sessions have all died fails, however fast they were opened.
func TestSessionsThatDied(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, func(c *fakeConn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
		_ = c.nc.Close()
		return m.respond(c, op, body)
	})
	l, p := small(t, "connections")
	_, err := Run(t.Context(), l, p, &Target{Servers: []string{s.addr()}})
	require.ErrorContains(t, err, "none of the 8 sessions was alive after 100ms")
}
