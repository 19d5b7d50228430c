package peers

import (
	"context"
	"fmt"
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
	l.stats.arrived(first)
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
		return 0, fmt.Errorf("peers: a learner has the id %d of this server", id)
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
