package peers

import (
	"bufio"
	"time"
)

const (
	// writeMax is about how much is written at once and under one deadline: a peer that takes this much within Timeouts.Write is
	// alive. What waits to be sent is kept in pieces of this size, so that a long queue is neither copied nor kept as a whole.
	writeMax = 256 << 10
	// piecesKept is how many buffers of pieces a link keeps for reuse.
	piecesKept = 4
	// streamBuffer gathers the small writes of a stream, in bytes.
	streamBuffer = 64 << 10
)

// write is the writer: it sends what is queued, a piece with each write, until the link ends.
func (l *Link) write() {
	defer close(l.done)
	var taken []piece
	for {
		l.mu.Lock()
		switch closing := l.mu.state == linkClosing; {
		case l.mu.state == linkDead:
			l.mu.Unlock()
			return
		case l.mu.direct:
			l.mu.Unlock()
			<-l.wake
			continue
		case closing && len(l.mu.queue) == 0:
			l.mu.drain.Reset(l.p.cfg.Timeouts.Drain)
			l.mu.Unlock()
			l.finish()
			return
		case !closing && !l.mu.flush:
			l.mu.busy = false
			l.mu.Unlock()
			<-l.wake
			continue
		}
		l.mu.busy, l.mu.flush = true, false
		taken, l.mu.queue = l.mu.queue, taken[:0]
		l.mu.Unlock()
		for i := range taken {
			if err := l.put(&taken[i]); err != nil {
				l.abort(err)
				return
			}
			if i >= piecesKept || cap(taken[i].bytes) > 2*writeMax {
				taken[i].bytes = nil
			}
		}
	}
}

// put writes one piece. Behind it there is no deadline, because FlushNow, which never waits, would meet it later.
func (l *Link) put(p *piece) error {
	if l.raw != nil {
		defer func() { _ = l.nc.SetWriteDeadline(time.Time{}) }() // it fails if the link has ended
	}
	if p.stream != nil {
		stream := p.stream
		*p = piece{}
		w := bufio.NewWriterSize(timedWriter{l}, streamBuffer)
		if err := stream(w); err != nil {
			return err
		}
		defer l.written(streamBuffer)
		return w.Flush()
	}
	n, err := timedWriter{l}.Write(p.bytes)
	l.written(n)
	return err
}

// written takes back what queued has counted.
func (l *Link) written(size int) {
	l.mu.Lock()
	l.mu.size -= size
	l.mu.Unlock()
}

// finish ends the output of a link that is closed. The input is read to its end, so that it does not turn the end into a reset
// which destroys what is on its way. To say the end may block, until the drain timer ends the link.
func (l *Link) finish() {
	if w, ok := l.nc.(halfCloser); ok && w.CloseWrite() == nil {
		return
	}
	l.abort(nil)
}

// timedWriter writes to the connection of a link, each part with its own deadline.
type timedWriter struct{ l *Link }

// Write writes all of b.
func (w timedWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		_ = w.l.nc.SetWriteDeadline(time.Now().Add(w.l.p.cfg.Timeouts.Write))
		m, err = w.l.nc.Write(b[n:min(len(b), n+writeMax)])
		n += m
		w.l.stats.bytesOut.Add(uint64(m))
	}
	return n, err
}
