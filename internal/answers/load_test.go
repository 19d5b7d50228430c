package answers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStageMillis(t *testing.T) {
	require.Empty(t, StageMillis{Queue: 0.04}.String())
	require.Equal(t, "queue 0.1, sync 800.0, socket 1.2", StageMillis{Queue: 0.05, Sync: 800, Socket: 1.24}.String())
	require.Equal(t, "prepare 1.0, forward 2.0, quorum 3.0, apply 4.0",
		StageMillis{Prepare: 1, Forward: 2, Quorum: 3, Apply: 4}.String())
}
