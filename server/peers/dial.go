package peers

import (
	"context"
	"errors"
	"net"
	"time"
)

// keepAlive lets the kernel find out about peers that are gone without a word, beside the pings of the protocol.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// tune sets the options of a connection between servers. What the other side does not acknowledge within Timeouts.Write ends the
// connection, even if nobody writes more: without that, what was sent into a partition is repeated ever more seldom, and
// arrives long after the partition has healed. With gathers the kernel may hold back small packets for more.
func (p *Peers) tune(nc net.Conn, gathers bool) {
	if t := tcpOf(nc); t != nil {
		if p.cfg.NoKeepAlive {
			_ = t.SetKeepAlive(false) // package net has switched it on
		} else {
			_ = t.SetKeepAliveConfig(keepAlive)
		}
		_ = t.SetNoDelay(!gathers)
		setUserTimeout(t, p.cfg.Timeouts.Write)
	}
}

// tcpOf returns what carries a connection, or nil if that is no socket.
func tcpOf(nc net.Conn) *net.TCPConn {
	for {
		switch c := nc.(type) {
		case *net.TCPConn:
			return c
		case interface{ NetConn() net.Conn }:
			nc = c.NetConn()
		default:
			return nil
		}
	}
}

// dialAny connects to one of the addresses of a server. The next one is tried when those before it have failed, or have not
// answered for Timeouts.Stagger; the first connection that stands is taken.
func (p *Peers) dialAny(ctx context.Context, addresses []string, gathers bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeouts.Connect)
	defer cancel()
	type result struct {
		nc  net.Conn
		err error
	}
	results := make(chan result, len(addresses))
	next, running := 0, 0
	start := func() {
		address := addresses[next]
		next++
		running++
		if !p.start(func() {
			nc, err := p.cfg.Dial(ctx, "tcp", address)
			results <- result{nc, err}
		}) {
			results <- result{nil, errStopped}
		}
	}
	var won net.Conn
	var failures []error
	stagger := time.NewTicker(p.cfg.Timeouts.Stagger)
	defer stagger.Stop()
	start()
	for running > 0 {
		select {
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				failures = append(failures, r.err)
			case won == nil:
				won = r.nc
				cancel() // the others
			default:
				_ = r.nc.Close()
			}
			if r.err != nil && won == nil && next < len(addresses) {
				start()
			}
		case <-stagger.C:
			if won == nil && next < len(addresses) {
				start()
			}
		}
	}
	if won == nil {
		return nil, errors.Join(failures...)
	}
	p.tune(won, gathers)
	return won, nil
}
