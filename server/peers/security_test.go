package peers

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// ritual is a Security whose steps are a byte each, so that a missing or misplaced one shows.
type ritual struct {
	mu  sync.Mutex
	met []string // the steps that have been completed
}

var errRitual = errors.New("not the right word")

const (
	wordHello = 'h' // of the side that has connected, at once
	wordProof = 'p' // of the same, when it is asked for
	wordGood  = 'g' // the answer to that
)

func (r *ritual) note(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.met = append(r.met, step)
}

// hear reads one byte and compares it.
func hear(nc net.Conn, want byte) error {
	var b [1]byte
	if _, err := io.ReadFull(nc, b[:]); err != nil {
		return err
	}
	if b[0] != want {
		return errRitual
	}
	return nil
}

// renamed is a connection that takes the place of another one.
type renamed struct{ *net.TCPConn }

func (r *ritual) configure(c *Config) {
	c.Security = Security{
		Secure: func(ctx context.Context, nc net.Conn, host string) (net.Conn, error) {
			if _, ok := ctx.Deadline(); !ok || host != "127.0.0.1" {
				return nil, errors.New("no deadline, or the wrong host")
			}
			_, err := nc.Write([]byte{wordHello})
			return nc, err
		},
		Encrypt: func(ctx context.Context, nc net.Conn) (net.Conn, error) {
			if _, ok := ctx.Deadline(); !ok {
				return nil, errors.New("no deadline")
			}
			if err := hear(nc, wordHello); err != nil {
				return nil, err
			}
			r.note("encrypt")
			return renamed{nc.(*net.TCPConn)}, nil
		},
		Initiate: func(_ context.Context, nc net.Conn, _ string) error {
			if _, err := nc.Write([]byte{wordProof}); err != nil {
				return err
			}
			return hear(nc, wordGood)
		},
		Accept: func(_ context.Context, nc net.Conn) (net.Conn, error) {
			if _, ok := nc.(renamed); !ok {
				return nil, errors.New("not the connection that Encrypt has returned")
			}
			if err := hear(nc, wordProof); err != nil {
				return nil, err
			}
			r.note("accept")
			_, err := nc.Write([]byte{wordGood})
			return renamed{nc.(renamed).TCPConn}, err
		},
	}
}

func (r *ritual) steps() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.met...)
}

// Both ports encrypt and ask, each at its moment; also the smaller id, which only asks to be called back.
func TestSecurityOfBothPorts(t *testing.T) {
	w := newWorld(t, 2, 2)
	r := &ritual{}
	one, two := w.start(1, r.configure), w.start(2, r.configure)
	one.peers.SendElection(vote(2, 1))
	two.heard(1, 1)
	require.Equal(t, []string{"encrypt", "accept", "encrypt", "accept"}, r.steps(), "asked and called back")
	two.peers.SendElection(vote(1, 2))
	one.heard(2, 2)
	mine, its := one.follow(two)
	mine.Send(ack(1))
	mine.Flush()
	two.waitPackets(its.ID, 2)
	require.Len(t, r.steps(), 6)
	mine.Close()
	two.waitClosed(its.ID)
}

// A server that does not say what is asked for is refused on either port, and the host does not hear of it.
func TestSecurityRefuses(t *testing.T) {
	for name, said := range map[string]func(to *host) (address string, b []byte){
		"not encrypted, election": func(to *host) (string, []byte) {
			return to.address(0), appendGreeting(nil, 1, []string{"127.0.0.1:1"})
		},
		"no proof, election": func(to *host) (string, []byte) {
			return to.address(0), append(append([]byte{wordHello}, appendGreeting(nil, 1, []string{"127.0.0.1:1"})...),
				"xxxx"...)
		},
		"not encrypted, learner": func(to *host) (string, []byte) {
			return to.address(1), AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: 1})
		},
		"no proof, learner": func(to *host) (string, []byte) {
			return to.address(1), AppendMessage([]byte{wordHello}, &zab.Message{Type: zab.FollowerInfo, From: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, 2)
			r := &ritual{}
			two := w.start(2, r.configure)
			address, b := said(two)
			nc := w.connect(address)
			must.Do(nc.Write(b))(t)
			require.NotErrorIs(t, must.Err(io.Copy(io.Discard, nc)), os.ErrDeadlineExceeded)
			require.Eventually(t, func() bool { return two.peers.Stats().Refused == 1 }, patience, time.Millisecond)
			two.mu.Lock()
			defer two.mu.Unlock()
			require.Empty(t, two.links)
			require.Empty(t, two.up)
		})
	}
}

// address is the election port, or the learner port.
func (h *host) address(port int) string {
	m := h.peers.member(h.peers.cfg.ID)
	return [2][]string{m.Election, m.Quorum}[port][0]
}

// Strangers that begin and do not go on fill the waiting room of a port, and no more: members come in beside them,
// and Stop does not wait for them.
func TestSecurityStallsNobody(t *testing.T) {
	w := newWorld(t, 2, 2)
	r := &ritual{}
	two := w.start(2, r.configure, func(c *Config) { c.Limits.StrangersMax = 8 })
	for range 30 {
		w.connect(two.address(0))
		w.connect(two.address(1))
	}
	one := w.start(1, r.configure)
	one.peers.SendElection(vote(2, 1))
	two.heard(1, 1)
	one.follow(two)
	began := time.Now()
	two.stop()
	require.Less(t, time.Since(began), patience)
}

// A server that does not get through its proof is as one that cannot be reached: the link ends, and Stop and Close
// end the attempt.
func TestProofThatDoesNotEnd(t *testing.T) {
	w := newWorld(t, 2, 2)
	two := w.start(2)
	one := w.start(1, func(c *Config) {
		c.Timeouts.FirstPacket = time.Hour
		c.Security.Initiate = func(_ context.Context, nc net.Conn, _ string) error { return hear(nc, wordGood) }
	})
	one.mu.Lock()
	id := one.number()
	one.mu.Unlock()
	one.peers.Dial(id, 2, zab.LearnerPort)
	require.Eventually(t, func() bool {
		two.peers.learner.lobby.mu.Lock()
		defer two.peers.learner.lobby.mu.Unlock()
		return len(two.peers.learner.lobby.mu.waiting) == 1
	}, patience, time.Millisecond)
	one.peers.Close(id)
	one.waitClosed(id)
	one.mu.Lock()
	require.False(t, one.links[id].connected)
	one.mu.Unlock()
}
