package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// outsideEvery is how often the log says the same about histories that differ.
const outsideEvery = time.Minute

// differences is what the log was told of histories that differ. Owned by the node goroutine.
type differences struct {
	outside   time.Time                    // when it was said that this server stays outside
	strangers map[proto.ServerID]time.Time // when it was said that the history of a member differs
}

// warnOutside tells the log, now and then, that this server stays outside of the ensemble.
func (m *Host) warnOutside(now time.Time) {
	o := m.status.Outside
	if o == nil || now.Sub(m.told.outside) < outsideEvery {
		return
	}
	m.told.outside = now
	m.Log.Warn("this server stays outside the ensemble: its directory has another history",
		zap.Int64("leader", int64(o.Leader)), zap.String("reason", o.Reason), zap.String("own", o.Own),
		zap.String("theirs", o.Theirs))
}

// warnStrangers tells the log, now and then, which members have another history than this server. Where no history
// has a quorum this is the reason why no server leads.
func (m *Host) warnStrangers(now time.Time, strangers []zab.Stranger) {
	for _, s := range strangers {
		if at, ok := m.told.strangers[s.ID]; ok && now.Sub(at) < outsideEvery {
			continue
		}
		if m.told.strangers == nil {
			m.told.strangers = map[proto.ServerID]time.Time{}
		}
		m.told.strangers[s.ID] = now
		m.Log.Warn("a member has another history than this server: neither counts for the other",
			zap.Int64("peer_id", int64(s.ID)), zap.String("reason", s.Reason), zap.String("theirs", s.Theirs))
	}
}
