package client

import (
	"cmp"
	"strings"
	"sync"

	"github.com/seed94657493/warren/proto"
)

// watchSet holds the watches of a client by path. The reader of the connection delivers events; callers add and
// drop. Lock order: watchSet.mu -> conn.mu.
//
// A watch is added before its request is pushed and becomes active with the reply. So a path without any watch,
// active or not, can be removed from the server under mu: a request that sets a new one is pushed later than the
// removal.
type watchSet struct {
	chroot string
	remove func(path string) bool // queues removeWatches(any), or returns false without a connection; called under mu
	onFire func(Event)            // hook, may be nil; called without mu

	mu        sync.Mutex
	paths     map[string]*Watch // a list by Watch.next
	recursive int               // active recursive watches
	// Paths of which the server has a watch that no caller wants, beside watches that callers want.
	residue map[string]bool
	err     error // why no watch can be added any more
}

func newWatchSet(chroot string) *watchSet {
	return &watchSet{chroot: chroot, paths: map[string]*Watch{}, residue: map[string]bool{}}
}

// add registers a watch that the server does not have yet. path is the caller's; to may be nil for a one-shot watch.
func (s *watchSet) add(path string, kind watchKind, to Receiver, isShared bool) *Watch {
	w := &Watch{set: s, path: joinChroot(s.chroot, path), kind: kind, to: to, isShared: isShared}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		s.end(w, s.err)
		return w
	}
	w.next = s.paths[w.path]
	s.paths[w.path] = w
	return w
}

// tie connects a watch with its context: stop is called when the watch ends.
func (s *watchSet) tie(w *Watch, q *eventQueue, stop func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.stop = stop
	if w.isOver {
		stop()
	}
}

// activate marks that the server has the watch. The watch may have ended already.
func (s *watchSet) activate(w *Watch) { s.activateAs(w, w.kind) }

// activateAs is activate for a watch whose kind is known only now. Source: client-protocol 9.5: on a reconnect
// the lists of exists watches and of data watches mean different things.
func (s *watchSet) activateAs(w *Watch, kind watchKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.kind = kind
	switch {
	case w.isActive:
	case w.isOver: // the caller gave up between the request and the reply
		s.forget(w)
		s.settle(w.path)
	default:
		w.isActive = true
		if kind == watchRecursive {
			s.recursive++
		}
	}
}

// drop ends a watch without an event; onServer asks to remove it there too, once its path has no other watch. For
// a watch that has ended already there is nothing to remove: it has fired, its session has ended, or it was
// dropped before.
func (s *watchSet) drop(w *Watch, onServer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.isOver {
		return
	}
	s.unlink(w)
	s.end(w, nil)
	if onServer {
		s.forget(w)
	}
	s.settle(w.path)
}

// forget notes that the server has a watch that no caller wants, unless another watch here needs it. REQUIRES:
// mu.
func (s *watchSet) forget(w *Watch) {
	for other := s.paths[w.path]; other != nil; other = other.next {
		if watcherTypes[other.kind] == watcherTypes[w.kind] {
			return
		}
	}
	s.residue[w.path] = true
}

// settle removes from the server the watches of a path that no caller watches any more. REQUIRES: mu.
func (s *watchSet) settle(path string) {
	if s.residue[path] && s.paths[path] == nil && s.err == nil && s.remove(path) {
		delete(s.residue, path)
	}
}

// connected settles the paths that were dropped after the watches were set again and before calls could be pushed
// on the new connection.
func (s *watchSet) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.residue {
		s.settle(path)
	}
}

// unlink removes a watch from the maps. REQUIRES: mu.
func (s *watchSet) unlink(w *Watch) {
	switch first := s.paths[w.path]; {
	case first != w:
		for first.next != w {
			first = first.next
		}
		first.next = w.next
	case w.next == nil:
		delete(s.paths, w.path)
	default:
		s.paths[w.path] = w.next
	}
	w.next = nil
	if w.isActive && w.kind == watchRecursive {
		s.recursive--
	}
}

// end closes the queue of a watch, after a last event if there is a reason. REQUIRES: mu.
func (s *watchSet) end(w *Watch, err error) {
	if err != nil {
		s.sayLost(w, err)
	}
	w.isOver, w.isActive = true, false
	if w.isShared {
		return
	}
	switch q := w.to.(type) {
	case single:
		close(q)
	case *eventQueue:
		if q.stop != nil {
			q.stop()
		}
		close(q.ch)
	}
}

