package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ProcessorTime is what a process has used, in ticks of 10 ms.
func ProcessorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks time.Duration
	for _, field := range strings.Fields(rest)[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}
