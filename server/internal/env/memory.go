package env

import "runtime/debug"

// Memory is how many bytes this process may have: the limit of Go's runtime, which is GOMEMLIMIT or that of the
// container, or the memory of the machine if that is less. It is math.MaxInt64 if both are unknown.
func Memory() int64 { return min(debug.SetMemoryLimit(-1), machineMemory()) }
