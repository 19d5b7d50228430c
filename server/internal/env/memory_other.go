//go:build !linux

package env

import "math"

// machineMemory returns math.MaxInt64: it is known on Linux only.
func machineMemory() int64 { return math.MaxInt64 }
