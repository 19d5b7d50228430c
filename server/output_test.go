package server

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
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
	got := must.ReadAll(t, nc)
	require.Equal(t, 2*len(paths)+1, bytes.Count(got, []byte("\n")))
}
