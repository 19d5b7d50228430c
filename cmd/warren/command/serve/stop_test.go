package serve

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// After a failure the process ends, also if the server does not stop; without one it waits.
func TestFailedServerEnds(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	hangs := make(chan struct{})
	defer close(hangs)
	stopAfter(errors.New("the disk is gone"), func() { <-hangs }, time.Millisecond, zap.New(core))
	require.Len(t, logs.FilterMessageSnippet("does not stop").All(), 1)
	for _, failure := range []error{nil, errors.New("the disk is gone")} {
		stopped := false
		stopAfter(failure, func() { stopped = true }, time.Hour, zap.New(core))
		require.True(t, stopped)
	}
	require.Equal(t, 1, logs.Len())
}
