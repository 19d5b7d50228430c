package sched

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(OS())
		require.False(t, g.WaitFor(time.Second))
		passed := make(chan bool, 3)
		for range 2 {
			go func() { g.Wait(); passed <- true }()
		}
		go func() { passed <- g.WaitFor(time.Hour) }()
		synctest.Wait()
		require.Empty(t, passed)
		g.Open()
		g.Open()
		synctest.Wait()
		require.Len(t, passed, 3)
		for range 3 {
			require.True(t, <-passed)
		}
		g.Wait()
		require.True(t, g.WaitFor(time.Hour))
		require.True(t, g.IsOpen())
	})
}

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		cancel := Every(OS(), 10*time.Millisecond, func() { n.Add(1) })
		Sleep(OS(), 105*time.Millisecond)
		require.EqualValues(t, 10, n.Load())
		cancel()
		cancel()
		Sleep(OS(), time.Second)
		require.EqualValues(t, 10, n.Load())
	})
}

func TestParker(t *testing.T) {
	p := OS().Parker()
	p.Unpark()
	p.Unpark()
	p.Park()
	done := make(chan bool)
	go func() { p.Park(); close(done) }()
	p.Unpark()
	<-done
}

func TestMutex(t *testing.T) {
	m := NewMutex(OS())
	n := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				m.Lock()
				n++
				m.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, 8000, n)
}

func TestGroupEndsWithItsLastGoroutine(t *testing.T) {
	g := NewGroup(OS())
	begun, end := NewGate(OS()), NewGate(OS())
	require.True(t, g.Go("one", func() { begun.Open(); end.Wait() }))
	begun.Wait()
	g.Close()
	g.Close()
	require.False(t, g.Go("late", func() { t.Error("it runs after Close") }))
	require.False(t, g.ended.IsOpen())
	end.Open()
	g.Wait()
	empty := NewGroup(OS())
	empty.Close()
	empty.Wait()
}
