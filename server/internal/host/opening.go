package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// opening is what waits for the next role. Owned by the host goroutine.
type opening struct {
	on      bool               // the applier is catching up; the role begins after that
	early   []early            // packets for the role; a leader has some before that, too
	resumes []*flow.Resumption // clients that have come back with their session
	then    func()             // to be called when the service has begun; nil most of the time
}

// early is a packet for a role that has not begun.
type early struct {
	link   *link
	packet *peers.Packet
}

// take returns what has waited, when the role begins.
func (o *opening) take() (packets []early, resumes []*flow.Resumption, then func()) {
	packets, resumes, then = o.early, o.resumes, o.then
	o.early, o.resumes, o.then = nil, nil, nil
	return packets, resumes, then
}

// giveUp is called when the service ends. What is to be called waits for the next one.
func (o *opening) giveUp() {
	for _, r := range o.resumes {
		r.Client.Unanswered()
	}
	o.early, o.resumes = nil, nil
}

// periods are the times at which this server has changed, and what is measured of them. Owned by the host goroutine.
type periods struct {
	figures *figures.Quorum
	log     *zap.Logger
	role    time.Time // when the present role began
	looked  time.Time // when the search for a leader began
	lost    time.Time // when the last service ended; zero before the first
}

// begin is called when a member of an ensemble begins to look for a leader. REQUIRES: role.
func (p *periods) begin() {
	p.looked, p.lost = p.role, p.role
	p.figures.Looking.Inc()
}

// change is called when a role ends and another one begins.
func (p *periods) change(from, to zab.State, now time.Time) {
	if from == zab.Looking {
		p.log.Info("election", zap.Stringer("state", to), zap.Duration("took", now.Sub(p.looked)))
	}
	if from == zab.Looking && to != zab.Observing { // an observer takes no part in the election
		p.figures.ElectionTime.Observe(now.Sub(p.looked).Milliseconds())
	}
	if to == zab.Looking {
		p.figures.Looking.Inc()
		p.looked = now
	}
	p.role = now
}

// opened is called when a service begins. It measures the synchronization, and how long this server did not serve.
func (p *periods) opened(state zab.State, now time.Time) {
	switch state {
	case zab.Following:
		p.figures.FollowerSyncTime.Observe(now.Sub(p.role).Milliseconds())
	case zab.Observing:
		p.figures.ObserverSyncTime.Observe(now.Sub(p.role).Milliseconds())
	}
	if p.lost.IsZero() {
		return
	}
	p.figures.UnavailableTime.Observe(now.Sub(p.lost).Milliseconds())
	if state == zab.Leading {
		p.figures.LeaderUnavailableTime.Observe(now.Sub(p.lost).Milliseconds())
	}
}
