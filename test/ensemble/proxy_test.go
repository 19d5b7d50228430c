package ensemble

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxyQueue is how many pieces are on their way through a proxy before its sender is held up.
const proxyQueue = 4096

// startProxy returns a port of loopback behind which target is, but every byte in either direction is late.
func startProxy(t testing.TB, target string, late time.Duration) (port string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	closed := false
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		closed = true
		for _, nc := range open {
			_ = nc.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	keep := func(nc net.Conn) bool {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, nc)
		return !closed
	}
	wg.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			if !keep(near) || !keep(far) {
				_, _ = near.Close(), far.Close()
				return
			}
			wg.Go(func() { carry(near, far, late) })
			wg.Go(func() { carry(far, near, late) })
		}
	})
	_, port, err = net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	return port
}

// piece is what one read gave, to be sent at a time.
type piece struct {
	bytes []byte
	at    time.Time
}

// carry sends on what it reads, late, until either side ends.
func carry(from, to net.Conn, late time.Duration) {
	pieces := make(chan piece, proxyQueue)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			pieces <- piece{b[:n], time.Now().Add(late)}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.at))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_, _ = from.Close(), to.Close()
	for range pieces { // until the reader has ended
	}
}
