package facts

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// All descriptors are counted, and at once: servers with many clients are asked for their number every two seconds.
func TestFileDescriptorsAreCounted(t *testing.T) {
	const more = 500
	before, most := fileDescriptors()
	require.Greater(t, most, before+more)
	for range more {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		defer func() { _ = f.Close() }()
	}
	now, _ := fileDescriptors()
	require.InDelta(t, before+more, now, 10)
	info, err := os.Stat("/proc/self/fd")
	require.NoError(t, err)
	if info.Size() > 0 { // since Linux 6.2; older kernels list them all
		require.LessOrEqual(t, testing.AllocsPerRun(10, func() { fileDescriptors() }), 10.0)
	}
}
