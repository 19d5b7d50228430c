package peers

import (
	"bufio"
	"time"
)

const (
	// writeMax is about how many bytes are written at once and under one deadline: a peer that takes this much within
	// Timeouts.Write is alive. The queue is kept in pieces of this size, so that a long queue is neither copied nor
	// kept as a whole.
	writeMax = 256 << 10
	// piecesKept is how many buffers of pieces a link keeps for reuse.
	piecesKept = 4
	// streamBuffer gathers the small writes of a stream, in bytes.
	streamBuffer = 64 << 10
)

// write is the writer: it sends the queue, a piece with each write, until the link ends.
func (l *Link) write() {
	defer l.done.Open()
	var taken []piece
	for {
		l.mu.Lock()
		switch closing := l.mu.state == linkClosing; {
		case l.mu.state == linkDead:
			l.mu.Unlock()
			return
		case l.mu.direct:
			l.mu.Unlock()
			l.wake.Park()
			continue
		case closing && len(l.mu.queue) == 0:
			l.drain()
			l.mu.Unlock()
			l.finish()
			return
		case !closing && !l.mu.flush:
			l.mu.busy = false
			l.mu.Unlock()
			l.wake.Park()
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

// put writes one piece. It leaves no deadline behind, because a later FlushNow, which never waits, would fail with
// it.
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
		defer l.written(streamBuffer, 0)
		return w.Flush()
	}
	n, err := timedWriter{l}.Write(p.bytes)
	l.written(n, p.packets)
	return err
}

// written takes size bytes and some packets off the count of queued.
func (l *Link) written(size, packets int) {
	l.mu.Lock()
	l.wrote(size, packets)
	l.mu.Unlock()
}

// finish ends the output of a link that is closed. The reader reads the input to its end: otherwise the kernel would
// reset the connection, and bytes on their way to the peer would be lost. CloseWrite may block, until the drain timer
// ends the link.
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
		_ = w.l.nc.SetWriteDeadline(w.l.p.deadline(w.l.p.cfg.Timeouts.Write))
		m, err = w.l.nc.Write(b[n:min(len(b), n+writeMax)])
		n += m
		w.l.stats.bytesOut.Add(uint64(m))
	}
	return n, err
}
