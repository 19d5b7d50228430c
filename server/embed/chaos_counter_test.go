package embed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
)

// counters is a set of programs with the native client, which count together: each adds one if no other program
// has since its read. None of their sessions may end.
type counters struct {
	*chaos
	clients        []*client.Client
	known, unknown atomic.Int64 // additions that were acknowledged, and that may have happened
}

const counterClients = 3

// startCounters begins to count, until the faults are over.
func (c *chaos) startCounters(wg *sync.WaitGroup) *counters {
	n := &counters{chaos: c}
	for i := range counterClients {
		k := must.Do(client.Dial(c.finish, c.e.ConnectString(), client.WithSessionTimeout(time.Minute),
			client.WithConnectTimeout(time.Second), client.WithBackoff(0, 20*time.Millisecond)))(c)
		n.clients = append(n.clients, k)
		c.Cleanup(func() { _ = k.Close() })
		n.make(k, "/count", []byte("0"), client.Persistent)
		n.make(k, n.name(i), nil, client.Ephemeral)
		wg.Go(func() { n.count(i, k) })
	}
	wg.Go(func() { n.follow(n.clients[0]) })
	return n
}

// make makes sure that a znode exists.
func (n *counters) make(k *client.Client, path string, data []byte, mode client.Mode) {
	_, err := k.Create(n.finish, path, data, mode)
	for errors.Is(err, client.ErrConnectionLoss) { // on a busy machine servers may lose each other at any time
		_, err = k.Create(n.finish, path, data, mode)
	}
	if !errors.Is(err, client.ErrNodeExists) {
		require.NoError(n, err)
	}
}

func (n *counters) name(i int) string { return fmt.Sprintf("/counter-%d", i) }

func (n *counters) breach(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = append(n.broken, fmt.Sprintf(format, args...))
}

// count adds ones.
func (n *counters) count(i int, k *client.Client) {
	var seen client.Stat
	for n.over.Err() == nil {
		ctx, cancel := context.WithTimeout(n.finish, replyTimeout)
		data, stat, err := k.Get(ctx, "/count")
		if err == nil {
			if stat.Version < seen.Version {
				n.breach("counter %d: version %d after %d", i, stat.Version, seen.Version)
			}
			if string(data) != strconv.Itoa(int(stat.Version)) {
				n.breach("counter %d: %q at version %d", i, data, stat.Version)
			}
			seen = stat
			stat, err = k.Set(ctx, "/count", []byte(strconv.Itoa(int(stat.Version)+1)), stat.Version)
			switch {
			case err == nil:
				n.known.Add(1)
				seen = stat
			case client.MayHaveApplied(err):
				n.unknown.Add(1)
			}
		}
		cancel()
		pause := time.NewTimer(time.Millisecond)
		<-pause.C
	}
}

// follow watches the counter grow.
func (n *counters) follow(k *client.Client) {
	last := int32(-1)
	for node, err := range k.Follow(n.over, "/count") {
		if err != nil {
			if n.over.Err() == nil {
				n.breach("following the counter: %v", err)
			}
			return
		}
		if node.Stat.Version < last {
			n.breach("the counter went back from %d to %d", last, node.Stat.Version)
		}
		last = node.Stat.Version
	}
}

// judge compares the counter with what was counted.
func (n *counters) judge() {
	for i, k := range n.clients {
		if st := k.State(); st.State == client.Expired {
			n.breach("counter %d: session %v has expired", i, st.SessionID)
			continue
		}
		var stat client.Stat
		err := k.Sync(n.finish, "/")
		for err != nil || stat.Mzxid == 0 { // a server that is held up sends its clients away at any time
			require.NoError(n, n.finish.Err(), "%v\n%s", err, n.describe())
			if err == nil {
				_, stat, err = k.Get(n.finish, "/count")
			} else {
				err = k.Sync(n.finish, "/")
			}
		}
		if v := int64(stat.Version); v < n.known.Load() || v > n.known.Load()+n.unknown.Load() {
			n.breach("the counter is at %d: %d were acknowledged and %d more may have happened", v, n.known.Load(),
				n.unknown.Load())
		}
		id, _ := k.Session()
		var ok bool
		require.NoError(n, client.Retry(n.finish, func(ctx context.Context) (err error) {
			stat, ok, err = k.Exists(ctx, n.name(i))
			return err
		}))
		if !ok || stat.EphemeralOwner != id {
			n.breach("counter %d: session %v lives, its ephemeral is %v with owner %v", i, id, ok, stat.EphemeralOwner)
		}
		if err := k.Close(); !client.MayHaveApplied(err) { // a server that is held up sends its clients away
			require.NoError(n, err)
		}
	}
}
