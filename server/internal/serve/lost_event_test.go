package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
)

// When an event is not added because too much waits, nothing is sent or added any more from that moment on, and not
// only when the applier has ended its batch: an event or a reply that came later would hide that this event was lost.
func TestNothingFollowsALostEvent(t *testing.T) {
	cfg := config.Default()
	cfg.SkipACL = true
	front := &Front{Env: &env.Env{Config: cfg}, Watchers: newWatchers(&cfg.Limits)}
	c := &Conn{srv: front}
	c.ids.Store(&[]auth.Identity{})
	front.Watchers.Slots = append(front.Watchers.Slots, c)
	a := NewApplier(front)
	tell := func(path string) { a.forgetEvent(); a.deliver(1, proto.EventNodeDataChanged, []byte(path), 0) }
	tell("/first")
	require.NotZero(t, c.mu.out.waiting())
	require.True(t, c.mu.out.open())

	c.mu.out.put(make([]byte, OutputPause+1))
	front.Undelivered.Total.Store(UndeliveredMax) // of others
	tell("/lost")
	require.Len(t, a.freed, 1, "it is closed when the batch has ended")
	require.False(t, c.mu.out.open(), "no reply is added")
	require.Zero(t, c.mu.out.waiting(), "a goroutine that waits for the socket finds nothing to send")
	front.Undelivered.Total.Store(0)
	tell("/later")
	require.Zero(t, c.mu.out.waiting())
}
