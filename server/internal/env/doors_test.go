package env

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
)

func TestDoors(t *testing.T) {
	const long = time.Hour
	d := newDoors(sched.OS())
	waits := func() chan bool {
		open := make(chan bool, 1)
		before := d.waitingNow()
		go func() { open <- d.Await(long) }()
		require.Eventually(t, func() bool { return d.waitingNow() > before }, time.Minute, time.Millisecond)
		return open
	}
	require.False(t, d.IsOpen())
	a, b := waits(), waits()
	d.Shut() // the wait goes on
	require.Equal(t, 2, d.waitingNow())
	d.Open()
	require.True(t, <-a)
	require.True(t, <-b)
	require.True(t, d.Await(long))
	require.Zero(t, d.waitingNow())

	d.Shut()
	a = waits()
	d.Bar() // the server leads, and clients are to go to others
	require.False(t, <-a)
	require.False(t, d.Await(long))

	d.Shut()
	require.False(t, d.Await(0), "the setting 0")
	require.False(t, d.Await(time.Millisecond), "the time is over")
	d.mu.shut -= long
	require.False(t, d.Await(long), "no leader for long: it may be for longer")
	d.mu.shut += long
	d.mu.waiting = waitingMax
	require.False(t, d.Await(long), "too many wait already")
}

func (d *Doors) waitingNow() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.waiting
}
