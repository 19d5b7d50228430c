package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every port of the block is given away before one comes again, but for those that a process listens on, and another
// process does not get the block.
func TestFreePortsAreOfABlock(t *testing.T) {
	first := FreePort(t)
	taken := listenOn(FreePort(t))
	require.NotNil(t, taken)
	defer taken.Close()
	seen := map[int]bool{first: true}
	for port := FreePort(t); port != first; port = FreePort(t) {
		require.False(t, seen[port], port)
		seen[port] = true
		require.Less(t, port-ports.first, portBlock)
		require.Greater(t, port, ports.first)
	}
	require.InDelta(t, portBlock, len(seen), 20, "others of this machine may listen on some")
	require.Nil(t, listenOn(ports.first))
}
