//go:build !linux

package bench

import "time"

// choosePortLate does nothing: only Linux has that choice.
func choosePortLate(uintptr) {}

// sleepExactly does nothing: only Linux has timers that can be told to be in time.
func sleepExactly() {}

func sleep(d time.Duration) { time.Sleep(d) }
