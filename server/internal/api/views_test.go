package api

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/visible"
	"github.com/seed94657493/warren/test/must"
)

// fakeViews has nothing to show.
type fakeViews struct{}

func (fakeViews) Trends(int64) *Trends {
	return &Trends{Times: []int64{}, Series: []visible.Trend{}, Events: []visible.Event{}}
}
func (fakeViews) Watchers(Actor, string) (*Watchers, error) { return nil, visible.ErrNotServing }
func (fakeViews) Servers() *Servers {
	return &Servers{Servers: []ensemble.ServerState{{ID: 1}, {ID: 2}, {ID: 3}}}
}

func (fakeViews) Recipes(Actor, string, string, int) (*Recipes, error) {
	return nil, visible.ErrNotServing
}
func (fakeViews) Sizes(Actor, string, int64) (*Sizes, error) { return nil, visible.ErrNotServing }
func (fakeViews) Past(context.Context, Actor, Moment, string, string, int) (*Past, error) {
	return nil, visible.ErrNotServing
}
func (fakeViews) Terms(context.Context, Actor, string) (*Terms, error) {
	return nil, visible.ErrNotServing
}
func (fakeViews) Difference(context.Context, Actor, Moment, Moment, string, int) (*Difference, error) {
	return nil, visible.ErrNotServing
}

func (fakeViews) Shared(Actor, string) {}
func (fakeViews) Audit(Actor, int) (*Audit, error) {
	return &Audit{Entries: []visible.AuditEntry{}}, nil
}
func (fakeViews) Backups(Actor) (*Backups, error) {
	return &Backups{Snapshots: []visible.SnapshotFile{}, Folders: []facts.BackupFolder{}}, nil
}

func TestMoments(t *testing.T) {
	for text, want := range map[string]Moment{"0x100000005": {Zxid: 0x100000005}, "5f": {Zxid: 0x5f},
		"2026-01-31T12:00:00Z": {TimeMs: 1769860800000}, "2026-01-31 12:00": {TimeMs: 1769860800000},
		"2026-01-31T13:00:00+01:00": {TimeMs: 1769860800000}, "2026-01-31 12:00:00 UTC": {TimeMs: 1769860800000}} {
		m, err := parseMoment(text)
		require.NoError(t, err, text)
		require.Equal(t, want, m, text)
	}
	for _, text := range []string{"", "0", "0x", "-1", "ffffffffffffffff", "yesterday", "1950-01-01T00:00:00Z"} {
		require.Error(t, must.Err(parseMoment(text)), text)
	}
}

func FuzzMoment(f *testing.F) {
	f.Add("0x100000005")
	f.Add("2026-01-31T12:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMoment(text); err == nil {
			require.True(t, (m.Zxid > 0) != (m.TimeMs > 0), "exactly one of them")
		}
	})
}

// hungWatchers asks servers that do not answer.
type hungWatchers struct {
	fakeServer
	asked, over chan struct{}
}

func (h *hungWatchers) Watchers(Actor, string) (*Watchers, error) {
	h.asked <- struct{}{}
	<-h.over
	return &Watchers{}, nil
}

// Another server that does not answer keeps those waiting that ask for its clients, and nobody else.
func TestSilentServersKeepNobodyWaiting(t *testing.T) {
	s := &hungWatchers{asked: make(chan struct{}, 2*workersMax), over: make(chan struct{})}
	a := New(Options{Server: s})
	var asking sync.WaitGroup
	for range 2 * workersMax {
		asking.Go(func() { visit(a, "GET", "/watchers?path=/a", "") })
	}
	for range askersMax {
		<-s.asked
	}
	require.Equal(t, 404, visit(a, "GET", "/znode?path=/a", "").Code)
	require.Empty(t, s.asked, "others that ask for them wait")
	close(s.over)
	asking.Wait()
}
