package zab

// A server that lost its disk has forgotten what it promised. Counting its word could elect a leader that misses a committed
// txn, or two leaders in one epoch. It therefore keeps out of elections until a leader that was elected without it has brought it
// up to date. To have all that NEWLEADER brought is not enough: the epoch of a leader that nobody has confirmed yet may be older than what was
// promised before the loss, and this server's ACK could complete its quorum. The one exception is an ensemble in which nobody has anything: then there is nothing to lose, and nobody else
// who could lead. That is established by asking every other voter, with a number drawn in this run, so that no answer can be
// older than the question. Source: quorum-protocol 14.3 R16.

// probe asks every other voter what it has.
func (c *Core) probe() {
	if c.self < 0 || c.weak(BlankCounts) {
		return
	}
	for _, id := range c.peers {
		c.send(Message{Type: Probe, To: id, Nonce: c.el.nonce})
	}
	c.countEmpty()
}

// probed answers a question, or counts an answer.
func (c *Core) probed(m *Message) {
	i := c.voters.index(m.From)
	if i < 0 {
		return
	}
	if m.Type == Probe {
		c.send(Message{Type: ProbeReply, To: m.From, Nonce: m.Nonce, Zxid: c.last, Epoch: c.epochs.Accepted})
		return
	}
	if c.role != Looking || !c.el.running || !c.blank || c.self < 0 || m.Nonce != c.el.nonce {
		return
	}
	if m.Zxid <= 0 && m.Epoch == 0 {
		c.el.empty = c.el.empty.with(i)
		c.countEmpty()
	}
}

// countEmpty makes this server a member of a new ensemble if nobody has anything.
func (c *Core) countEmpty() {
	if c.el.empty.with(c.self) != c.voters.all() || !c.blank {
		return
	}
	c.initialize()
	c.becomeLooking("the ensemble is new")
}

// initialize asks for the empty database to be remembered as existing.
func (c *Core) initialize() {
	c.blank = false
	job := c.writes.job(rankEpochs)
	job.Initialize = true
	c.flying(job)
}
