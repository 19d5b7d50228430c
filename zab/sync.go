package zab

import "github.com/seed94657493/warren/proto"

// syncRequest is a sync that is not answered yet.
type syncRequest struct {
	number uint64 // in the order of the calls
	link   LinkID // 0: of this server itself
	token  uint64
	after  proto.Zxid // the answer follows the commit of this zxid
	admits bool       // the answer is UPTODATE: see admit
}

// syncPing is a ping. Its answer shows that a voter followed after the sync of that number, and after all syncs
// before it.
type syncPing struct{ number, ping uint64 }

// Sync asks for an answer after which the reads of the learner on the link (0: of this server) reflect every
// write that was acknowledged before this call. The answer is a SyncReply with the token, or the token in
// Output.Synced, which holds once the txns of that Output are applied. The leader waits for what is in flight, as
// Java does, and also makes sure that it still leads: a quorum must answer a ping that was sent after this call.
// There is no answer if the leadership ends before. Source: quorum-protocol 8.3; guarantee 5.
func (c *Core) Sync(id LinkID, token uint64) error {
	if c.role != Leading || c.ld.stage != leaderServing || c.status.Stopped {
		return ErrNotLeading
	}
	c.ld.addSync(syncRequest{link: id, token: token, after: c.proposed})
	return nil
}

// addSync numbers a request, and takes it up.
func (ld *leader) addSync(r syncRequest) {
	ld.syncsEver++
	r.number = ld.syncsEver
	ld.syncs = append(ld.syncs, r)
}

// syncPingsMax is how many pings a voter may owe the answers to before syncs ask it no more. A voter that stands still
// for a second, while the others answer thousands of syncs, would be sent as many pings, and its host would end the
// link.
const syncPingsMax = 256

// answerSyncs sends one round of pings for all new requests, also to voters that have become up to date since. It
// answers, in order, the requests whose conditions hold.
func (ld *leader) answerSyncs() {
	if n := len(ld.syncs); n > 0 {
		newest := ld.syncs[n-1].number
		for _, l := range ld.links {
			if l.voter >= 0 && l.stage == linkUpToDate && l.asked < newest && l.pings-l.pongs < syncPingsMax {
				ld.pingTo(l)
				l.asked = newest
				l.syncPings = append(l.syncPings, syncPing{newest, l.pings})
			}
		}
	}
	for len(ld.syncs) > 0 && ld.answerable(&ld.syncs[0]) {
		r := ld.syncs[0]
		ld.syncs = ld.syncs[1:]
		switch l := ld.find(r.link); {
		case r.link == 0:
			ld.out.Synced = append(ld.out.Synced, r.token)
		case l == nil || !r.admits && l.stage != linkUpToDate:
		case r.admits:
			ld.upToDateTo(l)
		case l.epoch != ld.epoch || len(l.answers) > 0: // no commits are sent to it now: see renewal.go
			l.answers = append(l.answers, answer{ld.log.committed, r.token})
		default:
			ld.streamTo(l) // the answer follows the commits that it waited for
			l.send(Message{Type: SyncReply, Token: r.token})
		}
	}
}

// answerable reports whether all that was proposed before the request is committed, and a quorum still follows.
func (ld *leader) answerable(r *syncRequest) bool {
	if ld.log.committed < r.after ||
		r.link == 0 && r.after.Counter() != 0 && ld.log.stable.last < r.after {
		return false
	}
	alive := ld.voting(func(l *link) bool { return l.followedAfter() >= r.number })
	return ld.voters.decides(alive.With(ld.self))
}

// followedAfter returns the number of the newest sync after which the learner has shown that it follows.
func (l *link) followedAfter() uint64 {
	for len(l.syncPings) > 0 && l.syncPings[0].ping <= l.pongs {
		l.followed = l.syncPings[0].number
		l.syncPings = l.syncPings[1:]
	}
	return l.followed
}
