package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/zab"
)

// Link is one connection between a learner and its leader, or between an observer and its master. All methods may be
// called by any number of goroutines, and do not block. Packets that are sent on a link that has ended are dropped.
type Link struct {
	ID      zab.LinkID
	Peer    proto.ServerID // below 0: an observer without an id
	Dialled bool           // this server is the learner

	p        *Peers
	queueMax int                // bytes that may wait to be sent
	cancel   context.CancelFunc // of dialling; nil if the peer has dialled
	nc       net.Conn           // set before the handler knows the link; until then guarded by mu
	since    time.Time
	stats    linkStats

	hears socket.Hearing  // of Deaf
	raw   syscall.RawConn // nil if nc is no plain socket
	now   socket.Writer   // of FlushNow, guarded by mu.direct
	spare []piece         // of FlushNow, for reuse; guarded by mu.direct

	wake sched.Parker // of the writer; unparked when the writer has something to do
	done *sched.Gate  // open when the writer has ended
	mu   struct {
		sync.Mutex
		state    linkState
		dialling bool // the peer does not know yet which server this is
		queue    []piece
		size     int    // bytes in queue, and bytes that the writer has taken and not written
		packets  int    // the same in packets, without those of streams
		fresh    int    // bytes that were queued since the last Flush
		burst    int    // bytes of size that were queued at once, and do not count against queueMax
		flush    bool   // the queue is to be written
		busy     bool   // the writer, or FlushNow, will look at flush again by itself
		direct   bool   // FlushNow is writing
		reason   error  // why the link was aborted
		drain    func() // cancels the timer of Timeouts.Drain; nil before the link is closed
	}
}

// piece is a part of the output: bytes, or a function that writes them.
type piece struct {
	bytes   []byte
	packets int // in bytes
	stream  func(io.Writer) error
}

type linkState uint8

const (
	linkOpen    linkState = iota
	linkClosing           // nothing more is accepted; the queue is sent
	linkDead              // the socket is closed
)

// Errors of links.
var (
	// ErrSlow is the reason of a link that was aborted because its peer takes less than is sent to it.
	ErrSlow    = errors.New("peers: the peer is too slow: its send queue is over the limit")
	errStopped = errors.New("peers: stopped")
)

func newLink(p *Peers, id zab.LinkID, peer proto.ServerID) *Link {
	return &Link{ID: id, Peer: peer, p: p, queueMax: p.cfg.Limits.QueueMax, since: p.rt.Now(),
		wake: p.rt.Parker(), done: sched.NewGate(p.rt)}
}

// Send queues the packets of m. They leave with the next Flush. For Snap use SendSnapshot, for Replay Stream.
func (l *Link) Send(m *zab.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.tail(); q != nil {
		n := len(q.bytes)
		q.bytes = AppendMessage(q.bytes, m)
		l.queued(len(q.bytes)-n, max(len(m.Txns), 1))
	}
}

// SendPacket queues p. It leaves with the next Flush.
func (l *Link) SendPacket(p *Packet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.tail(); q != nil {
		n := len(q.bytes)
		q.bytes = p.AppendTo(q.bytes)
		l.queued(len(q.bytes)-n, 1)
	}
}

// tail returns the piece that bytes are appended to, or nil if the link takes no more. REQUIRES: l.mu.
func (l *Link) tail() *piece {
	if l.mu.state != linkOpen {
		return nil
	}
	n := len(l.mu.queue)
	if n == 0 || l.mu.queue[n-1].stream != nil || len(l.mu.queue[n-1].bytes) >= writeMax {
		if n < cap(l.mu.queue) {
			l.mu.queue = l.mu.queue[:n+1] // with the buffer that was there
			l.mu.queue[n] = piece{bytes: l.mu.queue[n].bytes[:0]}
		} else {
			l.mu.queue = append(l.mu.queue, piece{})
		}
		if n > 0 && l.mu.queue[n].bytes == nil {
			l.mu.queue[n].bytes = make([]byte, 0, writeMax+writeMax/4) // a long queue: this piece fills up too
		}
		n++
	}
	return &l.mu.queue[n-1]
}

// queued counts size bytes and some packets that were appended to the queue. A peer is too slow if more than queueMax
// bytes wait. But a leader sends all that a learner lacks at once, which may be its whole window and more: much that
// is queued between two calls of Flush does not make a peer slow. REQUIRES: l.mu.
func (l *Link) queued(size, packets int) {
	l.mu.size += size
	l.mu.fresh += size
	l.mu.packets += packets
	l.mu.queue[len(l.mu.queue)-1].packets += packets
	l.stats.packetsOut.Add(uint64(packets))
	if l.mu.size-l.mu.burst > l.queueMax && !l.bursts() {
		l.kill(ErrSlow)
	}
}

