package ensemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// setter is a client that sets the data of one znode and goes to another server by itself when it has to.
type setter interface {
	// set returns nil if the write was acknowledged. After errExpired there is no use in going on.
	set(data []byte) error
	close()
}

var errExpired = errors.New("the session has expired")

// rawSetter is a connection that is made anew, at the next server, at once.
type rawSetter struct {
	path  string
	addrs []string
	next  int
	o     wire.Options
	conn  *wire.Conn
}

// rawPatience is how long a rawSetter waits for a server.
const rawPatience = 2 * time.Second

func newRawSetter(path string, addrs []string) *rawSetter {
	return &rawSetter{path: path, addrs: addrs, o: wire.Options{TimeoutMs: sessionTimeout, Reply: rawPatience}}
}

func (s *rawSetter) set(data []byte) error {
	if s.conn == nil {
		conn, err := wire.Dial(s.addrs[s.next], s.o)
		if err != nil {
			s.next = (s.next + 1) % len(s.addrs)
			if errors.Is(err, wire.ErrRejected) {
				return errExpired
			}
			time.Sleep(time.Millisecond) // a server that refuses connections is not asked in a tight loop
			return err
		}
		s.conn = conn
	}
	_, err := s.conn.SetData(s.path, data, -1)
	var code proto.ErrCode
	if err != nil && !errors.As(err, &code) {
		s.o = s.conn.Resume()
		s.close()
		s.next = (s.next + 1) % len(s.addrs)
	}
	return err
}

func (s *rawSetter) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// clientSetter is the client of this project.
type clientSetter struct {
	path string
	c    *warren.Client
}

func newClientSetter(path string, addrs []string) (*clientSetter, error) {
	c, err := warren.New(strings.Join(addrs, ","), warren.WithSessionTimeout(sessionTimeout*time.Millisecond))
	return &clientSetter{path: path, c: c}, err
}

func (s *clientSetter) set(data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := s.c.Set(ctx, s.path, data, warren.AnyVersion)
	if errors.Is(err, warren.ErrSessionExpired) {
		return errExpired
	}
	return err
}

func (s *clientSetter) close() { _ = s.c.Close() } // what it has to say was said by set

// writer writes in a loop and remembers when its writes were sent and acknowledged.
type writer struct {
	name   string
	setter setter
	stop   atomic.Bool
	done   chan struct{}

	mu      sync.Mutex
	acks    []ack // in order
	failed  error // errExpired
	refused int   // errors
}

// ack is one acknowledged write.
type ack struct{ sent, acked time.Time }

// startWriters makes a znode for each kind of client and lets them write.
func startWriters(t testing.TB, nodes []*cluster.Node) []*writer {
	t.Helper()
	addrs := cluster.Addrs(nodes)
	conn := must.Do(wire.Dial(addrs[0], wire.Options{}))(t)
	defer conn.Close()
	for _, path := range []string{"/raw", "/client"} {
		conn.MustCreate(t, path, nil, proto.ModePersistent)
	}
	require.NoError(t, conn.CloseSession())
	own := must.Do(newClientSetter("/client", addrs))(t)
	writers := []*writer{
		{name: "bare loop", setter: newRawSetter("/raw", addrs)},
		{name: "client package", setter: own},
	}
	for _, w := range writers {
		w.done = make(chan struct{})
		go w.run()
		t.Cleanup(w.end)
	}
	return writers
}

// pace is how long a writer rests after an acknowledgement: the figures are about waiting, not about throughput.
const pace = time.Millisecond

func (w *writer) run() {
	defer close(w.done)
	defer w.setter.close()
	for n := 0; !w.stop.Load(); n++ {
		sent := time.Now()
		err := w.setter.set(fmt.Appendf(nil, "%d", n))
		w.mu.Lock()
		switch {
		case err == nil:
			w.acks = append(w.acks, ack{sent, time.Now()})
		case errors.Is(err, errExpired):
			w.failed = fmt.Errorf("%s: %w", w.name, err)
			w.mu.Unlock()
			return
		default:
			w.refused++
		}
		w.mu.Unlock()
		if err == nil {
			time.Sleep(pace)
		}
	}
}

// end stops the writer and waits.
func (w *writer) end() {
	w.stop.Store(true)
	<-w.done
}

// find returns the first acknowledgement for which ok holds, once there is one.
func (w *writer) find(t testing.TB, ok func(ack) bool) ack {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for from := 0; ; {
		w.mu.Lock()
		acks, err := w.acks, w.failed
		w.mu.Unlock()
		require.NoError(t, err)
		if i := slices.IndexFunc(acks[from:], ok); i >= 0 {
			return acks[from+i]
		}
		from = len(acks)
		require.True(t, time.Now().Before(deadline), "%s: no write is acknowledged any more", w.name)
		time.Sleep(time.Millisecond)
	}
}

// waitAfter returns the acknowledgement of the first write that was sent after at and acknowledged.
func (w *writer) waitAfter(t testing.TB, at time.Time) ack {
	t.Helper()
	return w.find(t, func(a ack) bool { return a.sent.After(at) })
}

// longestGap is the longest time without an acknowledgement between from and to.
func (w *writer) longestGap(from, to time.Time) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := from
	for _, a := range w.acks {
		if a.acked.Before(from) {
			continue
		}
		if a.acked.After(to) {
			break
		}
		longest, last = max(longest, a.acked.Sub(last)), a.acked
	}
	return max(longest, to.Sub(last))
}
