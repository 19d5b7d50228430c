package server_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// A session with so many ephemerals that it ends in steps ends at once for every client of every server: no reply
// shows some of its znodes gone and others there, and the events come before the first reply that shows the end.
// Creates at the same paths follow it at once.
func TestLargeSessionEndsAtOnce(t *testing.T) {
	const parents, each, created = 2, 3000, 100
	e := startSteered(t)
	leader, follower, _ := roles(t, e)
	other := 6 - leader - follower
	maker := connect(t, e, leader, wire.Options{})
	for p := range parents {
		maker.MustCreate(t, fmt.Sprintf("/p%d", p), nil, proto.ModePersistent)
	}
	owner := connect(t, e, follower, wire.Options{})
	for p := range parents {
		for n := 0; n < each; n += 500 {
			var ops []wire.Request
			for i := range 500 {
				ops = append(ops, wire.Create(fmt.Sprintf("/p%d/e%d", p, n+i), nil, wire.OpenACL, proto.ModeEphemeral))
			}
			must.Do(owner.Multi(ops...))(t)
		}
	}
	var readers sync.WaitGroup
	for _, id := range []int{leader, follower, other} {
		var told atomic.Int64
		c := connect(t, e, id, wire.Options{Observe: func(p wire.Packet) {
			if p.Event != nil && p.Event.Type == proto.EventNodeDeleted {
				told.Add(1)
			}
		}})
		require.NoError(t, c.Sync("/"))
		watched := []string{"/p0/e0", fmt.Sprintf("/p0/e%d", each/2), fmt.Sprintf("/p1/e%d", each-1)}
		for _, path := range watched {
			c.MustExists(t, path, true)
		}
		readers.Go(func() {
			for left := [parents]int{each, each}; left[1] > 0; {
				left = readParents(t, c)
				if left[1] == each && left[0] == each {
					continue
				}
				if left[1] != 0 || left[0] > created {
					t.Errorf("server %d: %v of %d znodes are there", id, left, each)
				}
				if told.Load() != int64(len(watched)) {
					t.Errorf("server %d: %d events before the reply that shows the end", id, told.Load())
				}
			}
		})
	}
	closed := owner.Send(wire.CloseSession())
	for i := range created {
		_, err := maker.Create(fmt.Sprintf("/p0/e%d", i), nil, proto.ModePersistent)
		if err != nil { // before the session has ended
			require.ErrorIs(t, err, proto.ErrNodeExists)
		}
	}
	require.NoError(t, closed.Wait())
	readers.Wait()
	require.NoError(t, e.WaitEqual(within(t)))
}

// readParents returns how many children /p0 and /p1 have, of one moment.
func readParents(t *testing.T, c *wire.Conn) (count [2]int) {
	slots, err := c.MultiRead(wire.GetChildren("/p0", false), wire.GetChildren("/p1", false))
	if err != nil {
		t.Error(err)
		return count
	}
	for i := range slots {
		count[i] = len(slots[i].Value.(*proto.GetChildrenResponse).Children)
	}
	return count
}
