package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// nameServer answers as a test wants it.
type nameServer struct {
	mu      sync.Mutex
	answers map[string][]string
	fails   error
	silent  bool
	asking  map[string]int // lookups that have not ended, by name
	most    int            // the largest number of them for one name
	asked   int
}

func newNameServer(answers map[string][]string) *nameServer {
	return &nameServer{answers: answers, asking: map[string]int{}}
}

func (s *nameServer) resolve(ctx context.Context, host string) ([]string, error) {
	s.mu.Lock()
	s.asked++
	s.asking[host]++
	s.most = max(s.most, s.asking[host])
	answer, err, silent := s.answers[host], s.fails, s.silent
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking[host]--
	}()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return answer, err
}

func (s *nameServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// configure makes the server use s, and the addresses that a Peers before has learned.
func (s *nameServer) configure(known map[string][]string) func(*Config) {
	return func(cfg *Config) { cfg.Resolve, cfg.Known = s.resolve, known }
}

var errServFail = errors.New("server misbehaving")

// named gives the members names in place of their addresses, which stay those of w.ports.
func (w *world) named() (answers map[string][]string) {
	answers = map[string][]string{}
	for i := range w.members {
		m := &w.members[i]
		name := fmt.Sprintf("zk-%d.example", m.ID)
		answers[name] = []string{"127.0.0.1"}
		for _, list := range [][]string{m.Election, m.Quorum} {
			_, port := split(list[0])
			list[0] = net.JoinHostPort(name, port)
		}
	}
	return answers
}

// meet lets one and three exchange notifications of a round, and lets one follow three.
func meetBoth(one, three *host, round int64) {
	one.w.t.Helper()
	one.peers.SendElection(vote(3, round))
	three.heard(1, round)
	three.peers.SendElection(vote(1, round))
	one.heard(3, round)
	one.follow(three)
}

// resolved waits until h knows the addresses of all names.
func (h *host) resolved(answers map[string][]string) {
	h.w.t.Helper()
	require.Eventually(h.w.t, func() bool {
		n := h.peers.names
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.mu.known) == len(answers) && len(n.mu.lookups) == 0
	}, patience, time.Millisecond)
}

// A name server that falls silent, or fails, costs no server a connection: neither for elections nor to a leader.
func TestNameServerGoesAway(t *testing.T) {
	for name, goAway := range map[string]func(*nameServer){
		"silent": func(s *nameServer) { s.silent = true },
		"fails":  func(s *nameServer) { s.fails = errServFail },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, 3)
			s := newNameServer(w.named())
			one, three := w.start(1, s.configure(nil)), w.start(3, s.configure(nil))
			one.resolved(s.answers)
			three.resolved(s.answers)
			s.set(func() { goAway(s) })
			began := time.Now()
			meetBoth(one, three, 1)
			require.Less(t, time.Since(began), 2*time.Second)
		})
	}
}

// A server that restarts while the name server is away binds its ports and finds the others with the addresses that
// it has learned before.
func TestRestartWithoutANameServer(t *testing.T) {
	w := newWorld(t, 3, 3)
	answers := w.named()
	s := newNameServer(answers)
	learned := make(chan map[string][]string, 10)
	three := w.start(3, s.configure(nil))
	one := w.start(1, s.configure(nil), func(cfg *Config) {
		cfg.Learned = func(known map[string][]string) { learned <- known }
	})
	three.resolved(answers)
	one.resolved(answers)
	known := <-learned
	for len(known) < len(answers) {
		known = <-learned
	}
	require.Equal(t, answers, known)
	one.stop()
	s.set(func() { s.silent = true })
	one = w.start(1, s.configure(known))
	meetBoth(one, three, 2)
}

// What is known from before is a hint: what is no address is dropped, and so is the name of a server that is no
// member.
func TestKnownThatIsOfNoUse(t *testing.T) {
	w := newWorld(t, 3, 3)
	s := newNameServer(w.named())
	s.silent = true
	one := w.start(1, s.configure(map[string][]string{
		"zk-2.example": {"not an address"}, "zk-3.example": {"zk-3.example", "127.0.0.1"},
		"old.example": {"127.0.0.1"}}))
	n := one.peers.names
	n.mu.Lock()
	defer n.mu.Unlock()
	require.Equal(t, map[string][]string{"zk-3.example": {"127.0.0.1"}}, n.mu.known)
}

