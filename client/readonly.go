package client

import (
	"context"
	"io"
	"net"
	"time"
)

const (
	seekMin = 100 * time.Millisecond
	seekMax = 30 * time.Second
)

// seekQuorum looks for a server with quorum while cn is connected to a server without one. It asks each of servers
// with the word isro, and ends the connection when one answers rw: the session tries that server next. Source:
// client-protocol 2.3.
func (s *session) seekQuorum(ctx context.Context, cn *conn, servers []string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait := seekMin
	for i := 0; ; i++ {
		select {
		case <-cn.gone:
			return
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		server := servers[i%len(servers)]
		if s.isReadWrite(ctx, server) {
			s.better.Store(&server)
			cn.fail(errMoved)
			return
		}
		wait = min(2*wait, seekMax)
	}
}

// isReadWrite asks one server. Any error means no.
func (s *session) isReadWrite(ctx context.Context, server string) bool {
	host, port, _ := net.SplitHostPort(server)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if !s.hosts.names.plain(host) {
		ips, _, err := s.hosts.names.find(ctx, host, time.Second)
		if err != nil {
			return false
		}
		server = net.JoinHostPort(ips[0], port)
	}
	nc, err := s.cfg.dial(ctx, "tcp", server)
	if err != nil {
		return false
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	if s.cfg.tls != nil {
		secure, err := secured(ctx, nc, s.cfg.tls, host)
		if err != nil {
			return false
		}
		nc = secure
	}
	if _, err := io.WriteString(nc, "isro"); err != nil {
		return false
	}
	var answer [2]byte
	_, err = io.ReadFull(nc, answer[:])
	return err == nil && string(answer[:]) == "rw"
}
