//go:build !weak

package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// weakened exists for builds with the tag weak.
func (m *Host) weakened(c zab.Config) zab.Config { return c }

// hasExpired exists for builds with the tag weak.
func (*Host) hasExpired(proto.SessionID) bool { return false }
