package embed

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// streamMax is how many bytes may be in transit in one direction before the writer has to wait.
const streamMax = 1 << 20

// stream is one direction of a connection. Written data is read in order, after the delay. If the direction is
// cut, data and the end of the stream wait, as if TCP sent them again and again.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond // of anything below
	arrived []byte
	flying  []flight // delayed
	size    int      // of both, in bytes
	sealed  bool     // the writer has closed
	ended   bool     // the end of the stream has arrived
	gone    bool     // the reader has closed
	cut     bool
	delay   time.Duration
	reads   deadline
	writes  deadline
}

// flight is the data of one write that has not arrived, or the end of the stream.
type flight struct {
	b   []byte
	end bool
}

func newStream(delay time.Duration) *stream {
	s := &stream{delay: delay}
	s.changed.L = &s.mu
	return s
}

// write blocks while streamMax bytes wait.
func (s *stream) write(b []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(b) > 0 {
		room := min(streamMax-s.size, len(b))
		switch {
		case s.sealed:
			return n, net.ErrClosed
		case s.gone && !s.cut:
			return n, syscall.EPIPE
		case s.writes.passed():
			return n, os.ErrDeadlineExceeded
		case room <= 0:
			s.changed.Wait()
			continue
		}
		s.send(flight{b: b[:room]})
		s.size += room
		n += room
		b = b[room:]
	}
	return n, nil
}

// send puts f in transit. REQUIRES: s.mu.
func (s *stream) send(f flight) {
	if s.delay == 0 && len(s.flying) == 0 {
		s.arrive(f)
		return
	}
	f.b = append([]byte(nil), f.b...)
	s.flying = append(s.flying, f)
	// Whichever timer fires first delivers the oldest flight: data arrives in order, even when the delay shrinks.
	time.AfterFunc(s.delay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		first := s.flying[0]
		s.flying = s.flying[1:]
		s.arrive(first)
	})
}

// arrive makes f readable. REQUIRES: s.mu.
func (s *stream) arrive(f flight) {
	s.arrived = append(s.arrived, f.b...)
	s.ended = s.ended || f.end
	s.changed.Broadcast()
}

// read blocks until there is something to read or the stream has ended.
func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.gone:
			return 0, net.ErrClosed
		case s.reads.passed():
			return 0, os.ErrDeadlineExceeded
		case s.cut:
		case len(s.arrived) > 0:
			n := copy(b, s.arrived)
			s.arrived = s.arrived[n:]
			s.size -= n
			s.changed.Broadcast()
			return n, nil
		case s.ended:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

// seal ends writing.
func (s *stream) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed {
		s.sealed = true
		s.send(flight{end: true})
		s.changed.Broadcast()
	}
}

// leave ends reading.
func (s *stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	s.changed.Broadcast()
}

// route sets cut and delay of the direction from now on.
func (s *stream) route(cut bool, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut, s.delay = cut, delay
	s.changed.Broadcast()
}

// readBy and writeBy set deadlines.
func (s *stream) readBy(t time.Time)  { s.setDeadline(&s.reads, t) }
func (s *stream) writeBy(t time.Time) { s.setDeadline(&s.writes, t) }

func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.at = t
	switch {
	case t.IsZero() && d.timer != nil:
		d.timer.Stop()
	case t.IsZero():
	case d.timer == nil:
		d.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	default:
		d.timer.Reset(time.Until(t))
	}
	s.changed.Broadcast()
}

// deadline is the moment from which an operation fails. Guarded by stream.mu.
type deadline struct {
	at    time.Time
	timer *time.Timer // wakes the waiting operation
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
