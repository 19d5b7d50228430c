//go:build !linux

package sched

import "time"

// suspended returns 0: only Linux tells.
func suspended() time.Duration { return 0 }
