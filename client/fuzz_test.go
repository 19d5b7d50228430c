package client

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// fuzzOps are the calls that wait while hostile bytes arrive: one of every reply that is decoded.
var fuzzOps = []proto.OpCode{proto.OpCreate2, proto.OpDelete, proto.OpExists, proto.OpGetData, proto.OpSetData,
	proto.OpGetACL, proto.OpGetChildren2, proto.OpSync, proto.OpMulti, proto.OpMultiRead, proto.OpGetEphemerals,
	proto.OpGetAllChildrenNumber, proto.OpWhoAmI, proto.OpAddWatch}

// For any bytes of a server: nothing panics, every call gets a result, memory stays within a multiple of the
// bytes.
func FuzzServerBytes(f *testing.F) {
	ok := func(xid int32, body ...byte) []byte {
		h := proto.ReplyHeader{Xid: xid, Zxid: 5}
		return endFrame(append(h.AppendTo(beginFrame(nil)), body...), 0)
	}
	e := proto.WatcherEvent{Type: proto.EventNodeDeleted, State: 3, Path: proto.Text("/a")}
	var all []byte
	for i := range fuzzOps {
		all = append(all, ok(int32(i+1), make([]byte, 160)...)...)
	}
	f.Add(all)
	f.Add(ok(1, 0, 0, 0, 1, '/', 0))
	f.Add(append(ok(proto.XidNotification, e.AppendTo(nil)...), ok(proto.XidPing)...))
	f.Add(append(ok(proto.XidAuth), ok(proto.XidSetWatches)...))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, stream []byte) {
		cfg := defaultConfig()
		cfg.replyMax = 1 << 20
		near, far := net.Pipe()
		defer far.Close()
		cn := newConn(near, newFrames(nil, cfg.replyMax), "fuzz", time.Now(), time.Second, &cfg)
		cn.in.src = bytes.NewReader(stream)
		cn.zxid, cn.told = new(atomic.Int64), new(atomic.Int64)
		cn.watches = newWatchSet("/r")
		cn.watches.remove = func(string) bool { return true }
		cn.rearming = 1
		cn.onAuth = func(*authCall, proto.ErrCode) error { return nil }
		cn.auths = []*authCall{{}}
		w := cn.watches.add("/a", watchRecursive, newEventQueue(4), false)
		cn.watches.activate(w)
		c := &Client{chroot: "/r"}
		txn, reads := new(Txn).Check("/a", 1).Create("/b", nil, Persistent), new(Reads).Get("/a").Children("/")
		var calls []*call
		for _, op := range fuzzOps {
			cl := &call{request: request{op: op, path: "/a", chroot: "/r"}, kept: true, done: make(chan struct{})}
			room, err := cn.push(cl)
			require.True(t, room == nil && err == nil)
			calls = append(calls, cl)
		}
		cn.fail(cn.read())
		cn.drain()
		for _, cl := range calls {
			<-cl.done
			if cl.err != nil || cl.body == nil {
				continue
			}
			require.LessOrEqual(t, len(cl.body), len(stream))
			switch cl.op {
			case proto.OpMulti:
				results, err := c.readTxn(txn, cl.body)
				require.True(t, err != nil || len(results) == txn.Len())
			case proto.OpMultiRead:
				results, err := readReads(reads, cl.body)
				require.True(t, err != nil || len(results) == 2)
			}
		}
	})
}

func FuzzParseConnect(f *testing.F) {
	f.Add("a:1,b/c")
	f.Add("[::1]:2,,/")
	f.Add("dns-srv://_zk._tcp.example.com/c")
	f.Fuzz(func(t *testing.T, s string) {
		to, err := parseConnect(s)
		if err != nil {
			return
		}
		require.Equal(t, to.service == "", len(to.servers) > 0)
		for _, name := range to.servers {
			require.Do2(net.SplitHostPort(name))(t)
		}
		require.True(t, to.chroot == "" || checkPath(to.chroot, false) == nil && to.chroot != "/")
	})
}

func FuzzDigestChallenge(f *testing.F) {
	f.Add(`realm="r",nonce="n",algorithm=md5-sess`)
	f.Fuzz(func(t *testing.T, challenge string) {
		x := DigestMD5("user", "secret")("host")
		require.Do2(x.Next(nil))(t)
		if token, _, err := x.Next([]byte(challenge)); err == nil {
			require.Contains(t, string(token), `username="user"`)
		}
	})
}

// Bytes of a server are no reason to wait forever, in any phase.
func TestSilentServerIsLeft(t *testing.T) {
	l := require.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	c, err := New(l.Addr().String(), WithConnectTimeout(10*time.Millisecond), WithBackoff(0, time.Millisecond))
	require.NoError(t, err)
	defer c.Close()
	for range 3 { // accepted, never answered, tried again
		nc := require.Do(l.Accept())(t)
		defer nc.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, require.Err(Dial(ctx, l.Addr().String())), context.DeadlineExceeded)
}
