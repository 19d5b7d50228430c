//go:build !linux

package serve

// scheduleAsBatch does nothing: only Linux has the policy.
func scheduleAsBatch() error { return nil }
