package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// session is a session that this server keeps alive. Its life in the replicated state begins and
// ends with a txn; this is what lies between: when it was heard of last.
type session struct {
	id        proto.SessionID
	timeoutMs atomic.Int32
	heard     atomic.Int64 // when its client was last heard of, ns on the server's clock
	local     atomic.Bool  // only this server knows it
	closing   atomic.Bool  // its closeSession is on its way: nothing else of it is accepted

	conn     *conn      // that serves it now, or nil; guarded by tracker.mu
	bucket   int64      // guarded by tracker.mu
	owner    zab.LinkID // at a leader: whom it sends its requests to; guarded by tracker.mu
	reported int64      // at a learner: what of heard the leader knows; guarded by tracker.mu
	// after is what the leader had proposed when the client came to this server. Owned by the node goroutine.
	after proto.Zxid
}

// Owners of sessions that are no links of learners.
const (
	ownerHere    zab.LinkID = 0
	ownerUnknown            = ^zab.LinkID(0) // the first that asks something for the session becomes its owner
)

// touch notes that the client was heard of at now.
func (s *session) touch(now int64) { s.heard.Store(now) }

func (s *session) timeout() time.Duration {
	return time.Duration(s.timeoutMs.Load()) * time.Millisecond
}

// tracker expires sessions in buckets one tick wide: a session expires in the first bucket that
// begins more than its timeout after it was last heard of, so between T and T + tick. A touch
// only notes the time; the sweep moves a session that was heard of meanwhile to its later bucket,
// which makes a touch one store and no lock. Source: server-semantics section 7.3.
type tracker struct {
	tick time.Duration
	mu   struct {
		sync.Mutex
		sessions map[proto.SessionID]*session
		buckets  map[int64]map[*session]struct{}
		swept    int64 // buckets up to this one are empty
		nextID   proto.SessionID
		learns   bool                      // this server is a learner: its leader expires sessions
		below    map[proto.SessionID]int32 // sessions that observers of this follower have heard of, with their timeouts; not told to the leader yet
	}
}

// newTracker returns a tracker that hands out ids of server after those in use. now is the wall
// clock in ms, ids the sessions that exist.
func newTracker(tick time.Duration, server proto.ServerID, wallMs int64) *tracker {
	t := &tracker{tick: tick}
	t.mu.sessions = map[proto.SessionID]*session{}
	t.mu.buckets = map[int64]map[*session]struct{}{}
	t.mu.nextID = firstSessionID(server, wallMs)
	return t
}

// firstSessionID lays out an id: the server in the top byte, 40 bits of clock, 16 bits from 0.
// Source: client-protocol section 3.4.
func firstSessionID(server proto.ServerID, wallMs int64) proto.SessionID {
	id := proto.SessionID(int64(uint64(wallMs)<<24>>8) | int64(server)<<56)
	if id == proto.OwnerContainer {
		id++
	}
	return id
}

// restore tracks a session that the state already has, with its full timeout from now.
func (t *tracker) restore(id proto.SessionID, timeoutMs int32, now int64) *session {
	s := &session{id: id}
	s.timeoutMs.Store(timeoutMs)
	s.heard.Store(now)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.sessions[id] = s
	t.place(s)
	if id>>56 == t.mu.nextID>>56 && id >= t.mu.nextID {
		t.mu.nextID = id + 1
	}
	return s
}

// create makes a new session that c serves.
func (t *tracker) create(timeoutMs int32, c *conn) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.mu.sessions[t.mu.nextID] != nil || t.mu.nextID == 0 || t.mu.nextID == proto.OwnerContainer {
		t.mu.nextID++
	}
	s := &session{id: t.mu.nextID, conn: c}
	t.mu.nextID++
	s.timeoutMs.Store(timeoutMs)
	s.heard.Store(c.received)
	t.mu.sessions[s.id] = s
	t.place(s)
	return s
}

// resume binds the session to c and returns it with the connection that served it so far, or nil
// if there is no such session or it is closing.
func (t *tracker) resume(id proto.SessionID, timeoutMs int32, c *conn) (s *session, old *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.mu.sessions[id]
	if s == nil || s.closing.Load() {
		return nil, nil
	}
	old, s.conn, s.owner = s.conn, c, ownerHere
	s.timeoutMs.Store(timeoutMs)
	s.heard.Store(c.received)
	t.place(s)
	return s, old
}

// unbind forgets that c serves s, unless another connection does by now.
func (t *tracker) unbind(s *session, c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.conn == c {
		s.conn = nil
	}
}

// remove forgets a session that has ended and returns the connection that served it.
func (t *tracker) remove(id proto.SessionID) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.mu.sessions[id]
	if s == nil {
		return nil
	}
	s.closing.Store(true)
	delete(t.mu.sessions, id)
	delete(t.mu.buckets[s.bucket], s)
	return s.conn
}

// place puts s into the bucket of its timeout. REQUIRES: t.mu.
func (t *tracker) place(s *session) {
	if t.mu.learns && !s.local.Load() {
		return
	}
	delete(t.mu.buckets[s.bucket], s)
	s.bucket = max(t.bucketOf(s.heard.Load()+int64(s.timeout())), t.mu.swept+1)
	b := t.mu.buckets[s.bucket]
	if b == nil {
		b = map[*session]struct{}{}
		t.mu.buckets[s.bucket] = b
	}
	b[s] = struct{}{}
}

// bucketOf is the first bucket after the time at, in ticks.
func (t *tracker) bucketOf(at int64) int64 { return at/int64(t.tick) + 1 }

// sweep returns the sessions that have expired at now, marked as closing.
func (t *tracker) sweep(now int64) (expired []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.mu.swept < now/int64(t.tick) {
		t.mu.swept++
		bucket := t.mu.buckets[t.mu.swept]
		for s := range bucket {
			if t.bucketOf(s.heard.Load()+int64(s.timeout())) > t.mu.swept {
				t.place(s)
				continue
			}
			s.closing.Store(true)
			delete(bucket, s)
			s.bucket = -1
			expired = append(expired, s)
		}
		delete(t.mu.buckets, t.mu.swept)
	}
	return expired
}

// postpone lets time d, up to now, not count against any session. It is for the time in which this server itself could not
// listen: its silence was ours. No session gets more than that, so that a busy machine puts off what must end, and not for ever.
func (t *tracker) postpone(d, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.mu.sessions {
		if heard := s.heard.Load(); !s.closing.Load() {
			s.heard.CompareAndSwap(heard, max(heard, min(heard+d, now))) // one that is heard of meanwhile needs nothing
		}
	}
}

// count returns how many sessions there are.
func (t *tracker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.sessions)
}
