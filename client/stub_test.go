package client

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// newStub starts a server that answers every operation from prepared bytes, without state and without allocating.
func newStub(t testing.TB) string {
	l := require.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, nc)
			mu.Unlock()
			running.Go(func() { stubServe(nc) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, nc := range conns {
			_ = nc.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// stubReplies maps operations to bodies.
func stubReplies() map[proto.OpCode][]byte {
	stat := proto.Stat{Czxid: 1, Mzxid: 2, DataLength: 128}
	create := proto.Create2Response{Path: proto.Text(benchPath), Stat: stat}
	get := proto.GetDataResponse{Data: make([]byte, 128), Stat: stat}
	children := proto.GetChildren2Response{Children: texts([]string{"one", "two", "three"}), Stat: stat}
	var multi []byte
	for range 3 {
		multi = stat.AppendTo(proto.AppendMultiOp(multi, proto.OpSetData))
	}
	return map[proto.OpCode][]byte{proto.OpCreate2: create.AppendTo(nil), proto.OpGetData: get.AppendTo(nil),
		proto.OpSetData: stat.AppendTo(nil), proto.OpMulti: proto.AppendMultiEnd(multi),
		proto.OpExists: stat.AppendTo(nil), proto.OpGetChildren2: children.AppendTo(nil)}
}

func stubServe(nc net.Conn) {
	defer nc.Close()
	in := newFrames(nc, 1<<20)
	out := bufio.NewWriterSize(nc, 64<<10)
	replies := stubReplies()
	frame, err := in.next()
	if err != nil {
		return
	}
	var req proto.ConnectRequest
	if req.ReadFrom(frame) != nil {
		return
	}
	resp := proto.ConnectResponse{TimeOut: req.TimeOut, SessionID: 1, HasReadOnly: req.HasReadOnly}
	_, _ = nc.Write(endFrame(resp.AppendTo(beginFrame(nil)), 0))
	var head [20]byte
	for {
		frame, err := in.next()
		if err != nil || len(frame) < proto.RequestHeaderSize {
			return
		}
		xid, op := binary.BigEndian.Uint32(frame), proto.OpCode(int32(binary.BigEndian.Uint32(frame[4:])))
		body := replies[op]
		binary.BigEndian.PutUint32(head[:], uint32(proto.ReplyHeaderSize+len(body)))
		binary.BigEndian.PutUint32(head[4:], xid)
		binary.BigEndian.PutUint64(head[8:], 7)
		_, _ = out.Write(head[:])
		_, _ = out.Write(body)
		if in.r == in.w {
			if out.Flush() != nil {
				return
			}
		}
		if op == proto.OpCloseSession {
			_, _ = io.Copy(io.Discard, nc)
			return
		}
	}
}
