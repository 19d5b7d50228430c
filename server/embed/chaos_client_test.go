package embed

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

// chaosClient is one session after the other, each of which moves between servers.
type chaosClient struct {
	*chaos
	history.Load
	id      proto.SessionID // of the present session; guarded by chaos.mu
	session *history.Session
}

// replyTimeout is how long a client waits for a reply before it tries another server.
const replyTimeout = 700 * time.Millisecond

func (k *chaosClient) run() {
	for k.over.Err() == nil {
		if k.session == nil {
			if !k.begin() {
				return
			}
		}
		err := k.burst()
		if err == nil && k.Rand.IntN(60) == 0 {
			err = errOver // to another server, while the old connection lives
		}
		if err != nil && !k.move(err) {
			return
		}
		k.pause()
	}
	// The outcome of the last session must be known: it goes on once more.
	for err := errOver; err != nil && k.session != nil; {
		if !k.move(err) {
			return
		}
		if k.session != nil {
			err = k.session.SendAll(wire.Sync("/"))[0].Wait()
		}
	}
	if k.session != nil {
		k.session.Close()
	}
}

func (k *chaosClient) breach(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = append(k.broken, fmt.Sprintf(format, args...))
}

// pause keeps the histories small enough to judge.
func (k *chaosClient) pause() {
	timer := time.NewTimer(time.Duration(k.Rand.IntN(4000)) * time.Microsecond)
	defer timer.Stop()
	<-timer.C
}

// begin opens a new session somewhere.
func (k *chaosClient) begin() bool {
	k.Client = k.chaos.number()
	k.Forget()
	o := wire.Options{TimeoutMs: 60_000, Reply: replyTimeout}
	if k.Rand.IntN(5) == 0 {
		o.TimeoutMs = 300 // may expire at any time
	}
	if k.connect(o) != nil {
		return false
	}
	if o.TimeoutMs < 1000 {
		k.mu.Lock()
		k.hunted[k.id] = true
		k.expired = append(k.expired, k.id)
		k.mu.Unlock()
	}
	return true
}

// connect tries servers until one takes the session, or says that it is over.
func (k *chaosClient) connect(o wire.Options) error {
	for k.finish.Err() == nil {
		addr := k.e.Addr(1 + k.Rand.IntN(len(k.e.members)))
		s, err := k.recorder.Dial(k.Client, addr, o)
		if err == nil || errors.Is(err, wire.ErrRejected) {
			k.mu.Lock()
			k.session, k.id = s, 0
			if err == nil {
				k.id = s.Session()
			}
			k.mu.Unlock()
			return err
		}
		var v *wire.Violation
		if errors.As(err, &v) {
			k.breach("client %d: %v", k.Client, err)
			return err
		}
		k.pause()
	}
	k.breach("client %d: no server", k.Client)
	return errOver
}

// move continues the session at another server. Sometimes the old connection lives until the new one stands, and
// sends a last word.
func (k *chaosClient) move(err error) bool {
	var v *wire.Violation
	if errors.As(err, &v) {
		k.breach("client %d: %v", k.Client, err)
		return false
	}
	old := k.session
	k.Forget()
	o := old.Resume()
	if err != errOver {
		old.Close()
	}
	id := old.Session()
	err = k.connect(o)
	old.Close()
	switch {
	case errors.Is(err, wire.ErrRejected):
		if !k.wasHunted(id) {
			k.breach("client %d: session %v was lost", k.Client, id)
		}
		k.session = nil
		return true
	case err != nil:
		return false
	}
	return true
}

// burst sends a few requests at once and waits for the answers.
func (k *chaosClient) burst() error {
	var failed error
	for _, call := range k.session.SendAll(k.Burst()...) {
		if err := call.Wait(); err != nil {
			return err
		}
		if code := call.Reply.Header.Err; code == proto.ErrSessionExpired || code == proto.ErrSessionMoved {
			failed = code
		}
		k.Learn(call)
	}
	return failed
}
