//go:build !linux

package limits

import "math"

// machineMemory returns math.MaxInt64: it is known on Linux only.
func machineMemory() int64 { return math.MaxInt64 }
