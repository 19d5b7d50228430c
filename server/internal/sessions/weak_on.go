//go:build weak

package sessions

import "github.com/seed94657493/warren/proto"

// HasExpired reports whether the end of a session has begun. It exists only under the tag weak.
func (t *Tracker) HasExpired(id proto.SessionID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live(id) == nil
}
