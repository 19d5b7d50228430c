package abuse

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// load is the well-behaved clients: each sends a request when it has the answer to the one before.
type load struct {
	clients []*goodClient
	stop    chan struct{}
	done    sync.WaitGroup
}

// goodClient is one of them. Its samples are guarded by mu.
type goodClient struct {
	conn    *wire.Conn
	writes  bool
	mu      sync.Mutex
	samples []sample
	err     error
}

// sample is one request.
type sample struct {
	sent time.Time
	took time.Duration
}

// startLoad connects two readers, and two writers, to each of addrs.
func startLoad(t *testing.T, addrs ...string) *load {
	t.Helper()
	l := &load{stop: make(chan struct{})}
	for i, addr := range addrs {
		for k := range 4 {
			conn := wire.Open(t, addr, wire.Options{TimeoutMs: 30_000})
			c := &goodClient{conn: conn, writes: k%2 == 1}
			conn.MustCreate(t, fmt.Sprintf("/good-%d-%d", i, k), make([]byte, 128), proto.ModePersistent)
			l.clients = append(l.clients, c)
			l.done.Go(func() { c.run(fmt.Sprintf("/good-%d-%d", i, k), l.stop) })
		}
	}
	t.Cleanup(l.end)
	return l
}

// run sends requests, five hundred a second at most: the load is there to measure, not to fill the machine.
func (c *goodClient) run(path string, stop <-chan struct{}) {
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	data := make([]byte, 128)
	for {
		select {
		case <-stop:
			return
		case <-pace.C:
		}
		sent := time.Now()
		var err error
		if c.writes {
			_, err = c.conn.SetData(path, data, -1)
		} else {
			_, _, err = c.conn.GetData(path, false)
		}
		c.mu.Lock()
		c.samples = append(c.samples, sample{sent, time.Since(sent)})
		c.err = err
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// window is what the requests took that were sent in some time.
type window struct {
	requests                             int
	readP99, readMax, writeP99, writeMax time.Duration
}

// measure returns what the requests took that were sent while fn ran, and until one of them was answered. It fails if
// a client has had an error.
func (l *load) measure(t *testing.T, fn func()) window {
	t.Helper()
	began := time.Now()
	fn()
	w, err := l.between(began, time.Now())
	for watch := cluster.NewWatch(); err == nil && w.requests == 0 && watch.Elapsed() < time.Minute; {
		time.Sleep(time.Millisecond)
		w, err = l.between(began, time.Now())
	}
	require.NoError(t, err, "of a good client")
	return w
}

// between returns what the requests took that were sent in [from, to), or the first error of a client.
func (l *load) between(from, to time.Time) (window, error) {
	var reads, writes []time.Duration
	for _, c := range l.clients {
		c.mu.Lock()
		err := c.err
		for _, s := range c.samples {
			switch {
			case s.sent.Before(from) || !s.sent.Before(to):
			case c.writes:
				writes = append(writes, s.took)
			default:
				reads = append(reads, s.took)
			}
		}
		c.mu.Unlock()
		if err != nil {
			return window{}, err
		}
	}
	w := window{requests: len(reads) + len(writes)}
	w.readP99, w.readMax = tail(reads)
	w.writeP99, w.writeMax = tail(writes)
	return w, nil
}

// tail is the 99th percentile and the largest of some times, 0 if there are none.
func tail(took []time.Duration) (p99, most time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)*99/100], took[len(took)-1]
}

// end closes the clients. It may be called again.
func (l *load) end() {
	select {
	case <-l.stop:
		return
	default:
	}
	close(l.stop)
	l.done.Wait()
	for _, c := range l.clients {
		c.conn.Close()
	}
}
