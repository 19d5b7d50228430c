package env

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The memory that a dashboard compares the heap with is that of the machine, unless a limit is lower.
func TestMemoryOfTheMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of the machine is known on Linux only")
	}
	require.Greater(t, machineMemory(), int64(1<<20))
	require.Less(t, machineMemory(), int64(1<<50))
}
