package server

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestLongAnswerReachesAClientThatHasClosedItsSide(t *testing.T) {
	s, c := serveOne(t, memConfig())
	var paths []string
	for i := range 100_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i))
	}
	require.NoError(t, c.SetWatches(0, nil, paths, nil))
	nc := dialRaw(t, s)
	must.Do(nc.Write([]byte("wchp")))(t)
	require.NoError(t, nc.CloseWrite())
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	got := must.ReadAll(t, nc)
	require.Equal(t, 2*len(paths)+1, bytes.Count(got, []byte("\n")))
}
