package prepare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSequenceText(t *testing.T) {
	for n, text := range map[int32]string{
		0:                 "0000000000",
		7:                 "0000000007",
		1234567890:        "1234567890",
		math.MaxInt32 - 1: "2147483646",
		math.MaxInt32:     "2147483647",
		-1:                "-000000001",
		-5:                "-000000005",
		-123456789:        "-123456789",
		-1234567890:       "-1234567890",
		math.MinInt32:     "-2147483648",
	} {
		require.Equal(t, "/n-"+text, string(appendSequence([]byte("/n-"), n)))
	}
}

func TestSequenceStopsAtItsLimit(t *testing.T) {
	next, raised := nextSequence(math.MaxInt32 - 1)
	require.True(t, raised)
	require.EqualValues(t, math.MaxInt32, next)
	next, raised = nextSequence(next)
	require.False(t, raised)
	require.EqualValues(t, math.MaxInt32, next)
	next, raised = nextSequence(-1)
	require.True(t, raised)
	require.Zero(t, next)
}

// ZOOKEEPER-4743: -1 is never a version.
func TestVersionArithmetic(t *testing.T) {
	require.EqualValues(t, 1, nextVersion(0))
	require.EqualValues(t, math.MinInt32, nextVersion(math.MaxInt32))
	require.EqualValues(t, 0, nextVersion(-2))
	require.EqualValues(t, 0, nextVersion(-1))
	require.EqualValues(t, -2, nextVersion(-3))

	require.True(t, versionMatches(5, 5))
	require.True(t, versionMatches(5, -1))
	require.True(t, versionMatches(math.MinInt32, math.MinInt32))
	require.False(t, versionMatches(5, -2))
	require.False(t, versionMatches(0, 1))
}
