package visible

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pages follow each other by places: two sessions with one place, or with places that a browser rounds, would be lost
// between two pages. An ensemble has at most 1,024 servers, whose ids may be any.
func TestPlacesOfSessionsDiffer(t *testing.T) {
	const most = 1023 // other servers
	last := uint64(placeOfServer - 1)
	for i := range most {
		require.Greater(t, placeAt(i, 1), last)
		last = placeAt(i, placeOfServer-1)
	}
	require.Less(t, last, uint64(placeOfNone))
	require.Less(t, uint64(placeOfNone)+1<<40, uint64(1)<<53)
}
