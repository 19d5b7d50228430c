package env

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
)

const (
	// stallMax is how long clients may wait for the locks of the server before it is not alive any more.
	stallMax = 5 * time.Second
	// probePatience is how long one probe waits for the locks: less than the second that probes usually have.
	probePatience = 500 * time.Millisecond
	// probeFresh is how long the answer to one probe is good for others.
	probeFresh = time.Second
)

// Liveness finds out whether clients can be served, by asking for the locks that their requests take. At most one
// goroutine asks at a time: where it hangs, more would hang.
type Liveness struct {
	env *Env
	// take returns when it has had each of the locks.
	take func()

	mu    sync.Mutex
	begun bool          // there are locks to be asked for: the server has served
	since time.Duration // when the last goroutine began to ask
	got   *sched.Gate   // open when it has got them; nil before the first
	told  bool          // the log says that it has not
}

// NewLiveness returns a Liveness. take must return when it has had each of the locks that requests take, one after the
// other. It is not called before the server has served.
func NewLiveness(e *Env, take func()) *Liveness { return &Liveness{env: e, take: take} }

// Stalled returns for how long the locks that every client needs have not been free, 0 if that is no longer than a
// busy server may take. It returns soon in any case. The first probe of a server that stands begins the time, so a
// later one fails. A server that has never served has nothing to ask for.
func (l *Liveness) Stalled() time.Duration {
	got, since := l.ask()
	if got == nil || got.WaitFor(probePatience) {
		return 0
	}
	stalled := l.env.Runtime.Elapsed() - since
	if stalled < stallMax {
		return 0
	}
	if l.tell(got) {
		l.env.Log.Error("this server is stuck: clients are waiting for locks that have not been released",
			zap.Duration("for", stalled))
	}
	return stalled
}

// ask returns what a goroutine opens when it has got the locks, and since when it asks for them. The result is nil if
// nothing has to be asked.
func (l *Liveness) ask() (got *sched.Gate, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun = l.begun || l.env.Doors.InService(); !l.begun {
		return nil, 0
	}
	if now := l.env.Runtime.Elapsed(); l.got == nil || l.got.IsOpen() {
		if l.got != nil && now-l.since < probeFresh {
			return nil, 0
		}
		got := sched.NewGate(l.env.Runtime)
		if !l.env.Spawn("liveness", func() { l.take(); got.Open() }) {
			return nil, 0 // the server has stopped
		}
		l.got, l.since, l.told = got, now, false
	}
	return l.got, l.since
}

// tell reports whether the log has to say that a goroutine has not got the locks.
func (l *Liveness) tell(got *sched.Gate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.got == got && !l.told
	l.told = l.told || first
	return first
}