// A server that has moved is found at once at its new address, although the old one does not answer; no connection is
// tried at the old address while the name server answers in time.
func TestServerThatMoved(t *testing.T) {
	const old = "192.0.2.1"
	for name, v := range map[string]struct {
		late  time.Duration // of the name server
		tried bool          // the old address is tried
	}{"in time": {0, false}, "late": {200 * time.Millisecond, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var tried []string
				p := dialler(t, func(cfg *Config) {
					cfg.Timeouts.Stagger = time.Hour
					cfg.Known = map[string][]string{"b": {old}}
					cfg.Resolve = func(context.Context, string) ([]string, error) {
						time.Sleep(v.late)
						return []string{"192.0.2.7"}, nil
					}
					cfg.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
						mu.Lock()
						tried = append(tried, address)
						mu.Unlock()
						if address == old+":2" {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						near, _ := net.Pipe()
						return near, nil
					}
				})
				began := time.Now()
				nc := must.Do(p.dialAny(t.Context(), []string{"b:2"}, false))(t)
				require.Equal(t, v.late, time.Since(began))
				require.NoError(t, nc.Close())
				want := []string{"192.0.2.7:2"}
				if v.tried {
					want = append([]string{old + ":2"}, want...)
				}
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, want, tried)
			})
		})
	}
}

// dialler returns a Peers that is not started and has one other member, b.
func dialler(t *testing.T, configure func(*Config)) *Peers {
	t.Helper()
	cfg := testConfig(t, 1, []Member{{ID: 1, Election: []string{"127.0.0.1:1"}, Quorum: []string{"127.0.0.1:2"}},
		{ID: 2, Election: []string{"b:1"}, Quorum: []string{"b:2"}}})
	cfg.Handler = &host{}
	configure(&cfg)
	p := must.Do(New(cfg))(t)
	p.names.mu.members = map[string]bool{"b": true}
	t.Cleanup(p.Stop)
	return p
}

// A connection to a last known address ends when the name turns out to lead elsewhere, and lasts otherwise.
func TestConnectionToAWrongAddress(t *testing.T) {
	for _, answer := range []string{"192.0.2.1", "192.0.2.7"} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			p := dialler(t, func(cfg *Config) {
				cfg.Known = map[string][]string{"b": {"192.0.2.1"}}
				cfg.Resolve = func(context.Context, string) ([]string, error) {
					time.Sleep(time.Second)
					return []string{answer}, nil
				}
				cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return near, nil }
			})
			began := time.Now()
			must.Do(p.dialAny(t.Context(), []string{"b:2"}, false))(t)
			require.Equal(t, p.cfg.Timeouts.Resolve, time.Since(began))
			require.NoError(t, far.SetReadDeadline(time.Now().Add(time.Hour)))
			_, err := far.Read(make([]byte, 1))
			var timeout net.Error
			require.Equal(t, answer == "192.0.2.1", errors.As(err, &timeout) && timeout.Timeout(), "%v", err)
			near.Close()
		})
	}
}

// All last known addresses that fail end the attempt, though the name server is silent: the next one comes soon.
func TestKnownAddressesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialler(t, func(cfg *Config) {
			cfg.Known = map[string][]string{"b": {"192.0.2.1", "192.0.2.2"}}
			s := newNameServer(nil)
			s.silent = true
			cfg.Resolve = s.resolve
			cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		})
		began := time.Now()
		// the name server is known to be slow from then on
		for _, want := range []time.Duration{p.cfg.Timeouts.Resolve, 0, 0} {
			require.ErrorContains(t, must.Err(p.dialAny(t.Context(), []string{"b:2"}, false)), "refused\nrefused")
			require.Equal(t, want, time.Since(began))
			began = time.Now()
		}
	})
}

// Without a known address the answer is waited for, as long as an attempt may take; a failure ends it at once.
func TestNoAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNameServer(nil)
		p := dialler(t, s.configure(nil))
		began := time.Now()
		_, err := p.dialAny(t.Context(), []string{"b:2"}, false)
		require.ErrorContains(t, err, "peers: resolve b: no address")
		s.set(func() { s.fails = errServFail })
		require.ErrorIs(t, must.Err(p.dialAny(t.Context(), []string{"b:2"}, false)), errServFail)
		require.Zero(t, time.Since(began))
		s.set(func() { s.silent = true })
		require.ErrorIs(t, must.Err(p.dialAny(t.Context(), []string{"b:2"}, false)), context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), p.cfg.Timeouts.Connect+p.cfg.Timeouts.Stagger)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		require.ErrorIs(t, must.Err(p.dialAny(ctx, []string{"b:2"}, false)), context.Canceled)
		require.LessOrEqual(t, time.Since(began), time.Second+p.cfg.Timeouts.Stagger)
	})
}

