package system

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed94657493/warren/server/config"
)

const (
	// longestMax is how many requests of a connection may wait, as package server says.
	longestMax = 256
	// pastLimit is how many requests a connection may add while there are too many already: those that it was
	// handling.
	pastLimit = 4
	// queuedMax is how many bytes of txns may wait for the log or for the tree. It is far above what the clients of a
	// run can have on their way.
	queuedMax = 16 << 20
)

// limits lets servers take few requests at a time in some runs. It has a source of chance of its own.
func (w *world) limits(c *config.Config) {
	rng := rand.New(rand.NewPCG(w.o.Seed, 0xb0))
	if rng.IntN(100) < 20 {
		c.GlobalOutstandingLimit = 8 + rng.IntN(40)
	}
}

// bounded checks what a server that runs holds in memory.
func (n *node) bounded() {
	h := n.srv.Held()
	most := int64(n.cfg.GlobalOutstandingLimit + pastLimit*4*len(n.w.clients))
	switch {
	case h.Requests < 0 || h.Requests > most:
		n.w.s.fail(Bounded, "server %d holds %d requests, and %d are the limit", n.id, h.Requests, most)
	case h.Longest > longestMax:
		n.w.s.fail(Bounded, "server %d holds %d requests of one connection", n.id, h.Longest)
	case h.Queued < 0 || h.Queued > queuedMax:
		n.w.s.fail(Bounded, "%d bytes wait for the log or the tree of server %d", h.Queued, n.id)
	}
}

// holds returns what a server still holds although nothing is to be done; empty if it is nothing.
func (n *node) holds() string {
	switch h := n.srv.Held(); {
	case h.Requests != 0 || h.Longest != 0 || h.Queued != 0:
		return fmt.Sprintf("server %d holds %d requests, and %d bytes that wait for the log or the tree", n.id,
			h.Requests, h.Queued)
	case n.w.window > 0 && h.Window > n.w.window:
		return fmt.Sprintf("server %d keeps %d txns for learners, and %d are the limit", n.id, h.Window, n.w.window)
	}
	return ""
}
