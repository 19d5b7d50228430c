package system

import (
	"slices"
	"time"
)

// strand cuts a follower off, with the connection of a client that has requests on their way there. The client goes on
// at another follower, and leaves that one as well. Then the leader dies, and the first follower, which has kept the
// connection, may ask the next leader for the session.
func (f *faults) strand(n *node) {
	w, s := f.w, f.w.s
	var leader, other *node
	for _, o := range w.nodes {
		switch {
		case o.leads():
			leader = o
		case o != n && o.serves():
			other = o
		}
	}
	i := slices.IndexFunc(w.clients, func(c *client) bool {
		return c.conn != nil && c.conn.isOpen && !c.broken && c.conn.server == n.id && c.alone == 0
	})
	if leader == nil || other == nil || n == leader || !n.serves() || i < 0 {
		return
	}
	f.did(Strand, "done")
	c := w.clients[i]
	leave := func(to int) {
		c.alone, c.broken = to, true
		c.wake.Unpark()
	}
	f.part([]*node{n}, 200*time.Millisecond)
	for _, e := range w.net.betweenServers() {
		if e.p == n.p {
			e.in.lose()
			e.out.lose()
		}
	}
	f.cut(clientPlace+c.id, n.id, time.Second)
	f.cut(n.id, clientPlace+c.id, time.Second)
	s.plan(s.between(0, 20*time.Millisecond), nil, "leave", func() { leave(other.id) })
	s.plan(s.between(60*time.Millisecond, 150*time.Millisecond), nil, "leave again", func() { leave(leader.id) })
	s.plan(150*time.Millisecond, nil, "kill", func() {
		if !f.over {
			leader.kill(100, true)
			f.restart(leader, 800*time.Millisecond)
		}
	})
	s.plan(time.Second, nil, "choose", func() { c.alone = 0 })
}
