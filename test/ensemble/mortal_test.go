package ensemble

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

// mortalTimeout is the timeout of sessions that may expire: shorter than most of what is done to the servers, in ms.
const mortalTimeout = 1000

// mortals are clients with one short session after the other, each with an ephemeral. Some sessions are closed, some
// are left to their timeout, and some expire because their server is paused or cut off.
type mortals struct {
	mu       sync.Mutex
	sessions []proto.SessionID
	paths    []string // of the ephemerals
	expired  int      // sessions whose client was told so
}

// mortal is one of them.
type mortal struct {
	*client
	all *mortals
}

func mortalPath(number int) string { return fmt.Sprintf("/mortal/m%d", number) }

// run lives one life after the other, until stop.
func (m *mortal) run() {
	for ; !m.stop.Load() && m.failed == nil; m.Client++ { // each session is a client of its own
		m.failed = m.life()
	}
}

// life is one session.
func (m *mortal) life() error {
	if err := m.somewhere(wire.Options{TimeoutMs: mortalTimeout}); err != nil {
		return err
	}
	path := mortalPath(m.Client)
	m.all.mu.Lock()
	m.all.sessions = append(m.all.sessions, m.session.Session())
	m.all.paths = append(m.all.paths, path)
	m.all.mu.Unlock()
	next := wire.Create(path, nil, wire.OpenACL, proto.ModeEphemeral)
	for range 5 + m.Rand.IntN(30) {
		if err := m.wait(m.session.SendAll(next)[0]); err != nil {
			if over, err := m.resume(err); over || err != nil {
				return err
			}
		}
		next = wire.Exists(path, m.Rand.IntN(3) == 0)
		time.Sleep(time.Duration(10+m.Rand.IntN(60)) * time.Millisecond)
	}
	if m.Rand.IntN(3) == 0 {
		_ = m.session.SendAll(wire.CloseSession())[0].Wait() // otherwise, or if it is not heard, it expires
	}
	m.session.Close()
	return nil
}

// resume continues the session elsewhere, and reports whether it is over.
func (m *mortal) resume(cause error) (over bool, err error) {
	err = m.move(cause)
	if errors.Is(err, wire.ErrRejected) {
		m.all.mu.Lock()
		m.all.expired++
		m.all.mu.Unlock()
		return true, nil
	}
	return false, err
}

// buried waits until the ephemerals of all these sessions are gone at every server.
func (m *mortals) buried(c *chaos) {
	c.t.Helper()
	for _, node := range c.nodes {
		var left []string
		cluster.Eventually(c.t, func() bool {
			conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout})
			if err != nil {
				return false
			}
			defer conn.Close()
			if conn.Sync("/") != nil {
				return false
			}
			left, err = conn.Children("/mortal", false)
			_ = conn.CloseSession() // or it expires
			return err == nil && len(left) == 0
		}, time.Minute, "server %d still has %v", node.ID(), &left)
	}
	c.logf("%d short sessions, of which %d heard that they had expired; all their ephemerals are gone",
		len(m.sessions), m.expired)
}

// goneOnce judges the ephemerals: what was seen to be gone is gone in every later state.
func (m *mortals) goneOnce(h *history.History) (breaches []string) {
	mine := map[string]bool{}
	for _, path := range m.paths {
		mine[path] = true
	}
	created, gone := map[string]proto.Zxid{}, map[string]proto.Zxid{}
	for _, o := range h.Operations() {
		if o.OK() && o.Op == proto.OpCreate && mine[o.Path] {
			created[o.Path] = o.Zxid
		}
	}
	each := func(f func(o *history.Operation)) {
		for _, o := range h.Operations() {
			if o.IsRead() && o.Known() && created[o.Path] != 0 && o.Zxid >= created[o.Path] {
				f(o)
			}
		}
	}
	each(func(o *history.Operation) {
		if z := gone[o.Path]; o.Err == proto.ErrNoNode && (z == 0 || o.Zxid < z) {
			gone[o.Path] = o.Zxid
		}
	})
	each(func(o *history.Operation) {
		if z := gone[o.Path]; z != 0 && o.OK() && o.Zxid >= z {
			breaches = append(breaches, fmt.Sprintf("%v: it was gone at %v", o, z))
		}
	})
	return breaches
}
