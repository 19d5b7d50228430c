package config

import "time"

// LeaseTime is how long a server may answer clients after what it reported about their sessions is known to have
// arrived: a third of the time after which a learner gives up its leader, and two ticks at least, since each tick has
// two PINGs. See package lease of the host for what follows from it.
func (c *Config) LeaseTime() time.Duration { return max(2*c.TickTime, c.syncTime()/3) }

// LeaseOf is how long it may answer the client of a session with a timeout: half of that if it is longer, but no
// longer than LongestLease.
func (c *Config) LeaseOf(timeout time.Duration) time.Duration {
	return min(max(c.LeaseTime(), timeout/2), c.LongestLease())
}

// LongestLease is as long as a learner waits for its leader.
func (c *Config) LongestLease() time.Duration { return max(c.LeaseTime(), c.syncTime()) }

// syncTime is after what time a learner gives up a leader that is silent.
func (c *Config) syncTime() time.Duration { return time.Duration(max(c.SyncLimit, 1)) * c.TickTime }
