package facts

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// All descriptors are counted, and at once: servers with many clients are asked for their number every two seconds.
func TestFileDescriptorsAreCounted(t *testing.T) {
	const more = 500
	before, most := fileDescriptors()
	require.Greater(t, most, before+more)
	for range more {
		f := must.Do(os.Open(os.DevNull))(t)
		defer func() { _ = f.Close() }()
	}
	now, _ := fileDescriptors()
	require.InDelta(t, before+more, now, 10)
	info := must.Do(os.Stat("/proc/self/fd"))(t)
	if info.Size() > 0 { // since Linux 6.2; older kernels list them all
		require.LessOrEqual(t, testing.AllocsPerRun(10, func() { fileDescriptors() }), 10.0)
	}
}
