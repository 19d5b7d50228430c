package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

// guarded is what a test changes while a client reads it.
type guarded struct{ mu sync.Mutex }

func (g *guarded) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// served returns a connection to a server that answers at once, and the server's end of it.
func served() (near, far net.Conn) {
	near, far = net.Pipe()
	go pipeServer(far, time.Minute, func() bool { return true }, func() {})
	return near, far
}

// nameServer answers as a test wants it.
type nameServer struct {
	guarded
	answers map[string][]string
	fails   error
	late    time.Duration
	silent  bool
	asking  int // lookups that have not ended
	most    int // the largest number of them
}

func (s *nameServer) resolve(ctx context.Context, host string) ([]string, error) {
	s.mu.Lock()
	s.asking++
	s.most = max(s.most, s.asking)
	answer, err, silent, late := s.answers[host], s.fails, s.silent, s.late
	s.mu.Unlock()
	defer s.set(func() { s.asking-- })
	if silent {
		late = time.Hour
	}
	select {
	case <-time.After(late):
		return answer, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errServFail = errors.New("server misbehaving")

// site is servers at a few addresses.
type site struct {
	mu     sync.Mutex
	up     map[string]bool // addresses without an entry do not answer, those with false refuse
	dialed []string
	live   net.Conn
}

func (s *site) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	s.mu.Lock()
	s.dialed = append(s.dialed, addr)
	up, ok := s.up[addr]
	s.mu.Unlock()
	if !ok {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !up {
		return nil, errors.New("refused")
	}
	near, far := served()
	s.mu.Lock()
	s.live = far
	s.mu.Unlock()
	return near, nil
}

// change changes the servers, ends the connection that stands, and forgets what was dialled.
func (s *site) change(up map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up, s.dialed = up, nil
	_ = s.live.Close()
}

// connected starts a client of the servers a and b, and waits until it is connected and knows both.
func (s *site) connected(t *testing.T, names *nameServer) *Client {
	t.Helper()
	c, err := New("a:1,b:1", WithDialer(s.dial), WithResolver(names.resolve), WithSessionTimeout(time.Minute))
	require.NoError(t, err)
	require.NoError(t, c.WaitConnected(t.Context()))
	time.Sleep(time.Second)
	synctest.Wait()
	return c
}

// A client whose name server falls silent, or fails, finds all servers of its connect string all the same,
// although it was connected to one of them only.
func TestNameServerGoesAway(t *testing.T) {
	for name, goAway := range map[string]func(*nameServer){
		"silent": func(s *nameServer) { s.silent = true },
		"fails":  func(s *nameServer) { s.fails = errServFail },
	} {
		for _, survivor := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
			synctest.Test(t, func(t *testing.T) {
				names := &nameServer{answers: map[string][]string{"a": {"192.0.2.1"}, "b": {"192.0.2.2"}}}
				s := &site{up: map[string]bool{"192.0.2.1:1": true, "192.0.2.2:1": true}}
				c := s.connected(t, names)
				names.set(func() { goAway(names) })
				up := map[string]bool{"192.0.2.1:1": false, "192.0.2.2:1": false}
				up[survivor] = true
				s.change(up)
				began := time.Now()
				synctest.Wait()
				require.NoError(t, c.WaitConnected(t.Context()))
				require.LessOrEqual(t, time.Since(began), 2*answerWait+100*time.Millisecond, name)
				require.NoError(t, c.Close())
				synctest.Wait()
				names.set(func() {
					require.LessOrEqual(t, names.most, 2, "one lookup of a name at a time")
					require.Zero(t, names.asking)
				})
			})
		}
	}
}

// A server that has moved is found at its new address as soon as the name server says so, although the old one
// does not answer.
func TestServerThatMoved(t *testing.T) {
	for _, v := range []struct {
		late time.Duration
		old  bool // the old address is tried
	}{{0, false}, {answerWait / 2, false}, {3 * answerWait, true}} {
		synctest.Test(t, func(t *testing.T) {
			names := &nameServer{answers: map[string][]string{"a": {"192.0.2.1"}}}
			s := &site{up: map[string]bool{"192.0.2.1:1": true}}
			c, err := New("a:1", WithDialer(s.dial), WithResolver(names.resolve), WithSessionTimeout(time.Minute))
			require.NoError(t, err)
			require.NoError(t, c.WaitConnected(t.Context()))
			time.Sleep(time.Second)
			names.set(func() { names.late, names.answers = v.late, map[string][]string{"a": {"192.0.2.7"}} })
			s.change(map[string]bool{"192.0.2.7:1": true})
			began := time.Now()
			synctest.Wait()
			require.NoError(t, c.WaitConnected(t.Context()))
			require.LessOrEqual(t, time.Since(began), 2*v.late+200*time.Millisecond)
			want := []string{"192.0.2.7:1"}
			if v.old {
				want = []string{"192.0.2.1:1", "192.0.2.7:1"}
			}
			require.NoError(t, c.Close())
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Equal(t, want, s.dialed)
		})
	}
}

// The addresses that a name had when the client connected are not tried days later: the name is looked up when the
// connection is lost, even if it had more addresses than one. The address that was lost is not the first to be tried.
func TestServersOfOneNameThatMoved(t *testing.T) {
	for range 20 { // the order of addresses is random
		synctest.Test(t, func(t *testing.T) {
			names := &nameServer{answers: map[string][]string{"a": {"192.0.2.1", "192.0.2.2", "192.0.2.3"}}}
			s := &site{up: map[string]bool{"192.0.2.1:1": true, "192.0.2.2:1": true, "192.0.2.3:1": true}}
			c, err := New("a:1", WithDialer(s.dial), WithResolver(names.resolve), WithSessionTimeout(time.Minute))
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.WaitConnected(t.Context()))
			time.Sleep(24 * time.Hour)
			was := c.State().Server
			s.change(s.up)
			synctest.Wait()
			require.NoError(t, c.WaitConnected(t.Context()))
			require.NotEqual(t, was, c.State().Server)

			names.set(func() { names.answers = map[string][]string{"a": {"192.0.2.7", "192.0.2.8"}} })
			s.change(map[string]bool{"192.0.2.7:1": true, "192.0.2.8:1": true})
			synctest.Wait()
			require.NoError(t, c.WaitConnected(t.Context()))
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Len(t, s.dialed, 1, s.dialed)
		})
	}
}

