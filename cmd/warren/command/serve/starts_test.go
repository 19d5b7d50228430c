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
	note := func(dir string, now time.Time) []time.Time {
		all := startsWith(dir, now)
		noteStarts(dir, all)
		return all
	}
	dir, now := t.TempDir(), time.Unix(1_700_000_000, 0).UTC()
	require.Equal(t, []time.Time{now}, note(dir, now))
	later := now.Add(time.Minute)
	require.Equal(t, []time.Time{now, later}, note(dir, later))
	forgetStarts(dir)
	require.Equal(t, []time.Time{later}, note(dir, later))
	require.NoError(t, os.WriteFile(filepath.Join(dir, startsFile), []byte("no time\n\x00"), 0o600))
	require.Equal(t, []time.Time{later}, note(dir, later))
	for range 2 * startsMax {
		require.LessOrEqual(t, len(note(dir, later)), startsMax)
	}
	require.Equal(t, []time.Time{now}, note(filepath.Join(dir, "none"), now))
	forgetStarts(filepath.Join(dir, "none"))
}
