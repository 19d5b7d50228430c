package sched

import (
	"sync/atomic"
	"time"
)

// Go's monotonic clock stands still while the machine is suspended. A lease on such a clock would go on where it
// stopped, and a server would answer clients whose sessions have ended long ago. The clock of the kernel that does
// not stand still takes a system call to read. But the wall clock, which comes with the other at no cost, goes on
// too: so the system call is made only when the wall clock and the monotonic clock have moved apart, because of a
// suspension or because the wall clock was set. The pause of a virtual machine that its kernel does not hear of is
// not seen.

// began is the moment that Elapsed counts from.
var began = time.Now()

// suspensions is the time in which the machine was suspended since the process began.
var suspensions = newSuspended(began, suspended())

// apartMax is how far the two clocks move apart before the system call is made.
const apartMax = 100 * time.Millisecond

// sinceBegan is Elapsed of the operating system.
func sinceBegan() time.Duration {
	now := time.Now()
	running := now.Sub(began)
	return running + suspensions.at(now.UnixNano(), running, suspended)
}

// suspendedTime adds up suspensions.
type suspendedTime struct {
	// what the wall clock was ahead of the time that the machine has run, ns, when that was looked at
	apart atomic.Int64
	total atomic.Int64 // suspended since the beginning, ns
	first int64        // what the kernel said at the beginning
}

// newSuspended begins at a time of the wall clock, when the machine had been suspended for a time since it was
// booted.
func newSuspended(wall time.Time, before time.Duration) *suspendedTime {
	s := &suspendedTime{first: int64(before)}
	s.apart.Store(wall.UnixNano())
	return s
}

// at returns for how long the machine was suspended, at a time of the wall clock at which the machine has run for
// some time. ask returns what the kernel says, since the machine was booted.
func (s *suspendedTime) at(wall int64, running time.Duration, ask func() time.Duration) time.Duration {
	apart := wall - int64(running)
	if d := time.Duration(apart - s.apart.Load()); d > apartMax || d < -apartMax {
		total := int64(ask()) - s.first
		for old := s.total.Load(); total > old && !s.total.CompareAndSwap(old, total); old = s.total.Load() {
		}
		s.apart.Store(apart)
	}
	return time.Duration(s.total.Load())
}
