package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/must"
)

// ProcessorTime is what a process has used, in ticks of 10 ms.
func ProcessorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text := must.ReadFile(t, fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks time.Duration
	for _, field := range strings.Fields(rest)[11:13] { // utime and stime
		n := must.Do(strconv.ParseInt(field, 10, 64))(t)
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}
