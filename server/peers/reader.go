package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/zab"
)

// firstPacketMax bounds the data of the first packet of a learner, in bytes. It has room for the longest lineage.
const firstPacketMax = 1<<10 + zab.LineageSizeMax

func (p *Peers) newInput(nc net.Conn) *input {
	return &input{r: nc, size: p.cfg.Limits.ChunkMin, max: p.cfg.Limits.ChunkMax, limit: p.cfg.Limits.DataMax}
}

// admit serves a connection that a learner has opened to one of the ports of this server.
func (p *Peers) admit(nc net.Conn, at *port) {
	stranger := nc
	nc, in, first, peer, err := p.meet(nc)
	number, queueMax := zab.LearnerPort, p.cfg.Limits.QueueMax
	if at == &p.master {
		number, queueMax = zab.MasterPort, p.cfg.Limits.MasterQueue
		if err == nil && first[0].Type != proto.PacketObserverInfo {
			err = fmt.Errorf("%w: %v on the port for observers", ErrPacket, first[0].Type)
		}
	}
	if !at.lobby.leave(stranger) || err != nil {
		p.refuse(nc, at, err)
		return
	}
	_ = nc.SetDeadline(time.Time{})
	in.limit = p.cfg.Limits.DataMax
	id := p.cfg.Handler.Accept(number)
	if id == 0 {
		p.untrack(nc)
		return
	}
	l := newLink(p, id, peer)
	l.queueMax = queueMax
	l.nc = nc
	l.raw = socket.Raw(nc)
	if !p.adopt(l) {
		p.untrack(nc)
		p.cfg.Handler.Closed(id)
		return
	}
	l.stats.packetsIn.Add(1)
	p.cfg.Handler.Packets(l, first)
	l.serve(in)
}

// meet reads the first packet of a learner that has opened a connection. It returns the connection to go on with,
// which may be an encrypted one on top of the opened one, and the id of the learner.
func (p *Peers) meet(opened net.Conn) (nc net.Conn, in *input, first []Packet, peer proto.ServerID, err error) {
	deadline := p.deadline(p.cfg.Timeouts.FirstPacket)
	nc, err = p.encrypt(opened, deadline)
	if err == nil {
		nc, err = p.authenticate(nc, deadline)
	}
	if err == nil {
		in = p.newInput(nc)
		in.limit = firstPacketMax
		first, err = in.next(make([]Packet, 0, 1))
	}
	if err == nil {
		peer, err = p.introduced(&first[0])
	}
	return nc, in, first, peer, err
}

// introduced returns the id of the server that has sent a first packet. An observer without an id gets a number below
// 0. Source: quorum-protocol 2.1, 4.
func (p *Peers) introduced(first *Packet) (proto.ServerID, error) {
	observer := first.Type == proto.PacketObserverInfo
	if !observer && first.Type != proto.PacketFollowerInfo {
		return 0, fmt.Errorf("%w: a learner begins with %v", ErrPacket, first.Type)
	}
	id := anonymousID
	if len(first.Data) >= 8 {
		r := proto.NewReader(first.Data)
		id = proto.ServerID(r.Int64())
	}
	switch {
	case observer && (id == anonymousID || id == -1):
		return proto.ServerID(p.anonymous.Add(-1)), nil
	case id == p.cfg.ID:
		return 0, fmt.Errorf("peers: learner %d says that it is this server", id)
	case id < 0 || id == anonymousID:
		return 0, fmt.Errorf("peers: a learner has the id %d, which no server can have", id)
	}
	return id, nil
}

// connect makes the connection of a link that was asked for.
func (p *Peers) connect(ctx context.Context, l *Link, port zab.Port) {
	err := l.dial(ctx, port)
	if err == nil && !p.group.Go("link writer", l.write) {
		err = errStopped
	}
	if err != nil {
		p.stats.dialFailures.Add(1)
		p.log.Debug("connecting to learn", zap.Int64("peer_id", int64(l.Peer)), zap.Error(err))
		l.abort(err)
		p.forget(l)
		return
	}
	p.cfg.Handler.Connected(l)
	l.serve(p.newInput(l.nc))
}

// dial makes the connection of the link and proves which server this is.
func (l *Link) dial(ctx context.Context, port zab.Port) error {
	p := l.p
	addresses, err := p.learnerAddresses(l.Peer, port)
	if err != nil {
		return err
	}
	nc, err := p.dialAny(ctx, addresses, p.cfg.NagleDialled)
	if err != nil {
		return err
	}
	if !l.carriedBy(nc) {
		_ = nc.Close()
		return net.ErrClosed
	}
	deadline := p.deadline(p.cfg.Timeouts.FirstPacket)
	_ = nc.SetDeadline(deadline)
	if err = p.prove(nc, addresses, deadline); err != nil {
		return err
	}
	_ = nc.SetDeadline(time.Time{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.state == linkDead {
		return net.ErrClosed
	}
	l.mu.dialling = false
	l.raw = socket.Raw(nc)
	return nil
}

// carriedBy makes nc the connection of the link, so that kill closes it. It returns false if the link has ended.
func (l *Link) carriedBy(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.state == linkDead {
		return false
	}
	l.nc = nc
	return true
}

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
		l.stats.packetsIn.Add(uint64(len(batch)))
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
