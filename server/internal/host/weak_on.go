//go:build weak

package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// weakened brings back the defects of the agreement that a test asks for.
func (m *Host) weakened(c zab.Config) zab.Config {
	return c.WithWeakness(zab.Weakness(m.Weaknesses.Agreement()))
}

// hasExpired reports whether the end of a session has begun.
func (m *Host) hasExpired(id proto.SessionID) bool { return m.Tracker.HasExpired(id) }
