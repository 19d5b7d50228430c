package host

import (
	"net"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/zab"
)

// outsideEvery is how often the log repeats a message about histories that differ.
const outsideEvery = time.Minute

// notices are what the log, and operators, are told of other servers, and when the log was told. Owned by the host
// goroutine.
type notices struct {
	*env.Env
	outside   time.Time                    // when it was logged that this server stays outside
	strangers map[proto.ServerID]time.Time // when it was logged that the history of a member differs
	rivals    time.Time                    // when it was logged that two servers have the same id
	rival     map[proto.ServerID]rival     // servers that have the id of another one
	lists
	leaderless leaderless
}

// Rival is a server that goes by the id of a member, and is none of the configuration: the member is elsewhere.
type Rival struct {
	ID   proto.ServerID
	Host string        // where it is
	Age  time.Duration // since it was heard last
	// Away says that this server leads and has turned it away, because the member follows. Otherwise it has been heard
	// to look for a leader, and may be the member itself if that does not serve.
	Away bool
}

// rival is what is known of a Rival.
type rival struct {
	host        string
	first, last time.Time // when it was heard
	away        bool      // it was turned away
}

const (
	// rivalMemory is how long a rival is remembered after it was last heard. A server that looks for a leader is heard
	// at least once a minute.
	rivalMemory = 90 * time.Second
	// rivalLeast is how long a rival that was not turned away has to be heard before it is reported.
	rivalLeast = 5 * time.Second
)

// hear remembers a rival.
func (n *notices) hear(id proto.ServerID, host string, away bool, now time.Time) {
	r, known := n.rival[id]
	if !known || now.Sub(r.last) >= rivalMemory {
		r = rival{host: host, first: now}
	}
	r.last, r.away = now, r.away || away
	n.rival[id] = r
}

// present returns the rivals that are there now, by their ids.
func (n *notices) present(now time.Time) (all []Rival) {
	for id, r := range n.rival {
		switch {
		case now.Sub(r.last) >= rivalMemory:
			delete(n.rival, id)
		case r.away || r.last.Sub(r.first) >= rivalLeast:
			all = append(all, Rival{id, r.host, now.Sub(r.last), r.away})
		}
	}
	slices.SortFunc(all, func(a, b Rival) int { return int(a.ID - b.ID) })
	return all
}

// rivalsEvery is how often the log repeats that two servers have the same id.
const rivalsEvery = time.Minute

// warnOutside logs now and then that this server stays outside the ensemble.
func (n *notices) warnOutside(o *zab.Outside, now time.Time) {
	if o == nil || now.Sub(n.outside) < outsideEvery {
		return
	}
	n.outside = now
	n.Log.Warn("this server stays outside the ensemble",
		zap.Int64("leader", int64(o.Leader)), zap.String("reason", o.Reason), zap.String("own", o.Own),
		zap.String("theirs", o.Theirs))
}

// warnStrangers logs now and then which members have a different history than this server. If no history has a
// quorum, this is the reason why no server leads.
func (n *notices) warnStrangers(now time.Time, strangers []zab.Stranger) {
	for _, s := range strangers {
		if at, ok := n.strangers[s.ID]; ok && now.Sub(at) < outsideEvery {
			continue
		}
		n.strangers[s.ID] = now
		n.Log.Warn("a member has another history than this server: neither counts towards a quorum of the other",
			zap.Int64("peer_id", int64(s.ID)), zap.String("reason", s.Reason), zap.String("theirs", s.Theirs))
	}
}

// turnedAway warns that a learner has introduced itself with the id of a server that follows on another link. If the
// id is smaller than the leader's, a second server does not get that far: for an election the server with the larger
// id connects, to the address that it knows. Then those with smaller ids hear it, see hearsList, and those with larger
// ones are asked to connect, see askedAnew.
func (n *notices) turnedAway(rivals []zab.Rival, k *links, now time.Time) {
	for _, r := range rivals {
		l, holder := k.open[r.Link], k.open[r.Holder]
		if l == nil || holder == nil {
			continue
		}
		if host, _, err := net.SplitHostPort(l.Stats().Addr); err == nil {
			n.hear(holder.Peer, host, true, now)
		}
		if now.Sub(n.rivals) < rivalsEvery {
			continue
		}
		n.rivals = now
		n.Log.Warn("two servers have the same id, and the second is turned away: give it another id, or stop it",
			zap.Int64("peer_id", int64(holder.Peer)), zap.String("addr", l.Stats().Addr),
			zap.String("other_addr", holder.Stats().Addr))
	}
}

// askedAnew notes that a server with a smaller id has asked for an election channel although this server seemed to
// have one with it. If it names none of the member's addresses, it is a rival.
func (n *notices) askedAnew(id proto.ServerID, addresses []string, now time.Time) {
	var there []config.PeerAddress
	for _, address := range addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return
		}
		number, _ := strconv.Atoi(port) // no member listens at 0
		there = append(there, config.PeerAddress{Host: host, ElectionPort: number})
	}
	if host := elsewhere(n.Membership().Member(int64(id)), there); host != "" {
		n.hear(id, host, false, now)
	}
}
