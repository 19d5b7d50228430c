package server

import (
	"time"

	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/zab"
)

// quorumRole is the role as the metrics and words show it.
func (m *member) quorumRole() quorumRole {
	v := m.view.Load()
	r := quorumRole{Mode: m.srv.mode(), Peer: peerState(v), Size: m.srv.cfg.Voters(), Ensemble: (*admin.Ensemble)(nil)}
	switch v.State {
	case zab.Leading:
		r.Leading = true
		r.LeaderUptime = time.Since(v.Since)
	case zab.Following:
		r.Following = true
	case zab.Observing:
		r.Observing, r.ObserverMaster = true, int64(v.Leader)
	}
	return r
}

// peerState spells the role as zk_peer_state does. Source: operations section 4.4.
func peerState(v *roleView) string {
	phase := map[zab.Phase]string{zab.Election: "election", zab.Discovery: "discovery", zab.Synchronization: "synchronization",
		zab.Broadcast: "broadcast"}[v.Phase]
	switch v.State {
	case zab.Leading:
		return "leading - " + phase
	case zab.Following:
		return "following - " + phase
	case zab.Observing:
		return "observing - " + phase
	}
	return "looking"
}