// A name without a known address does not keep the client from the other servers.
func TestNameThatDoesNotResolve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &nameServer{silent: true}
		s := &site{up: map[string]bool{"192.0.2.2:1": true}}
		began := time.Now()
		c := require.Do(New("a:1,192.0.2.2:1", WithDialer(s.dial), WithResolver(names.resolve),
			WithConnectTimeout(time.Second)))(t)
		require.NoError(t, c.WaitConnected(t.Context()))
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.NoError(t, c.Close())

		h := newHosts([]string{"a:1"}, newNames(t.Context(), names.resolve), time.Second)
		_, isLast, err := h.pick(t.Context())
		require.True(t, isLast)
		require.EqualError(t, err, "client: resolve a: the name server does not answer")
		synctest.Wait()
	})
}

// The search for a server with quorum does not need the name server either.
func TestSeekWithoutANameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := newNames(t.Context(), (&nameServer{answers: map[string][]string{"a": {"192.0.2.1"}}}).resolve)
		s := &site{up: map[string]bool{"192.0.2.1:1": false}}
		cfg := defaultConfig()
		cfg.dial = s.dial
		seeker := &session{cfg: &cfg, hosts: newHosts([]string{"a:1"}, names, time.Second)}
		require.False(t, seeker.isReadWrite(t.Context(), "a:1"))
		names.resolve = (&nameServer{fails: errServFail}).resolve
		require.False(t, seeker.isReadWrite(t.Context(), "a:1"))
		require.False(t, seeker.isReadWrite(t.Context(), "other:1"))
		require.Equal(t, []string{"192.0.2.1:1", "192.0.2.1:1"}, s.dialed)
	})
}