// sayLost delivers the last event of a watch, and keeps its reason for Err. REQUIRES: mu.
func (s *watchSet) sayLost(w *Watch, err error) {
	e := s.lost(w.path, err)
	if w.isShared {
		w.to.Receive(e)
		return
	}
	ch := w.channel()
	ch <- e
	if q, ok := w.to.(*eventQueue); ok {
		q.err = err
	} else {
		w.to = &eventQueue{ch: ch, err: err}
	}
}

// lost returns the event of a watch that could not be kept.
func (s *watchSet) lost(path string, err error) Event {
	return Event{Type: WatchLost, Path: stripChroot(s.chroot, path), Zxid: -1, Err: err}
}

// fire delivers an event of the server to its watches: those at the path, and the recursive ones above it.
func (s *watchSet) fire(t EventType, path []byte, zxid Zxid) {
	s.mu.Lock()
	first := s.paths[string(path)]
	if first == nil && s.recursive == 0 && s.onFire == nil {
		s.mu.Unlock()
		return
	}
	full := string(path)
	if first != nil {
		full = first.path
	}
	e := Event{Type: t, Path: stripChroot(s.chroot, full), Zxid: zxid}
	for w := first; w != nil; {
		next := w.next
		if w.isActive && w.kind.takes(t) {
			w.receive(e)
			if w.kind.isOneShot() {
				s.unlink(w)
				s.end(w, nil)
			}
		}
		w = next
	}
	s.settle(full)
	if s.recursive > 0 && t != NodeChildrenChanged {
		s.fireAbove(full, e)
	}
	s.mu.Unlock()
	if s.onFire != nil {
		s.onFire(e)
	}
}

// fireAbove delivers an event to the recursive watches on the ancestors of path. REQUIRES: mu.
func (s *watchSet) fireAbove(path string, e Event) {
	for path != "/" {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		path = cmp.Or(path, "/")
		for w := s.paths[path]; w != nil; w = w.next {
			if w.isActive && w.kind == watchRecursive {
				w.to.Receive(e)
			}
		}
	}
}

// rearmed tells the persistent watches that a new connection has them again.
func (s *watchSet) rearmed() {
	s.eachPersistent(func(w *Watch) {
		w.to.Receive(Event{Type: WatchRearmed, Path: stripChroot(s.chroot, w.path), Zxid: -1})
	})
}

// losePersistent ends the persistent watches, because the server does not know them.
func (s *watchSet) losePersistent(err error) {
	s.eachPersistent(func(w *Watch) {
		s.unlink(w)
		s.end(w, err)
	})
}

func (s *watchSet) eachPersistent(f func(*Watch)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.active() {
		if !w.kind.isOneShot() {
			f(w)
		}
	}
}

// active returns the watches that the server has, in no order. REQUIRES: mu.
func (s *watchSet) active() (all []*Watch) {
	for _, first := range s.paths {
		for w := first; w != nil; w = w.next {
			if w.isActive {
				all = append(all, w)
			}
		}
	}
	return all
}

// sessionLost ends the one-shot watches and tells the persistent ones about the gap; they stay active and are set
// in the new session.
func (s *watchSet) sessionLost(err error) {
	s.mu.Lock()
	lost := s.active()
	for _, w := range lost {
		if w.kind.isOneShot() {
			s.unlink(w)
			s.end(w, err)
			continue
		}
		w.to.Receive(s.lost(w.path, err))
	}
	s.mu.Unlock()
	s.reportLost(lost, err)
}

// close ends all watches and refuses new ones.
func (s *watchSet) close(err error) {
	s.mu.Lock()
	s.err = err
	lost := s.active()
	for path, w := range s.paths {
		delete(s.paths, path)
		for ; w != nil; w = w.next {
			s.end(w, err)
		}
	}
	s.recursive = 0
	s.mu.Unlock()
	s.reportLost(lost, err)
}

// reportLost tells the hook about watches that the server had, one event for each path and kind.
func (s *watchSet) reportLost(lost []*Watch, err error) {
	if s.onFire == nil {
		return
	}
	type place struct {
		path string
		kind watchKind
	}
	said := make(map[place]bool, len(lost))
	for _, w := range lost {
		if at := (place{w.path, w.kind}); !said[at] {
			said[at] = true
			s.onFire(s.lost(w.path, err))
		}
	}
}

// lose ends the watches of a path, which is with the chroot, that the server has removed.
func (s *watchSet) lose(path string, t proto.WatcherType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := s.paths[path]; w != nil; {
		next := w.next
		if w.isActive && (t == proto.WatcherAny || t == watcherTypes[w.kind]) {
			s.unlink(w)
			s.end(w, nil)
		}
		w = next
	}
}
