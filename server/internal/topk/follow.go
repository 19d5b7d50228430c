package topk

import (
	"time"

	"github.com/seed94657493/warren/proto"
)

// Bounds of following paths.
const (
	followedMax = 16 // paths at once
	followSlots = 300
	// FollowEvery is the length of a slot of a Course, and FollowFor how long a path is followed after the last look.
	FollowEvery = 2 * time.Second
	FollowFor   = 10 * time.Minute
)

// followed is a path whose requests are counted in slots, because somebody looks at it.
type followed struct {
	asked  int64 // ns
	offset int64 // from the server's clock to 1970, ns
	first  int64 // number of the slot in which it began, which is not whole
	at     int64 // number of the newest slot
	slots  [followSlots]struct{ reads, writes float32 }
}

// Course is how many requests a path had in each second of each slot, the oldest first. Times are the beginnings of
// the slots in ms since 1970.
type Course struct {
	OneIn  int64 // one request of so many is recorded now, in the mean
	Times  []int64
	Reads  []float64
	Writes []float64
}

// Follow returns the course of a path since it was first asked for, and goes on following it. Of more than 16 paths,
// the one that nobody has looked at for longest is forgotten. now is ns on the server's clock, wall ns since 1970.
func (r *Recorder) Follow(path string, now, wall int64) Course {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.mu
	f := m.followed[path]
	if f == nil || now-f.asked > int64(FollowFor) {
		if len(m.followed) >= followedMax {
			r.forget()
		}
		slot := now / int64(FollowEvery)
		f = &followed{offset: wall - now, first: slot, at: slot}
		if m.followed == nil {
			m.followed = map[string]*followed{}
		}
		m.followed[path] = f
	}
	f.asked = now
	f.advance(now)
	c := Course{OneIn: r.oneIn.Load(), Times: []int64{}, Reads: []float64{}, Writes: []float64{}}
	seconds, every := FollowEvery.Seconds(), FollowEvery.Milliseconds()
	for n := max(f.first+1, f.at-followSlots+1); n < f.at; n++ {
		at := (n*int64(FollowEvery) + f.offset) / 1e6
		s := &f.slots[n%followSlots]
		c.Times = append(c.Times, at-at%every)
		c.Reads = append(c.Reads, float64(s.reads)/seconds)
		c.Writes = append(c.Writes, float64(s.writes)/seconds)
	}
	return c
}

// forget drops the followed path that nobody has looked at for longest. REQUIRES: mu.
func (r *Recorder) forget() {
	oldest := ""
	for path, f := range r.mu.followed {
		if o := r.mu.followed[oldest]; o == nil || f.asked < o.asked {
			oldest = path
		}
	}
	delete(r.mu.followed, oldest)
}

// follow counts a request that stands for so many. REQUIRES: mu, and that some path is followed.
func (r *Recorder) follow(q *Request, weight float64) {
	for _, p := range q.Paths {
		f := r.mu.followed[string(p)]
		switch {
		case f == nil:
			continue
		case q.Now-f.asked > int64(FollowFor):
			delete(r.mu.followed, string(p))
			continue
		}
		f.advance(q.Now)
		s := &f.slots[f.at%followSlots]
		if isWrite(q.Op) {
			s.writes += float32(weight)
		} else {
			s.reads += float32(weight)
		}
	}
}

// advance empties the slots that have begun meanwhile.
func (f *followed) advance(now int64) {
	slot := now / int64(FollowEvery)
	for n := max(f.at+1, slot-followSlots+1); n <= slot; n++ {
		f.slots[n%followSlots].reads, f.slots[n%followSlots].writes = 0, 0
	}
	f.at = max(f.at, slot)
}

// isWrite reports whether a request changes the znodes that it names.
func isWrite(op proto.OpCode) bool {
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete,
		proto.OpDeleteContainer, proto.OpSetData, proto.OpSetACL, proto.OpMulti:
		return true
	}
	return false
}