// bursts reports whether much is queued at once, and nothing that was queued at once before waits. REQUIRES: l.mu.
func (l *Link) bursts() bool { return l.mu.burst == 0 && l.mu.fresh > l.queueMax/2 }

// settle notes that what was queued is to be sent. REQUIRES: l.mu.
func (l *Link) settle() {
	if l.bursts() {
		l.mu.burst = l.mu.fresh
	}
	l.mu.fresh = 0
}

// wrote takes n bytes and some packets off the count of queued. REQUIRES: l.mu.
func (l *Link) wrote(n, packets int) {
	l.mu.size -= n
	l.mu.packets -= packets
	l.mu.burst = max(l.mu.burst-n, 0)
}

// Stream lets write produce a part of the output, behind everything that was sent before and ahead of everything that
// is sent after. write runs in a goroutine of the link. When the link ends, w returns an error; an error of write
// aborts the link. Small writes are gathered. If the link takes no more, write is not called. A stream counts as
// streamBuffer bytes of the queue until it has run.
func (l *Link) Stream(write func(w io.Writer) error) {
	l.mu.Lock()
	if l.mu.state == linkOpen {
		l.mu.queue = append(l.mu.queue, piece{stream: write})
		l.queued(streamBuffer, 0)
	}
	l.mu.Unlock()
	l.Flush()
}

// SendSnapshot queues SNAP at zxid and lets body write the state that follows it, as Stream does. The signature is
// added behind the state.
func (l *Link) SendSnapshot(zxid proto.Zxid, body func(w io.Writer) error) {
	l.stats.packetsOut.Add(1)
	l.Stream(func(w io.Writer) error {
		if _, err := w.Write(appendPlain(nil, proto.PacketSnap, zxid)); err != nil {
			return err
		}
		if err := body(w); err != nil {
			return err
		}
		_, err := w.Write(appendSignature(nil))
		return err
	})
}

// Flush makes the writer send the queue. It costs little if the queue is empty.
func (l *Link) Flush() {
	l.mu.Lock()
	l.settle()
	l.mu.flush = l.mu.flush || len(l.mu.queue) > 0
	wake := l.mu.flush && !l.mu.busy
	l.mu.busy = l.mu.busy || wake
	l.mu.Unlock()
	if wake {
		l.wake.Unpark()
	}
}

// FlushNow is Flush, but the caller itself writes as much as the socket takes at once, if the queue is short and the
// writer is idle. That costs less than a switch to the writer.
func (l *Link) FlushNow() {
	l.mu.Lock()
	if !l.writable() {
		l.mu.Unlock()
		l.Flush()
		return
	}
	l.settle()
	l.mu.busy, l.mu.direct = true, true
	b, packets := l.mu.queue[0].bytes, l.mu.queue[0].packets
	l.mu.queue, l.spare = l.spare[:0], l.mu.queue
	l.mu.Unlock()
	n, err := l.now.WriteNow(l.raw, b)
	l.stats.bytesOut.Add(uint64(n))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.direct = false
	switch {
	case err != nil:
		l.kill(err)
	case n < len(b) && l.mu.state != linkDead:
		l.mu.queue = slices.Insert(l.mu.queue, 0, piece{bytes: append([]byte(nil), b[n:]...), packets: packets})
		l.mu.flush, packets = true, 0
	}
	l.wrote(n, packets)
	if l.mu.flush || l.mu.state != linkOpen {
		l.wake.Unpark() // the writer goes on
	} else {
		l.mu.busy = false
	}
}

// writable reports whether FlushNow may write. REQUIRES: l.mu.
func (l *Link) writable() bool {
	return l.raw != nil && l.mu.state == linkOpen && !l.mu.busy &&
		len(l.mu.queue) == 1 && l.mu.queue[0].stream == nil && len(l.mu.queue[0].bytes) <= directMax
}

// directMax is how many bytes FlushNow writes at most.
const directMax = 16 << 10

// serve reads the link until it ends, and then cleans up.
func (l *Link) serve(in *input) {
	err := l.read(in)
	l.mu.Lock()
	l.kill(err)
	reason := l.mu.reason
	l.mu.Unlock()
	l.done.Wait()
	level := zap.DebugLevel
	switch {
	case errors.Is(reason, ErrPacket) || errors.Is(reason, ErrSlow):
		level = zap.WarnLevel
	case !l.Dialled:
		level = zap.InfoLevel // a leader has lost a learner
	}
	l.p.log.Log(level, "link ended", zap.Uint64("link", uint64(l.ID)), zap.Int64("peer_id", int64(l.Peer)),
		zap.Error(reason))
	l.p.forget(l)
}

