package main

import (
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/seed94657493/warren/proto"
)

// conn is the connection of a client.
type conn struct {
	id uint32
	nc net.Conn

	mu      sync.Mutex
	out     []byte
	waiting []waiting // what is not answered, from the first write on
}

// waiting is a request behind a write.
type waiting struct {
	xid, op uint32
	write   bool
}

// What is answered.
var (
	data = (&proto.GetDataResponse{Data: make([]byte, 128)}).AppendTo(nil)
	stat = new(proto.Stat).AppendTo(nil)
	path = (&proto.CreateResponse{Path: proto.Text("/warren-bench-00000000/c00001/n000000001")}).AppendTo(nil)
)

func answer(op uint32) []byte {
	switch proto.OpCode(op) {
	case proto.OpGetData:
		return data
	case proto.OpSetData, proto.OpExists:
		return stat
	case proto.OpCreate:
		return path
	case proto.OpGetChildren:
		return []byte{0, 0, 0, 0}
	}
	return nil
}

func isWrite(op uint32) bool {
	switch proto.OpCode(op) {
	case proto.OpSetData, proto.OpCreate, proto.OpDelete, proto.OpMulti:
		return true
	}
	return false
}

// reply appends an answer. REQUIRES: c.mu.
func (c *conn) reply(xid, op uint32) {
	body := answer(op)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(proto.ReplyHeaderSize+len(body)))
	c.out = binary.BigEndian.AppendUint32(c.out, xid)
	c.out = append(c.out, make([]byte, proto.ReplyHeaderSize-4)...)
	c.out = append(c.out, body...)
}

// written answers the first write, and what waited behind it.
func (c *conn) written(xid, op uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reply(xid, op)
	k := 1
	for ; k < len(c.waiting) && !c.waiting[k].write; k++ {
		c.reply(c.waiting[k].xid, c.waiting[k].op)
	}
	c.waiting = append(c.waiting[:0], c.waiting[k:]...)
}

func (c *conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) > 0 {
		_, _ = c.nc.Write(c.out)
		c.out = c.out[:0]
	}
}

// serve reads requests. All of one read are answered by one write, or forwarded by one packet.
func (s *server) serve(c *conn) {
	defer c.nc.Close()
	buf := make([]byte, 64<<10)
	var writes []byte
	n, greeted := 0, false
	for {
		m, err := c.nc.Read(buf[n:])
		if err != nil {
			return
		}
		n += m
		b := buf[:n]
		for len(b) >= 4 && len(b) >= 4+int(binary.BigEndian.Uint32(b)) {
			frame := b[4 : 4+binary.BigEndian.Uint32(b)]
			b = b[4+len(frame):]
			if !greeted {
				greeted = true
				if c.greet(frame) != nil {
					return
				}
				continue
			}
			xid, op := binary.BigEndian.Uint32(frame), binary.BigEndian.Uint32(frame[4:])
			c.mu.Lock()
			w := isWrite(op)
			if w || len(c.waiting) > 0 {
				c.waiting = append(c.waiting, waiting{xid, op, w})
			} else {
				c.reply(xid, op)
			}
			c.mu.Unlock()
			if w {
				writes = binary.BigEndian.AppendUint32(writes, uint32(writeHead-4+len(frame)-8))
				writes = binary.BigEndian.AppendUint32(writes, uint32(s.id))
				writes = binary.BigEndian.AppendUint32(writes, c.id)
				writes = append(append(writes, frame[:8]...), frame[8:]...)
			}
		}
		n = copy(buf, b)
		c.flush()
		switch {
		case len(writes) == 0:
		case s.id == 1:
			s.propose(writes)
		default:
			s.links[0].send(kindRequests, writes)
		}
		writes = writes[:0]
	}
}

func (c *conn) greet(frame []byte) error {
	var req proto.ConnectRequest
	if err := req.ReadFrom(frame); err != nil {
		return err
	}
	id := proto.SessionID(c.id)
	resp := proto.ConnectResponse{TimeOut: req.TimeOut, SessionID: id, Password: proto.SessionPassword(id),
		HasReadOnly: req.HasReadOnly}
	b := resp.AppendTo(make([]byte, 4))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	if _, err := c.nc.Write(b); err != nil {
		return io.ErrShortWrite
	}
	return nil
}
