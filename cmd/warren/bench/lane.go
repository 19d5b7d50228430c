package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
)

// lane is one session and its connection. Between drives it is idle and kept alive by the fleet;
// during one it is driven by one goroutine that reads replies and, in a closed loop, sends the
// next requests as soon as all replies of one read are seen: one read and one write a batch.
type lane struct {
	fleet *fleet
	index int

	// rd is used by the driving goroutine, or by call, never both.
	rd frameReader

	mu       sync.Mutex // guards what is below; held while a batch is processed, never while waiting
	nc       net.Conn   // nil while disconnected
	out      outbox
	session  session
	xid      int32 // of the request sent last
	answered int32 // xid of the reply seen last
	queue    inflight
	sent     int64 // ns since the fleet's start of the last write
	due      int64 // open loop: requests that should have been sent
	made     int64 // open loop: requests that were sent
}

func afterXid(xid int32) int32 {
	if xid == math.MaxInt32 {
		return 1
	}
	return xid + 1
}

// connect opens the lane's connection and session; attempt chooses the server.
func (l *lane) connect(ctx context.Context, attempt int) error {
	s := l.session
	nc, err := l.fleet.dialer.open(ctx, l.index, attempt, &s)
	if errors.Is(err, errExpired) {
		l.fleet.expired.Add(1)
		s = session{lastZxid: s.lastZxid}
		nc, err = l.fleet.dialer.open(ctx, l.index, attempt, &s)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nc, l.session = nc, s
	l.out.init(&l.mu, nc)
	l.rd = frameReader{src: nc, buf: l.rd.buf}
	l.xid, l.answered = 0, 0
	l.sent = l.fleet.now()
	return nil
}

// drop closes the connection and forgets what was in flight.
func (l *lane) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nc != nil {
		_ = l.nc.Close()
		l.nc = nil
	}
	l.queue.head = l.queue.tail
}

// pingIfIdle sends a ping if the lane has sent nothing for a third of the session timeout, or will have sent nothing
// for that long at the next check, which is one step later. The next read of the lane skips the reply. Source:
// client-protocol 13.1.
func (l *lane) pingIfIdle(now int64, step time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	third := time.Duration(l.session.timeoutMs) * time.Millisecond / 3
	if l.nc == nil || time.Duration(now-l.sent) < third-step {
		return
	}
	l.out.buf = append(l.out.buf, 0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, byte(proto.OpPing))
	l.out.flush()
	l.sent = now
}

// call sends one request and returns the body of its reply, which is valid until the next use of the
// lane. No drive may run. Notifications are skipped.
func (l *lane) call(ctx context.Context, op proto.OpCode, body func([]byte) []byte) ([]byte, error) {
	l.mu.Lock()
	if l.nc == nil {
		l.mu.Unlock()
		return nil, fmt.Errorf("bench: %s: %w", op, proto.ErrConnectionLoss)
	}
	xid := afterXid(l.xid)
	l.xid = xid
	b := l.out.buf
	start := len(b)
	b = appendHeader(beginFrame(b), xid, op)
	if body != nil {
		b = body(b)
	}
	endFrame(b, start)
	l.out.buf = b
	l.out.flush()
	l.sent = l.fleet.now()
	nc := l.nc
	l.mu.Unlock()

	defer interruptible(ctx, nc)()
	for {
		header, frame, err := l.reply(ctx)
		switch {
		case err != nil:
			l.drop() // the reply may still come, and would answer the next request
			return nil, fmt.Errorf("bench: %s: %w", op, err)
		case header.Xid == proto.XidNotification:
			continue
		case header.Xid != xid:
			return nil, fmt.Errorf("bench: %s: reply has xid %d, want %d", op, header.Xid, xid)
		}
		l.mu.Lock()
		l.answered = xid
		l.mu.Unlock()
		if header.Err != proto.OK {
			return nil, fmt.Errorf("bench: %s: %w", op, header.Err)
		}
		return frame[proto.ReplyHeaderSize:], nil
	}
}

// reply waits for the next frame that does not answer a ping.
func (l *lane) reply(ctx context.Context) (header proto.ReplyHeader, frame []byte, err error) {
	for {
		if frame, err = l.rd.read(); err != nil {
			return header, nil, cmp.Or(ctx.Err(), err)
		}
		if err = header.ReadFrom(frame); err != nil || header.Xid != proto.XidPing {
			return header, frame, err
		}
	}
}

func appendHeader(b []byte, xid int32, op proto.OpCode) []byte {
	b = proto.AppendInt32(b, xid)
	return proto.AppendInt32(b, int32(op))
}

// refill sends requests while there is room and the drive wants some. The lane is locked.
func (l *lane) refill(d *drive, src requester, s *shard, now int64) {
	if l.nc == nil || d.stopping.Load() {
		return
	}
	b := l.out.buf
	before := len(b)
	for l.queue.len() < d.window {
		at := now
		if d.pace != nil {
			if l.made >= l.due {
				break
			}
			at = d.pace.intended(l.index, l.made)
			s.late(at, now)
		}
		start := len(b)
		next, kind, ok := src.next(beginFrame(b), afterXid(l.xid))
		if !ok {
			break
		}
		b = next
		endFrame(b, start)
		l.xid = afterXid(l.xid)
		l.made++
		l.queue.push(flight{at, kind})
	}
	l.out.buf = b
	if len(b) > before {
		l.sent = now
		l.out.flush()
	}
}

// consume records the replies that were read. The lane and the shard are locked.
func (l *lane) consume(d *drive, s *shard, now int64) error {
	for {
		frame, ok, err := l.rd.next()
		if !ok || err != nil {
			return err
		}
		if len(frame) < proto.ReplyHeaderSize {
			return fmt.Errorf("bench: a reply of %d bytes", len(frame))
		}
		xid := int32(binary.BigEndian.Uint32(frame))
		code := proto.ErrCode(binary.BigEndian.Uint32(frame[12:]))
		if xid < 0 { // ping or notification
			continue
		}
		if want := afterXid(l.answered); xid != want || l.queue.len() == 0 {
			return fmt.Errorf("bench: reply has xid %d, want %d", xid, want)
		}
		l.answered = xid
		if zxid := proto.Zxid(binary.BigEndian.Uint64(frame[4:])); zxid > 0 {
			l.session.lastZxid = zxid
		}
		f := l.queue.pop()
		s.add(f.kind, code, f.at, now)
	}
}

// lose records everything in flight as failed. The lane is locked.
func (l *lane) lose(s *shard, code proto.ErrCode, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l.queue.len() > 0 {
		f := l.queue.pop()
		s.add(f.kind, code, f.at, now)
	}
}

// interruptible makes reads of nc fail when ctx ends, until end is called.
func interruptible(ctx context.Context, nc net.Conn) (end func()) {
	stop := context.AfterFunc(ctx, func() { _ = nc.SetReadDeadline(time.Unix(1, 0)) })
	return func() {
		if !stop() {
			_ = nc.SetReadDeadline(time.Time{})
		}
	}
}