// However often a name is needed, there is one lookup of it at a time, and its end is that of its deadline or of
// Stop.
func TestOneLookupOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNameServer(nil)
		s.silent = true
		p := dialler(t, s.configure(map[string][]string{"b": {"192.0.2.1"}}))
		p.cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		for range 100 {
			require.Error(t, must.Err(p.dialAny(t.Context(), []string{"b:1", "b:2"}, false)))
		}
		time.Sleep(lookupMax + time.Second)
		s.set(func() {
			require.Equal(t, 1, s.asked)
			require.Zero(t, s.asking["b"])
		})
		require.Error(t, must.Err(p.dialAny(t.Context(), []string{"b:2"}, false)))
		p.Stop()
		s.set(func() {
			require.Equal(t, 2, s.asked)
			require.Equal(t, 1, s.most)
			require.Zero(t, s.asking["b"])
		})
		require.ErrorIs(t, must.Err(p.dialAny(t.Context(), []string{"b:2"}, false)), errStopped)
	})
}

// The names of the members are looked up again in intervals, so the last known addresses are those before an outage.
// Config.Learned is called when they change, not for another order.
func TestNamesAreRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNameServer(map[string][]string{"b": {"192.0.2.1", "192.0.2.2"}})
		var learned []map[string][]string
		p := dialler(t, func(cfg *Config) {
			s.configure(nil)(cfg)
			cfg.Listen = func(string, string) (net.Listener, error) { return nil, errors.New("never") }
			cfg.Timeouts.BindPause = time.Hour
			cfg.Learned = func(known map[string][]string) { learned = append(learned, known) }
		})
		p.Start()
		time.Sleep(time.Second)
		s.set(func() { s.answers = map[string][]string{"b": {"192.0.2.2", "192.0.2.1"}} })
		time.Sleep(p.cfg.Timeouts.Refresh)
		s.set(func() { s.answers = map[string][]string{"b": {"192.0.2.3"}} })
		time.Sleep(p.cfg.Timeouts.Refresh)
		p.Stop()
		require.Equal(t, []map[string][]string{{"b": {"192.0.2.1", "192.0.2.2"}}, {"b": {"192.0.2.3"}}}, learned)
	})
}

// A server that is no member any more is forgotten, and a name that only a stranger has is not remembered.
func TestNamesOfMembersAreKept(t *testing.T) {
	w := newWorld(t, 3, 3)
	s := newNameServer(w.named())
	one := w.start(1, s.configure(nil))
	one.resolved(s.answers)
	s.set(func() { s.answers["other.example"] = []string{"127.0.0.1"} })
	told := make(chan []string, 1)
	one.peers.names.ask("other.example", func(answer []string, _ error) { told <- answer })
	require.Equal(t, []string{"127.0.0.1"}, <-told)
	require.NoError(t, one.peers.SetMembers(w.members[:2]))
	one.resolved(map[string][]string{"zk-1.example": nil, "zk-2.example": nil})
}

// A port of this server is bound at the last known address of its name, and anew when the name leads elsewhere.
func TestPortsOfANameThatLeadsElsewhere(t *testing.T) {
	w := newWorld(t, 2, 3)
	w.members[2].Election = []string{"zk-2.example:3888"}
	s := newNameServer(map[string][]string{"zk-2.example": {"::1", "127.0.0.2"}})
	s.fails = errServFail
	binds := &script{}
	three := w.start(3, s.configure(map[string][]string{"zk-2.example": {"::1", "127.0.0.1"}}), binds.configure,
		func(cfg *Config) {
			cfg.Timeouts.Refresh = 10 * time.Millisecond
			cfg.Failed = func(err error) { t.Error(err) }
		})
	require.Eventually(t, binds.isBound(1), patience, time.Millisecond)
	s.set(func() { s.fails = nil })
	require.Eventually(t, binds.isBound(2), patience, time.Millisecond)
	s.set(func() { s.answers["zk-2.example"] = []string{"127.0.0.3"} })
	three.resolved(s.answers)
	three.stop()
	require.Equal(t, []string{"127.0.0.1:3888", "127.0.0.2:3888"}, binds.bound, "what was confirmed stays")
}

// A stranger whose greeting names a host is called back at the address that it came from when the name server is
// silent, after a while that does not grow with the names.
func TestStrangerWithoutANameServer(t *testing.T) {
	w := newWorld(t, 3, 3)
	s := newNameServer(nil)
	s.silent = true
	three := w.start(3, s.configure(nil), func(cfg *Config) { cfg.Changes = true })
	near := must.Dial(t, w.members[2].Election[0])
	began := time.Now()
	got := three.peers.election.callback(1<<40, near, nil, time.Now().Add(time.Hour))
	require.Empty(t, got, "a larger id")
	got = three.peers.election.callback(proto.ServerID(0), near, []string{"a:1", "b:2", "c:3"},
		time.Now().Add(time.Hour))
	require.Equal(t, []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, got)
	require.Less(t, time.Since(began), 5*three.peers.cfg.Timeouts.CallBack)
}
