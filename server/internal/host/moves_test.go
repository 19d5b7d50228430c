package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/observers"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// returning is a client that comes back, and counts its answers.
type returning struct {
	client
	resumed, unanswered int
}

func (c *returning) Resumed(*sessions.Session, sessions.Conn, int32, bool) { c.resumed++ }
func (c *returning) Unanswered()                                           { c.unanswered++ }

// instantly is an applier that has applied everything.
type instantly struct{ applies }

func (instantly) Do(fn func()) { fn() }

// A client that comes back goes on when its new server has what it asked for before.
func TestReturnedClientsWaitForWhatTheyAskedFor(t *testing.T) {
	m := leased(t, 2, 1, 2, 3)
	m.applier, m.delivered = instantly{}, 4
	f := &following{m: m}
	f.below = observers.New(f.needs())
	first, second, late := &returning{}, &returning{}, &returning{}
	f.renew(&flow.Resumption{Client: first, ID: 7, TimeoutMs: 1000}, true, 4)
	require.Equal(t, 1, first.resumed, "it is there already")
	f.renew(&flow.Resumption{Client: second, ID: 8, TimeoutMs: 1000}, true, 6)
	f.renew(&flow.Resumption{Client: late, ID: 9, TimeoutMs: 1000}, true, 7)
	f.delivered(5)
	require.Zero(t, second.resumed)
	f.delivered(6)
	require.Equal(t, 1, second.resumed)
	require.Zero(t, late.resumed)
	gone := &returning{}
	f.renew(&flow.Resumption{Client: gone, ID: 10, TimeoutMs: 1000}, true, 7)
	f.moved(10)
	f.end()
	require.Equal(t, 1, gone.unanswered)
	f.renew(&flow.Resumption{Client: gone, ID: 10, TimeoutMs: 1000}, true, 7)
	f.moved(10)
	f.delivered(7)
	require.True(t, gone.aborted, "another server has its session")
	require.Zero(t, gone.resumed)
	require.Equal(t, 1, late.unanswered, "the leader is lost: it asks again")
}
