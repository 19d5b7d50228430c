package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

// outage is servers that are away now and then, all of them together.
type outage struct {
	mu    sync.Mutex
	until time.Time
	live  net.Conn // of the client
	dials []time.Time
}

func (o *outage) dial(context.Context, string, string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dials = append(o.dials, time.Now())
	if time.Now().Before(o.until) {
		return nil, errors.New("refused")
	}
	near, far := served()
	o.live = far
	return near, nil
}

// begin ends all connections and accepts none for d.
func (o *outage) begin(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until, o.dials = time.Now().Add(d), nil
	_ = o.live.Close()
}

// However long the servers are away, and however short they were there, a client is back after half as long
// again, or 20 ms if that is more, and a second at most; and it does not ask all the time.
func TestBackSoonAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{}
		c := require.Do(New("a:1,b:1,c:1", WithDialer(o.dial)))(t)
		defer c.Close()
		require.NoError(t, c.WaitConnected(t.Context()))
		for round := range 60 {
			for _, away := range []time.Duration{
				0, time.Millisecond, 32 * time.Millisecond, 150 * time.Millisecond, 3 * time.Second,
			} {
				// Of the bubble's clock, as servers do that are restarted one after the other.
				time.Sleep(250 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, Connected, c.State().State)
				began := time.Now()
				o.begin(away)
				synctest.Wait()
				require.NoError(t, c.WaitConnected(t.Context()))
				pause := time.Since(began)
				require.LessOrEqual(t, pause, away+min(max(away/2, 20*time.Millisecond), time.Second),
					"round %d, away for %v", round, away)
				o.mu.Lock()
				// Three servers a pass; the mean pause is a quarter of what has passed.
				if away >= 150*time.Millisecond {
					require.Less(t, len(o.dials), 120, "away for %v", away)
				}
				o.mu.Unlock()
			}
		}
	})
}

// The clients of a server that dies do not all come to the next one at the same time.
func TestClientsSpreadAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		var all []*outage
		for range clients {
			o := &outage{}
			c := require.Do(New("a:1,b:1,c:1", WithDialer(o.dial)))(t)
			defer c.Close()
			require.NoError(t, c.WaitConnected(t.Context()))
			all = append(all, o)
		}
		time.Sleep(time.Second)
		began := time.Now()
		for _, o := range all {
			o.begin(0)
		}
		time.Sleep(time.Second)
		early, late := 0, 0
		for _, o := range all {
			o.mu.Lock()
			require.Len(t, o.dials, 1)
			switch after := o.dials[0].Sub(began); {
			case after < 5*time.Millisecond:
				early++
			case after > 15*time.Millisecond:
				late++
			}
			o.mu.Unlock()
		}
		require.Less(t, early, clients/2)
		require.Less(t, late, clients/2)
		require.Greater(t, early, 0)
		require.Greater(t, late, 0)
	})
}

// The error of a client that cannot connect in time says why the last server did not accept the session.
func TestDialTellsWhyNot(t *testing.T) {
	reason := errors.New("the door is closed")
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	_, err := Dial(ctx, "127.0.0.1:1", WithDialer(func(context.Context, string, string) (net.Conn, error) {
		if tries++; tries == 2 { // what came of the first one is known
			cancel()
		}
		return nil, reason
	}))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, reason)
	require.ErrorContains(t, err, "client: connect 127.0.0.1:1: context canceled, since ")
}
