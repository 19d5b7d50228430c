package system

import (
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
)

func TestTasks(t *testing.T) {
	s := newScheduler(1)
	p := s.newProcess("p")
	p.drift = 0.5
	var done []string
	gate := sched.NewGate(p)
	p.Go("waits", func() {
		defer func() { done = append(done, "unwound") }()
		gate.Wait()
		done = append(done, "passed")
		sched.Sleep(p, time.Hour)
		done = append(done, "never")
	})
	p.Go("opens", func() {
		sched.Sleep(p, 3*time.Second)
		require.GreaterOrEqual(t, p.Elapsed(), 3*time.Second)
		require.Less(t, s.now, 2100*time.Millisecond, "the clock of the process is faster")
		gate.Open()
	})
	s.runFor(time.Second)
	require.Empty(t, done)
	s.runFor(4 * time.Second)
	require.Equal(t, []string{"passed"}, done)
	p.kill()
	require.Equal(t, []string{"passed", "unwound"}, done)
	p.Go("late", func() { done = nil })
	s.runFor(2 * time.Hour)
	require.Len(t, done, 2)
	require.NoError(t, s.failure)
}

func TestPause(t *testing.T) {
	s := newScheduler(1)
	p := s.newProcess("p")
	n := 0
	cancel := sched.Every(p, time.Second, func() { n++ })
	s.runFor(2500 * time.Millisecond)
	require.Equal(t, 2, n)
	p.rest()
	s.runFor(10 * time.Second)
	require.Equal(t, 2, n)
	p.goOn()
	s.runFor(100 * time.Millisecond)
	require.Equal(t, 4, n, "one call that is late, and the next")
	cancel()
	s.runFor(10 * time.Second)
	require.Equal(t, 4, n)
}

func TestPanicOfATask(t *testing.T) {
	s := newScheduler(1)
	s.newProcess("p").Go("bad", func() { panic("oh") })
	s.runFor(time.Second)
	require.ErrorContains(t, s.failure, `task "bad" panicked: oh`)
}

func TestStreams(t *testing.T) {
	s := newScheduler(1)
	n := newNetwork(s)
	a, b := s.newProcess("a"), s.newProcess("b")
	ha, hb := n.plug(1, a), n.plug(2, b)
	address := "10.0.0.2:80"
	var got []byte
	var ends []error
	b.Go("serve", func() {
		l, err := hb.listen("", address)
		require.NoError(t, err)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.Go("read", func() {
				all, err := io.ReadAll(c)
				got = append(got, all...)
				ends = append(ends, err)
			})
		}
	})
	s.runFor(time.Second)
	sent := make([]byte, 3*streamMax)
	for i := range sent {
		sent[i] = byte(i % 251)
	}
	a.Go("write", func() {
		c, err := ha.dial(context.Background(), "", address)
		require.NoError(t, err)
		_, err = c.Write(sent)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	})
	s.runFor(10 * time.Second)
	require.Equal(t, sent, got)
	require.Equal(t, []error{nil}, ends)

	n.way(1, 2).close()
	a.Go("cut off", func() {
		began := s.now
		_, err := ha.dial(context.Background(), "", address)
		require.ErrorIs(t, err, syscall.ETIMEDOUT)
		require.GreaterOrEqual(t, s.now-began, dialMax)
	})
	s.runFor(5 * time.Second)
	n.heal()

	late := false
	a.Go("deadline", func() {
		c, err := ha.dial(context.Background(), "", address)
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(a.Now().Add(time.Second)))
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		s.plan(0, nil, "b dies without a word, and is there again", func() {
			b.kill()
			n.unplug(hb, false)
			n.plug(2, s.newProcess("b again"))
		})
		sched.Sleep(a, time.Second)
		_, err = c.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		late = true
	})
	s.runFor(5 * time.Second)
	require.True(t, late)
	require.NoError(t, s.failure)
	a.kill()
}
