package wire

import (
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is the server's side of one connection.
type script struct {
	t  *testing.T
	nc net.Conn
}

func (s *script) read() []byte {
	b, err := ReadFrame(s.nc)
	if err != nil {
		return nil // the client's assertion says what is wrong
	}
	return b
}

func (s *script) write(payload []byte) { _ = WriteFrame(s.nc, payload) }

// listen serves one connection with a handshake response of the given payload, nil for a good one.
func listen(t *testing.T, hello []byte, run func(*script)) string {
	t.Helper()
	l := must.Listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		s := &script{t, nc}
		var req proto.ConnectRequest
		_ = req.ReadFrom(s.read())
		if hello == nil {
			r := proto.ConnectResponse{TimeOut: 10000, SessionID: 7, Password: proto.SessionPassword(7),
				HasReadOnly: req.HasReadOnly}
			s.write(r.AppendTo(nil))
		} else {
			s.write(hello)
		}
		if run != nil {
			run(s)
		}
		_, _ = io.Copy(io.Discard, nc)
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func dialScript(t *testing.T, o Options, run func(*script)) *Conn {
	t.Helper()
	o.Reply = 5 * time.Second
	c := Open(t, listen(t, nil, run), o)
	return c
}

// TestStrict gives one wrong answer after another; each must be refused for its own reason.
func TestStrict(t *testing.T) {
	for _, v := range []struct {
		name   string
		req    Request
		answer string
		rule   string
	}{
		{"short header", GetData("/a", false), "00000001 00000000", "reply of 8 bytes"},
		{"wrong xid", GetData("/a", false), "00000002 0000000000000001 ffffff9b", "out of order"},
		{"unknown code", GetData("/a", false), "00000001 0000000000000001 ffffff00", "unknown error code"},
		{"error with body", GetData("/a", false), "00000001 0000000000000001 ffffff9b 00000000", "with a body"},
		{"no body", GetData("/a", false), "00000001 0000000000000001 00000000", "does not decode"},
		{"body of delete", Delete("/a", -1), "00000001 0000000000000001 00000000 00", "no body belongs"},
		{"trailing byte", Create("/a", nil, OpenACL, 0), "00000001 0000000000000001 00000000 00000002 2f61 00",
			"1 bytes after the body"},
		{"null path", Create("/a", nil, OpenACL, 0), "00000001 0000000000000001 00000000 ffffffff", "null string"},
		{"null vector", GetChildren("/a", false), "00000001 0000000000000001 00000000 ffffffff",
			"null string or vector"},
		{"negative count", GetChildren("/a", false), "00000001 0000000000000001 00000000 fffffffe", "not canonical"},
		{"auth with zxid", Auth("digest", []byte("a:b")), "fffffffc 0000000000000001 00000000", "want 0"},
		{"ping with its own xid", xid(5, Request{Op: proto.OpPing}), "00000005 0000000000000001 00000000",
			"out of order"},
		{"multi without end", Multi(), "00000001 0000000000000001 00000000", "results do not decode"},
		{"multi with bad slot", Multi(),
			"00000001 0000000000000001 00000000 ffffffff 00 ffffff9b ffffff9a ffffffff 01 ffffffff",
			"slot header says"},
		{"multi with type 19", Multi(), "00000001 0000000000000001 00000000 00000013 00 00000000 ffffffff 01 ffffffff",
			"slot of type createContainer"},
		{"multi with tail", Multi(), "00000001 0000000000000001 00000000 ffffffff 01 ffffffff 00",
			"after the terminator"},
		{"event without path", Ping(), "ffffffff 0000000000000001 00000000 00000001 00000003 ffffffff",
			"without a path"},
		{"event of type 5", Ping(), "ffffffff 0000000000000001 00000000 00000005 00000003 00000001 2f", "type 5"},
		{"event with state 5", Ping(), "ffffffff 0000000000000001 00000000 00000001 00000005 00000001 2f", "state 5"},
		{"event with zxid 0", Ping(), "ffffffff 0000000000000000 00000000 00000001 00000003 00000001 2f", "zxid"},
		{"event with error", Ping(), "ffffffff 0000000000000001 ffffff9b 00000001 00000003 00000001 2f", "with error"},
	} {
		t.Run(v.name, func(t *testing.T) {
			c := dialScript(t, Options{}, func(s *script) {
				s.read()
				s.write(unhex(t, v.answer))
			})
			_, err := c.Do(v.req)
			var violation *Violation
			require.ErrorAs(t, err, &violation)
			require.Contains(t, violation.Rule, v.rule)
		})
	}
}

// TestZxidGoesBack needs two replies.
func TestZxidGoesBack(t *testing.T) {
	c := dialScript(t, Options{}, func(s *script) {
		s.read()
		s.write(unhex(t, "00000001 0000000000000009 ffffff9b"))
		s.read()
		s.write(unhex(t, "00000002 0000000000000008 ffffff9b"))
	})
	require.ErrorIs(t, c.Delete("/a", -1), proto.ErrNoNode)
	require.Equal(t, proto.Zxid(9), c.LastZxid())
	err := c.Delete("/a", -1)
	require.ErrorContains(t, err, "reply with zxid 0x8 after 0x9")
}

// TestOrder: an event, then replies in order with an auth that overtook.
func TestOrder(t *testing.T) {
	var seen []Packet
	c := dialScript(t, Options{Observe: func(p Packet) { seen = append(seen, p) }}, func(s *script) {
		s.read()
		s.read()
		s.write(unhex(t, "fffffffc 0000000000000000 00000000"))
		s.write(unhex(t, "ffffffff 0000000000000003 00000000 00000001 00000003 00000002 2f61"))
		s.write(unhex(t, "00000001 0000000000000003 00000000 00000002 2f61"))
	})
	calls := c.SendAll([]Request{Create("/a", nil, OpenACL, 0), Auth("digest", []byte("a:b"))})
	for _, call := range calls {
		require.NoError(t, call.Wait())
	}
	require.Len(t, seen, 3)
	require.Same(t, calls[1], seen[0].Call)
	require.Equal(t, &Event{proto.EventNodeCreated, "/a", 3}, seen[1].Event)
	require.Same(t, calls[0], seen[2].Call)
}

func TestHandshakeRules(t *testing.T) {
	good := proto.ConnectResponse{TimeOut: 10000, SessionID: 7, HasReadOnly: true}
	rejected := proto.ConnectResponse{HasReadOnly: true}
	half := proto.ConnectResponse{SessionID: 7, HasReadOnly: true}
	for _, v := range []struct {
		name  string
		hello []byte
		o     Options
		err   string
	}{
		{"36 bytes for 45", good.AppendTo(nil)[:36], Options{}, "connect response of 36 bytes, want 37"},
		{"37 bytes for 44", good.AppendTo(nil), Options{Legacy: true}, "connect response of 37 bytes, want 36"},
		{"other session", good.AppendTo(nil), Options{Session: 8}, "resumed 0x8 as 0x7"},
		{"half rejected", half.AppendTo(nil), Options{Session: 7}, "must be all zero"},
		{"rejected", rejected.AppendTo(nil), Options{Session: 7}, ErrRejected.Error()},
	} {
		t.Run(v.name, func(t *testing.T) {
			v.o.Reply = 5 * time.Second
			_, err := Dial(listen(t, v.hello, nil), v.o)
			require.ErrorContains(t, err, v.err)
		})
	}
}

// TestServerCloses: calls without a reply end with an error, and later ones at once.
func TestServerCloses(t *testing.T) {
	c := dialScript(t, Options{}, func(s *script) {
		s.read()
		s.nc.Close()
	})
	_, err := c.Do(GetData("/a", false))
	require.True(t, IsEOF(err), "%v", err)
	require.NoError(t, c.WaitClosed())
	_, err = c.Do(GetData("/a", false))
	require.Error(t, err)
	require.False(t, errors.Is(err, errClosed))
}

// FuzzDecodeBody: no panic, whatever the bytes.
func FuzzDecodeBody(f *testing.F) {
	for _, v := range vectors {
		raw, err := hex.DecodeString(strings.Join(strings.Fields(v.reply), ""))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(int32(v.req.Op), raw[proto.ReplyHeaderSize:])
	}
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		v, err := decodeBody(proto.OpCode(op), proto.OK, body)
		if err != nil && v != nil {
			t.Fatalf("value %v with error %v", v, err)
		}
	})
}
