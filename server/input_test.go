package server

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestFramesSplitAnywhereOverASocket cuts a handshake and three requests at every byte.
func TestFramesSplitAnywhereOverASocket(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 10_000})
	stream := wire.AppendFrame(nil, req.AppendTo(nil))
	stream = frame(stream, 1, wire.SetData("/", []byte("x"), -1))
	stream = frame(stream, 2, wire.GetData("/", false))
	stream = frame(stream, proto.XidPing, wire.Request{Op: proto.OpPing})
	for split := 1; split < len(stream); split++ {
		nc := dialRaw(t, s)
		_ = nc.SetDeadline(time.Now().Add(hangGuard))
		must.Do(nc.Write(stream[:split]))(t)
		if split%8 == 0 { // give the server time to park the first part
			require.NoError(t, dialOnce(s))
		}
		must.Do(nc.Write(stream[split:]))(t)
		for _, xid := range []int32{0, 1, 2, proto.XidPing} {
			reply, err := wire.ReadFrame(nc)
			require.NoError(t, err, "split at %d", split)
			require.Equal(t, xid, int32(binary.BigEndian.Uint32(reply)))
		}
		_ = nc.Close()
	}
}

// dialOnce is a round trip to the server.
func dialOnce(s *Server) error {
	_, err := wire.FourLetter(s.Addr().String(), "ruok", hangGuard)
	return err
}
