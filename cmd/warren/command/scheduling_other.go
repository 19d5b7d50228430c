//go:build !linux

package command

// scheduleAsBatch does nothing: only Linux has the policy.
func scheduleAsBatch() error { return nil }
