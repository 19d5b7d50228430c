package bench

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// outbox writes a connection's requests without ever making the sender wait: what the socket does
// not take at once is written by a goroutine of its own. A sender that waited could not read
// replies, and a server that stops reading until its replies are read would stop forever.
type outbox struct {
	mu       *sync.Mutex // the lane's, held by callers; guards all fields
	nc       net.Conn
	raw      syscall.RawConn    // nil if nc is no socket that can be tried
	write    func(uintptr) bool // writeSome, bound once
	written  int                // by the last writeSome
	buf      []byte             // requests that are not written yet
	spare    []byte
	flushing bool // the goroutine runs and will write buf
}

// init makes o write to nc. mu is the lock that guards o.
func (o *outbox) init(mu *sync.Mutex, nc net.Conn) {
	*o = outbox{mu: mu, nc: nc}
	if sc, ok := nc.(syscall.Conn); ok && canTry {
		if raw, err := sc.SyscallConn(); err == nil {
			o.raw = raw
			o.write = o.writeSome
		}
	}
}

// flush sends buf. Errors are not reported: the reader of the same connection meets them.
func (o *outbox) flush() {
	if o.flushing || len(o.buf) == 0 {
		return
	}
	if o.raw != nil {
		o.written = 0
		_ = o.raw.Write(o.write)
		if o.written == len(o.buf) {
			o.buf = o.buf[:0]
			return
		}
		o.buf = o.buf[:copy(o.buf, o.buf[o.written:])]
	}
	o.flushing = true
	go o.drain()
}

// writeSome writes what the socket takes at once. It never asks to wait.
func (o *outbox) writeSome(fd uintptr) bool {
	for {
		k, err := writeOnce(fd, o.buf[o.written:])
		if k > 0 {
			o.written += k
		}
		if o.written == len(o.buf) || (err != nil && !errors.Is(err, syscall.EINTR)) {
			return true
		}
	}
}

// drain writes until nothing is left.
func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) > 0 {
		out := o.buf
		o.buf = o.spare[:0]
		o.mu.Unlock()
		_, err := o.nc.Write(out)
		o.mu.Lock()
		o.spare = out
		if err != nil {
			_ = o.nc.Close() // wakes the reader
			o.buf = o.buf[:0]
		}
	}
	o.flushing = false
}
