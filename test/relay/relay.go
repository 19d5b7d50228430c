// Package relay is a network path to servers that a test can cut, shut, stop, and make lose answers. It goes over TCP
// on this host, in the process of the test.
//
// A Relay owns its listener, its connections, and two goroutines for each pair of them; all have ended when Close
// returns. Any goroutine may call its methods.
package relay

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// Relay hands connections on to servers, each to another one than the one before.
type Relay struct {
	servers  []string
	listener net.Listener
	running  sync.WaitGroup
	answers  atomic.Int64 // n if the n-th answer from now is to be lost, 0 if none

	mu        sync.Mutex
	changed   *sync.Cond // when bytes may pass again
	conns     map[net.Conn]bool
	isShut    bool // connections are closed as soon as they are made
	isStopped bool // all bytes are held back
	isMute    bool // the bytes of servers are held back
	isOver    bool
}

// New returns a relay to servers, on a port of its own.
func New(servers ...string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return On(l, servers...), nil
}

// On returns a relay to servers from a listener, which it closes.
func On(l net.Listener, servers ...string) *Relay {
	r := &Relay{servers: servers, listener: l, conns: map[net.Conn]bool{}}
	r.changed = sync.NewCond(&r.mu)
	r.running.Go(r.accept)
	return r
}

// Addr is where the relay listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Sources are the addresses from which the servers are connected.
func (r *Relay) Sources() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		if slices.Contains(r.servers, c.RemoteAddr().String()) {
			all = append(all, c.LocalAddr().String())
		}
	}
	return all
}

// Close ends the relay and its connections, and frees its port.
func (r *Relay) Close() {
	_ = r.listener.Close()
	r.set(func() { r.isOver, r.isStopped = true, false })
	r.Cut()
	r.running.Wait()
}

// Cut closes all connections. New ones are made as before.
func (r *Relay) Cut() {
	r.set(func() {
		for c := range r.conns {
			_ = c.Close()
		}
		r.isMute = false
	})
}

// Refuse closes connections that are made until Open. Those that are there stay.
func (r *Relay) Refuse() { r.set(func() { r.isShut = true }) }

// Shut cuts all connections and those that are made until Open.
func (r *Relay) Shut() {
	r.Refuse()
	r.Cut()
}

// Open lets connections through again.
func (r *Relay) Open() { r.set(func() { r.isShut = false }) }

// Stop holds all bytes back, in both directions, until Go.
func (r *Relay) Stop() { r.set(func() { r.isStopped = !r.isOver }) }

// Go lets bytes pass again.
func (r *Relay) Go() { r.set(func() { r.isStopped = false }) }

// Mute holds back what servers send, until Cut.
func (r *Relay) Mute() { r.set(func() { r.isMute = true }) }

// LoseAnswer cuts the connection instead of passing on the n-th answer from now.
func (r *Relay) LoseAnswer(n int64) { r.answers.Store(n) }

func (r *Relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.changed.Broadcast()
}

func (r *Relay) accept() {
	for i := 0; ; i++ {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.servers[i%len(r.servers)])
		if err != nil {
			_ = near.Close()
			continue
		}
		r.mu.Lock()
		if r.isShut || r.isOver {
			_, _ = near.Close(), far.Close()
		} else {
			r.conns[near], r.conns[far] = true, true
			r.running.Go(func() { r.forward(far, near, false) })
			r.running.Go(func() { r.forward(near, far, true) })
		}
		r.mu.Unlock()
	}
}

// forward copies until a side closes or an answer is lost. The end of a connection is held back like its bytes.
func (r *Relay) forward(dst, src net.Conn, isAnswer bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		r.mu.Lock()
		for r.isStopped || isAnswer && r.isMute {
			r.changed.Wait()
		}
		r.mu.Unlock()
		if isAnswer && err == nil && r.answers.Load() > 0 && r.answers.Add(-1) == 0 {
			break
		}
		if _, werr := dst.Write(buf[:n]); err != nil || werr != nil {
			break
		}
	}
	_, _ = dst.Close(), src.Close()
	r.mu.Lock()
	delete(r.conns, dst)
	delete(r.conns, src)
	r.mu.Unlock()
}
