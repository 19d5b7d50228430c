package shell

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
)

// heldKind is a kind of watch.
type heldKind int

const (
	heldChildren heldKind = iota
	heldData
	heldPersistent
	heldRecursive
	heldKinds // how many there are
)

// removal is what the event of a removed watch is called.
func (k heldKind) removal() string {
	switch k {
	case heldChildren:
		return "ChildWatchRemoved"
	case heldData:
		return "DataWatchRemoved"
	}
	return "PersistentWatchRemoved"
}

func (k heldKind) isOf(t proto.WatcherType) bool {
	switch t {
	case proto.WatcherData:
		return k == heldData
	case proto.WatcherChildren:
		return k == heldChildren
	case proto.WatcherPersistent:
		return k == heldPersistent
	case proto.WatcherPersistentRecursive:
		return k == heldRecursive
	}
	return true
}

// heldWatches are the watches that commands have set, at most one of a kind on a path. Their events are printed by
// link.eventCame; here they are kept only so that they can be removed.
type heldWatches struct {
	mu     sync.Mutex
	byPath map[string]*[heldKinds]*client.Watch
}

// hold keeps a watch. A second one of its kind is closed: the server has one anyway.
func (h *heldWatches) hold(path string, kind heldKind, w *client.Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds := h.byPath[path]
	if kinds == nil {
		kinds = new([heldKinds]*client.Watch)
		h.byPath[path] = kinds
	}
	if old := kinds[kind]; old != nil && isAlive(old) {
		w.Close()
		return
	}
	kinds[kind] = w
}

// isAlive throws away the events of a watch and reports whether there may be others.
func isAlive(w *client.Watch) bool {
	for {
		select {
		case _, ok := <-w.C():
			if !ok {
				return false
			}
		default:
			return true
		}
	}
}

// alive returns the kinds of the watches of a type on a path that may still have events.
func (h *heldWatches) alive(path string, t proto.WatcherType) (kinds []heldKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.byPath[path]
	for kind := range heldKinds {
		if held != nil && held[kind] != nil && kind.isOf(t) && isAlive(held[kind]) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (h *heldWatches) drop(path string, kinds []heldKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.byPath[path]
	for _, kind := range kinds {
		held[kind].Close()
		held[kind] = nil
	}
	if *held == [heldKinds]*client.Watch{} {
		delete(h.byPath, path)
	}
}

func runAddWatch(ctx context.Context, s *Shell, a *arguments) error {
	path, mode, kind := a.word(0), client.WatchSubtree, heldRecursive
	if a.has("m") {
		switch strings.ToUpper(a.flags["m"]) {
		case "PERSISTENT":
			mode, kind = client.WatchNode, heldPersistent
		case "PERSISTENT_RECURSIVE":
		default:
			return s.misused("addWatch", "-m must be PERSISTENT or PERSISTENT_RECURSIVE")
		}
	}
	if err := checkPath(path, false); err != nil {
		return err
	}
	w, err := s.link.watch(ctx, path, mode)
	if err != nil {
		return err
	}
	s.link.watches.hold(path, kind, w)
	return s.out.emit(doneResult{"addWatch", path})
}

// removalTypes are the flags of removewatches.
var removalTypes = []struct {
	flag string
	t    proto.WatcherType
}{{"c", proto.WatcherChildren}, {"d", proto.WatcherData}, {"p", proto.WatcherPersistent},
	{"r", proto.WatcherPersistentRecursive}, {"a", proto.WatcherAny}}

func runRemoveWatches(ctx context.Context, s *Shell, a *arguments) error {
	path, t := a.word(0), proto.WatcherAny
	for _, r := range removalTypes {
		if a.has(r.flag) {
			t = r.t
			break
		}
	}
	if err := checkPath(path, false); err != nil {
		return err
	}
	kinds := s.link.watches.alive(path, t)
	if len(kinds) == 0 {
		return &client.Error{Op: "removeWatches", Path: path, Err: client.ErrNoWatcher}
	}
	err := s.link.client.RemoveWatches(ctx, path, t)
	isLocal := a.has("l") && (errors.Is(err, client.ErrConnectionLoss) || errors.Is(err, context.Canceled))
	if err != nil && !isLocal {
		return err
	}
	s.link.watches.drop(path, kinds)
	for _, kind := range kinds {
		if s.printed.Load() {
			s.out.post(newEvent(s.link.stateName(), kind.removal(), path, -1))
		}
	}
	return s.out.emit(doneResult{"removewatches", path})
}

// switchResult is the answer of printwatches.
type switchResult struct {
	On bool `json:"printwatches"`
}

func (r switchResult) appendText(b []byte, _ colours) []byte {
	if r.On {
		return append(b, "printwatches is on\n"...)
	}
	return append(b, "printwatches is off\n"...)
}

func runPrintWatches(_ context.Context, s *Shell, a *arguments) error {
	switch a.word(0) {
	case "":
		return s.out.emit(switchResult{s.printed.Load()})
	case "on":
		s.printed.Store(true)
	case "off":
		s.printed.Store(false)
	default:
		return s.misused("printwatches", "it must be on or off")
	}
	return s.out.emit(doneResult{Done: "printwatches"})
}
