package sessions

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
)

// parts is how many buckets there are in a tick.
const parts = 8

// part is the width of a bucket, ns.
func (t *Tracker) part() int64 { return int64(t.tick) / parts }

// place puts s into the bucket of its timeout. REQUIRES: t.mu.
func (t *Tracker) place(s *Session) {
	if t.mu.learns && !s.local.Load() {
		return
	}
	delete(t.mu.buckets[s.bucket], s)
	s.bucket = max(t.bucketOf(s), t.rounded(s, t.mu.swept+1))
	b := t.mu.buckets[s.bucket]
	if b == nil {
		b = map[*Session]struct{}{}
		t.mu.buckets[s.bucket] = b
	}
	b[s] = struct{}{}
}

// bucketOf returns the first bucket after the timeout of a session in which it may expire. REQUIRES: t.mu.
func (t *Tracker) bucketOf(s *Session) int64 {
	return t.rounded(s, (s.heard.Load()+int64(s.Timeout()))/t.part()+1)
}

// rounded returns the first bucket from one on in which a session may expire: any if it is silent, otherwise the first
// of a tick. REQUIRES: t.mu.
func (t *Tracker) rounded(s *Session, bucket int64) int64 {
	if s.silent {
		return bucket
	}
	return (bucket + parts - 1) / parts * parts
}

// sweep returns the sessions that have expired at now, in the order of their ids, marked as closing. It looks at no
// more buckets than there are: after a suspension many more may have passed.
func (t *Tracker) sweep(now int64) (expired []*Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from, to := t.mu.swept+1, now/t.part()
	if to < from {
		return nil
	}
	t.mu.swept = to
	if to-from < int64(len(t.mu.buckets)) {
		for bucket := from; bucket <= to; bucket++ {
			expired = t.empty(bucket, expired)
		}
	} else {
		for bucket := range t.mu.buckets {
			if bucket <= to {
				expired = t.empty(bucket, expired)
			}
		}
	}
	slices.SortFunc(expired, func(a, b *Session) int { return cmp.Compare(a.ID, b.ID) })
	return expired
}

// empty removes a bucket that was swept: it appends the sessions that have expired to expired, and moves the others to
// the buckets of their timeouts. REQUIRES: t.mu.
func (t *Tracker) empty(bucket int64, expired []*Session) []*Session {
	for s := range t.mu.buckets[bucket] {
		if t.bucketOf(s) > t.mu.swept {
			t.place(s)
			continue
		}
		s.closing.Store(true)
		s.bucket = -1
		expired = append(expired, s)
	}
	delete(t.mu.buckets, bucket)
	return expired
}

// Postpone lets time d, up to now, not count against any session. It is for time in which this server could not
// read from its clients. No session gets more than d, so that on a busy machine sessions end later, but do end.
func (t *Tracker) Postpone(d, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.mu.sessions {
		if heard := s.heard.Load(); !s.closing.Load() {
			// The client was heard of meanwhile if this fails: then nothing is needed.
			s.heard.CompareAndSwap(heard, max(heard, min(heard+d, now)))
			if s.silent {
				t.mu.silent = append(t.mu.silent, s) // other servers took it for older
			}
		}
	}
}

// Expire begins the end of a session as if its timeout were over. It returns nil if there is no such session;
// first is false if the end had begun before.
func (t *Tracker) Expire(id proto.SessionID) (s *Session, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.mu.sessions[id]
	if s == nil || s.closing.Swap(true) {
		return s, false
	}
	delete(t.mu.buckets[s.bucket], s)
	s.bucket = -1
	return s, true
}

// Expiries returns the sessions that wanted accepts, by the time at which they may expire, ns on the server's
// clock. wanted is called under the lock of t.
func (t *Tracker) Expiries(wanted func(*Session) bool) map[int64][]proto.SessionID {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[int64][]proto.SessionID{}
	for bucket, sessions := range t.mu.buckets {
		at := bucket * t.part()
		for s := range sessions {
			if wanted(s) {
				all[at] = append(all[at], s.ID)
			}
		}
	}
	return all
}

// Clock finds sessions that have expired. It belongs to one goroutine, which calls Look about once per bucket: see
// Every.
//
// A server that could not read from its clients, because it was suspended or its disk stood still, does not count
// that silence against them: of such a time only one tick counts, and no session expires before the server had
// time to process what arrived meanwhile. On a machine so busy that this happens again and again sessions end
// later, but do end.
type Clock struct {
	tracker *Tracker
	last    int64 // time of the last Look
	waited  bool  // the last Look let nothing expire
}

// Every is the time between two calls of Look.
func (c *Clock) Every() time.Duration { return max(time.Duration(c.tracker.part()), time.Millisecond) }

// Clock returns a Clock that is at now.
func (t *Tracker) Clock(now int64) *Clock { return &Clock{tracker: t, last: now} }

// Look returns the sessions that have expired at now; their end has begun. stalled is since when the log has been
// writing the present batch, 0 if it writes none.
func (c *Clock) Look(now, stalled int64) (expired []*Session) {
	tick, passed := int64(c.tracker.tick), now-c.last
	c.last = now
	switch {
	case stalled != 0 && now-stalled > tick:
		c.tracker.Postpone(passed, now)
	case passed > tick:
		c.tracker.Postpone(passed-tick, now)
		if c.waited = !c.waited; c.waited {
			return nil
		}
	default:
		c.waited = false
	}
	return c.tracker.sweep(now)
}
