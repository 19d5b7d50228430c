package server

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/wire"
)

func TestLongAnswerReachesAClientThatHasClosedItsSide(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{})
	var paths []string
	for i := range 100_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i))
	}
	require.NoError(t, c.SetWatches(0, nil, paths, nil))
	nc := dialRaw(t, s)
	_, err := nc.Write([]byte("wchp"))
	require.NoError(t, err)
	require.NoError(t, nc.CloseWrite())
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	got, err := io.ReadAll(nc)
	require.NoError(t, err)
	require.Equal(t, 2*len(paths)+1, bytes.Count(got, []byte("\n")))
}

// A client that takes no events is closed when too much waits for all clients together. A client that takes all its
// events is not.
func TestEventsThatNobodyTakes(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	w := dialWire(t, s, wire.Options{})
	path := "/" + string(bytes.Repeat([]byte{'n'}, 500_000))
	_, err := w.Create(path, nil, proto.ModePersistent)
	require.NoError(t, err)
	deaf := dialRaw(t, s)
	require.NoError(t, deaf.SetReadBuffer(16<<10))
	hello(t, deaf, wire.Options{TimeoutMs: 40_000})
	_, err = deaf.Write(frame(nil, 1, wire.AddWatch(path, proto.AddWatchPersistent)))
	require.NoError(t, err)
	require.NoError(t, w.AddWatch(path, proto.AddWatchPersistent))
	s.front.Undelivered.Total.Add(serve.UndeliveredMax) // others
	defer s.front.Undelivered.Total.Add(-serve.UndeliveredMax)
	before := s.front.Conns.Len()
	eventually(t, func() bool {
		_, err := w.SetData(path, nil, -1)
		require.NoError(t, err)
		return s.front.Conns.Len() < before
	}, "the deaf one is closed")
	require.NoError(t, w.Ping())
	eventually(t, func() bool { return s.front.Undelivered.Total.Load() == serve.UndeliveredMax },
		"nothing of it is counted any more")
}
