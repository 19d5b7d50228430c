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
	if info, err := os.Stat("/proc/self/fd"); err != nil || info.Size() == 0 {
		t.Skip("an older kernel, which lists them all")
	}
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { fileDescriptors() }), 10.0)
}
