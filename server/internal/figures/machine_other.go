//go:build !linux

package figures

import "math"

// machineMemory returns math.MaxInt64: the memory of this machine is unknown.
func machineMemory() int64 { return math.MaxInt64 }
