package peers

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// script is a Listen that fails as it is told, and then binds a free port.
type script struct {
	mu       sync.Mutex
	failures []error
	asked    []string
	bound    []string
}

func (s *script) configure(cfg *Config) { cfg.Listen = s.listen }

func (s *script) listen(_, address string) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, address)
	if len(s.failures) > 0 {
		err := s.failures[0]
		s.failures = s.failures[1:]
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		s.bound = append(s.bound, address)
	}
	return ln, err
}

func (s *script) isBound(n int) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.bound) == n
	}
}

func repeat(err error, n int) []error { return slices.Repeat([]error{err}, n) }

// A port in use is tried a few times and then given up, with a reason.
func TestPortInUse(t *testing.T) {
	inUse := &net.OpError{Op: "listen", Err: syscall.EADDRINUSE}
	w := newWorld(t, 2, 3)
	s := &script{failures: repeat(inUse, 3)}
	failed := make(chan error, 1)
	three := w.start(3, s.configure, func(cfg *Config) {
		cfg.BindAttempts = 3
		cfg.Failed = func(err error) { failed <- err }
	})
	err := <-failed
	var bind *BindError
	require.ErrorAs(t, err, &bind)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.Equal(t, "election", bind.Port)
	require.Equal(t, w.member(3).Election[0], bind.Addr)
	require.EqualError(t, err,
		"peers: cannot listen on "+bind.Addr+" for the election port: listen: address already in use")
	require.EqualValues(t, 3, three.peers.Stats().BindFailures)

	s = &script{failures: repeat(inUse, 2)}
	w.start(3, s.configure, func(cfg *Config) { cfg.BindAttempts = 3 })
	require.Eventually(t, s.isBound(1), patience, time.Millisecond)

	s = &script{failures: repeat(inUse, 20)}
	w.start(3, s.configure, func(cfg *Config) { cfg.BindAttempts = 0 })
	require.Eventually(t, s.isBound(1), patience, time.Millisecond)
}

// A name of this server that does not resolve yet, or to an address that is not here yet, is waited for.
func TestNameAppearsLater(t *testing.T) {
	for _, err := range []error{&net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "zk-0"}},
		&net.OpError{Op: "listen", Err: syscall.EADDRNOTAVAIL}} {
		w := newWorld(t, 2, 3)
		w.members[2].Election = []string{"zk-0.example:3888"}
		s := &script{failures: repeat(err, 20)}
		w.start(3, s.configure, func(cfg *Config) {
			cfg.BindAttempts = 3
			cfg.Failed = func(err error) { t.Error(err) }
		})
		require.Eventually(t, s.isBound(1), patience, time.Millisecond)
	}
}

// Every address is bound once, and an observer has no learner port.
func TestAddresses(t *testing.T) {
	members := []Member{
		{ID: 1, Election: []string{"127.0.0.1:1", "[::1]:1", "127.0.0.1:1", "10.0.0.1:2"},
			Quorum: []string{"127.0.0.1:3", "[::1]:3"}},
		{ID: 2, Election: []string{"127.0.0.1:4"}, Quorum: []string{"127.0.0.1:5"}, Observer: true},
	}
	for _, v := range []struct {
		id   int
		all  bool
		want []string
	}{
		{1, false, []string{"127.0.0.1:1", "[::1]:1", "10.0.0.1:2", "127.0.0.1:3", "[::1]:3"}},
		{1, true, []string{":1", ":2", ":3"}},
		{2, false, []string{"127.0.0.1:4"}},
		{2, true, []string{":4"}},
	} {
		s := &script{}
		w := &world{t: t, members: members, hosts: map[proto.ServerID]*host{}}
		h := w.start(members[v.id-1].ID, s.configure, func(cfg *Config) { cfg.ListenAllIPs = v.all })
		require.Equal(t, v.want, s.asked)
		h.stop()
	}
}

// flaky is a listener whose Accept fails now and then.
type flaky struct {
	net.Listener
	calls int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.calls++; f.calls%2 == 1 {
		return nil, syscall.EMFILE
	}
	return f.Listener.Accept()
}

// Accepting goes on after a failure.
func TestAcceptFails(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3, func(cfg *Config) {
		listen := cfg.Listen
		cfg.Listen = func(network, address string) (net.Listener, error) {
			ln, err := listen(network, address)
			return &flaky{Listener: ln}, err
		}
	})
	follower := w.start(1)
	follower.follow(leader)
	follower.peers.SendElection(vote(3, 1))
	leader.heard(1, 1)
}

// Stop ends what waits for a port.
func TestStopWhileBinding(t *testing.T) {
	w := newWorld(t, 2, 3)
	s := &script{failures: repeat(errors.New("never"), 1_000_000)}
	h := w.start(3, s.configure, func(cfg *Config) { cfg.BindAttempts, cfg.Timeouts.BindPause = 0, time.Hour })
	h.stop()
	require.Len(t, s.asked, 1)
}

func TestValidate(t *testing.T) {
	valid := func() Config {
		cfg := testConfig(t, 1, []Member{{ID: 1, Election: []string{"a:1"}, Quorum: []string{"a:2"}},
			{ID: 2, Election: []string{"b:1"}, Quorum: []string{"b:2"}}})
		cfg.Handler = &host{}
		return cfg
	}
	must.Do(New(valid()))(t)
	for want, change := range map[string]func(*Config){
		"Handler is missing":                      func(c *Config) { c.Handler = nil },
		"Limits":                                  func(c *Config) { c.Limits.DataMax = 0 },
		"ConfigTextMax at most 524244":            func(c *Config) { c.Limits.ConfigTextMax = 1 << 20 },
		"ChunkMin is at least 4096":               func(c *Config) { c.Limits.ChunkMin = 4000 },
		"ChunkMax at least ChunkMin":              func(c *Config) { c.Limits.ChunkMax = 5000 },
		"RedialMax at least RedialMin":            func(c *Config) { c.Timeouts.RedialMax = 0 },
		"all are positive":                        func(c *Config) { c.Timeouts.Connect = 0 },
		"server 7 is not in the ensemble":         func(c *Config) { c.ID = 7 },
		"server id -1 is out of range":            func(c *Config) { c.Members[1].ID = -1 },
		"server id 1 is out of range or given":    func(c *Config) { c.Members[1].ID = 1 },
		"server 2 has no address":                 func(c *Config) { c.Members[1].Quorum = nil },
		"address of server 2: address b: missing": func(c *Config) { c.Members[1].Election[0] = "b" },
	} {
		cfg := valid()
		change(&cfg)
		require.ErrorContains(t, must.Err(New(cfg)), want)
	}
}