// read gives the packets that arrive to the handler.
func (l *Link) read(in *input) error {
	batch := make([]Packet, 0, l.p.cfg.Limits.BatchMax)
	for {
		var err error
		batch, err = in.next(batch[:0])
		l.stats.arrived(batch)
		l.stats.bytesIn.Store(in.bytes)
		if l.ended() {
			_, _ = io.Copy(io.Discard, in.r)
			return net.ErrClosed
		}
		if n := len(batch); n > 0 {
			if l.Dialled && batch[n-1].Type == proto.PacketSnap {
				if n > 1 {
					l.p.cfg.Handler.Packets(l, batch[:n-1])
				}
				if err := l.load(in, batch[n-1].Zxid); err != nil {
					return err
				}
				l.stats.bytesIn.Store(in.bytes)
				batch = append(batch[:0], batch[n-1])
			}
			l.p.cfg.Handler.Packets(l, batch)
		}
		clear(batch) // so that nothing of it is kept alive
		if err != nil {
			return err
		}
	}
}

// ended reports whether packets that arrive are to be dropped, because the link is closed.
func (l *Link) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.state != linkOpen
}

// load lets the handler read the body of a snapshot, and checks that it has read all of it.
func (l *Link) load(in *input, zxid proto.Zxid) error {
	if err := l.p.cfg.Handler.Snapshot(l, zxid, body{l, in}); err != nil {
		return fmt.Errorf("peers: snapshot at %v from server %d: %w", zxid, l.Peer, err)
	}
	return in.checkSignature()
}

// body is the reader of the bytes that follow SNAP. It fails when the link ends.
type body struct {
	l  *Link
	in *input
}

// Read reads bytes that have arrived, or waits for some.
func (b body) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.l.stats.bytesIn.Store(b.in.bytes)
	if err == nil && b.l.ended() {
		return 0, net.ErrClosed
	}
	return n, err
}

// Close ends the link when everything that was sent before has left, or when Timeouts.Drain has passed. Packets that
// arrive from now on are not given to the handler.
func (l *Link) Close() {
	l.mu.Lock()
	if l.mu.state == linkOpen {
		l.mu.state = linkClosing
		if l.mu.dialling {
			l.kill(net.ErrClosed)
		} else {
			l.drain()
		}
	}
	l.mu.Unlock()
	l.wake.Unpark()
}

// drain lets the link end when Timeouts.Drain has passed from now. REQUIRES: l.mu.
func (l *Link) drain() {
	if l.mu.drain != nil {
		l.mu.drain()
	}
	l.mu.drain = l.p.rt.After(l.p.cfg.Timeouts.Drain, func() { l.abort(os.ErrDeadlineExceeded) })
}

// Unacknowledged returns for how long nothing that was sent has arrived at the peer, although bytes wait; 0 if that
// is not known. It may be called on a link that stands. A connection that is no socket may say so itself.
func (l *Link) Unacknowledged() time.Duration { return unacknowledged(l.nc) }

func unacknowledged(nc net.Conn) time.Duration {
	if t := tcpOf(nc); t != nil {
		return socket.Unacknowledged(t)
	}
	if other, ok := innermost(nc).(interface{ Unacknowledged() time.Duration }); ok {
		return other.Unacknowledged()
	}
	return 0
}

// Deaf reports whether the peer is heard and does not hear: see socket.Hearing. Looks should be 0.1 s apart, by one
// goroutine at a time. A connection that is no socket may say so itself.
func (l *Link) Deaf() bool {
	if t := tcpOf(l.nc); t != nil {
		return l.hears.Deaf(socket.FactsOf(t))
	}
	other, ok := innermost(l.nc).(interface{ Deaf() bool })
	return ok && other.Deaf()
}

// Abort ends the link at once.
func (l *Link) Abort() { l.abort(net.ErrClosed) }

func (l *Link) abort(reason error) {
	l.mu.Lock()
	l.kill(reason)
	l.mu.Unlock()
}

// kill closes the socket, so the reader ends and cleans up. REQUIRES: l.mu.
func (l *Link) kill(reason error) {
	if l.mu.state == linkDead {
		return
	}
	l.mu.state = linkDead
	l.mu.reason = reason
	l.mu.queue = nil
	if l.mu.drain != nil {
		l.mu.drain()
	}
	if l.cancel != nil {
		l.cancel()
	}
	if l.nc != nil {
		cut(l.nc)
	}
	l.wake.Unpark()
}
