package serve

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The starts of a server are noted until it is stopped in an orderly way. A damaged file, or none, is no reason not to
// start.
func TestStartsAreNoted(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_700_000_000, 0).UTC()
	require.Equal(t, []time.Time{now}, noteStart(dir, now))
	later := now.Add(time.Minute)
	require.Equal(t, []time.Time{now, later}, noteStart(dir, later))
	forgetStarts(dir)
	require.Equal(t, []time.Time{later}, noteStart(dir, later))
	require.NoError(t, os.WriteFile(filepath.Join(dir, startsFile), []byte("no time\n\x00"), 0o600))
	require.Equal(t, []time.Time{later}, noteStart(dir, later))
	for range 2 * startsMax {
		require.LessOrEqual(t, len(noteStart(dir, later)), startsMax)
	}
	require.Equal(t, []time.Time{now}, noteStart(filepath.Join(dir, "none"), now))
	forgetStarts(filepath.Join(dir, "none"))
}
