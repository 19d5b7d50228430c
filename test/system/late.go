package system

import "time"

// burial is the end of a client without a word, when nothing else goes wrong any more.
type burial struct {
	session *session
	at      time.Duration
}

// burySlack is how much longer than its timeout a session may live: the leader hears of sessions with the answers to
// its PINGs, and counts time in ticks. A new leader gives every session its whole timeout.
const burySlack = time.Second

// bury ends some clients, and waits until their sessions must have ended.
func (w *world) bury() {
	if w.s.failure != nil || len(w.o.Features) > 0 {
		return
	}
	longest := time.Duration(0)
	for _, c := range w.clients {
		if !w.s.chance(30) {
			continue
		}
		w.s.tracef("c%d dies, session %v", c.id, c.session.id)
		w.burials = append(w.burials, burial{c.session, w.s.now})
		longest = max(longest, c.session.timeout)
		c.p.kill()
		w.net.unplug(c.host, true)
		c.conn.isOpen = false
	}
	if len(w.burials) > 0 {
		w.s.runFor(longest + 2*burySlack)
		w.settle()
	}
}

// buried returns an error if a session of a client that has died lives on. A new leader gives every session its whole
// timeout.
func (w *world) buried(expiries []expiry) error {
	ended := map[*session]time.Duration{}
	for _, e := range expiries {
		ended[e.session] = e.txn.at
	}
	for _, b := range w.burials {
		at, known := ended[b.session]
		if !known {
			at = w.s.now
		}
		late := at > max(b.at, w.ruled(at))+b.session.timeout+burySlack
		switch {
		case !late:
		case !known:
			return broken(DeadClients, "session %v lives, and its client has died at %v", b.session.id, b.at)
		default:
			return broken(DeadClients, "session %v with timeout %v ends at %v, and its client has died at %v",
				b.session.id, b.session.timeout, at, b.at)
		}
	}
	return nil
}
