package inside

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers each frame of a client with the frames that script gives for it, and ends with the script.
func server(t *testing.T, script ...[][]byte) net.Conn {
	client, end := net.Pipe()
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		defer end.Close()
		for _, answers := range script {
			var size [4]byte
			if _, err := io.ReadFull(end, size[:]); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, end, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
				return
			}
			for _, a := range answers {
				if _, err := end.Write(a); err != nil {
					return
				}
			}
		}
	}()
	return client
}

func frame(parts ...interface{ AppendTo([]byte) []byte }) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = p.AppendTo(b)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

var hello = frame(&proto.ConnectResponse{TimeOut: 30_000, SessionID: 7, HasReadOnly: true})

func header(xid int32, err proto.ErrCode) *proto.ReplyHeader {
	return &proto.ReplyHeader{Xid: xid, Zxid: 9, Err: err}
}

const soon = 10 * time.Second

func TestSessionsThatAreRefused(t *testing.T) {
	for name, answer := range map[string][]byte{
		"closed": nil, "expired": frame(&proto.ConnectResponse{}), "short": {0, 0, 0, 1, 0},
		"endless": {0xff, 0xff, 0xff, 0xff},
	} {
		require.ErrorIs(t, must.Err(open(server(t, [][]byte{answer}), soon, soon)), errRefused, name)
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		answer []byte
		want   error
	}{
		"done":            {frame(header(1, proto.OK)), nil},
		"refused":         {frame(header(1, proto.ErrNoAuth)), proto.ErrNoAuth},
		"closed":          {nil, errUnknown},
		"another request": {frame(header(2, proto.OK)), errUnknown},
		"too short":       {[]byte{0, 0, 0, 2, 0, 0}, errUnknown},
		"endless":         {[]byte{0x7f, 0xff, 0xff, 0xff}, errUnknown},
	} {
		s, err := open(server(t, [][]byte{hello}, [][]byte{c.answer}), soon, soon)
		require.NoError(t, err, name)
		_, err = s.Do(proto.OpDelete, &proto.DeleteRequest{Path: proto.Text("/a")}, soon)
		require.Equal(t, c.want, err, name)
		s.Close()
	}
}

// A session whose watch is refused would stay until its timeout.
func TestFollowClosesASessionThatMayNotWatch(t *testing.T) {
	s, err := open(server(t, [][]byte{hello}, [][]byte{frame(header(1, proto.ErrBadArguments))}, nil), soon, soon)
	require.NoError(t, err)
	defer s.nc.Close()
	require.Equal(t, proto.ErrBadArguments, s.Follow(t.Context(), "//", func(event) bool { return true }))
	require.ErrorIs(t, s.nc.SetDeadline(time.Time{}), io.ErrClosedPipe)

	s = must.Do(open(server(t, [][]byte{hello}, [][]byte{frame(header(1, proto.OK))}, nil), soon, soon))(t)
	defer s.nc.Close()
	require.NoError(t, s.Follow(t.Context(), "/", func(event) bool { return false }))
	require.ErrorIs(t, s.nc.SetDeadline(time.Time{}), io.ErrClosedPipe, "its reader has gone")
}

func TestFollowEndsWithItsReader(t *testing.T) {
	told := frame(header(proto.XidNotification, proto.OK),
		&proto.WatcherEvent{Type: proto.EventNodeCreated, Path: proto.Text("/a")})
	junk := frame(header(proto.XidNotification, proto.OK))
	s, err := open(server(t, [][]byte{hello}, [][]byte{frame(header(1, proto.OK)), junk, told}, nil), soon, soon)
	require.NoError(t, err)
	var got []event
	require.NoError(t, s.Follow(t.Context(), "/", func(e event) bool {
		got = append(got, e)
		return len(got) < 2
	}))
	require.Equal(t, []event{{}, {Type: proto.EventNodeCreated, Path: "/a", Zxid: 9}}, got)

	s = must.Do(open(server(t, [][]byte{hello}, [][]byte{frame(header(1, proto.OK))}, nil), soon, soon))(t)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, s.Follow(ctx, "/", func(event) bool { cancel(); return true }), context.Canceled)
}
