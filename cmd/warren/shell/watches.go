package shell

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/seed94657493/warren/client"
)

// heldTypes are the types of watches, in the order in which the events of their removal are printed.
var heldTypes = []client.WatcherType{client.WatcherChildren, client.WatcherData, client.WatcherPersistent,
	client.WatcherSubtree}

// removal is what the event of a removed watch is called.
func removal(t client.WatcherType) string {
	switch t {
	case client.WatcherChildren:
		return "ChildWatchRemoved"
	case client.WatcherData:
		return "DataWatchRemoved"
	}
	return "PersistentWatchRemoved"
}

// heldWatches are the watches that commands have set, at most one of a type on a path. Their events are printed by
// link.eventCame; here they are kept only so that they can be removed.
type heldWatches struct {
	mu     sync.Mutex
	byPath map[string]map[client.WatcherType]*client.Watch
}

// hold keeps a watch. A second one of its type is closed: the server has one anyway.
func (h *heldWatches) hold(path string, t client.WatcherType, w *client.Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.byPath[path]
	if held == nil {
		held = map[client.WatcherType]*client.Watch{}
		h.byPath[path] = held
	}
	if old := held[t]; old != nil && isAlive(old) {
		w.Close()
		return
	}
	held[t] = w
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

// alive returns the types of the watches on a path, of a type or of any, that may still have events.
func (h *heldWatches) alive(path string, of client.WatcherType) (types []client.WatcherType) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range heldTypes {
		if w := h.byPath[path][t]; w != nil && (of == t || of == client.WatcherAny) && isAlive(w) {
			types = append(types, t)
		}
	}
	return types
}

func (h *heldWatches) drop(path string, types []client.WatcherType) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.byPath[path]
	for _, t := range types {
		held[t].Close()
		delete(held, t)
	}
	if len(held) == 0 {
		delete(h.byPath, path)
	}
}

func runAddWatch(ctx context.Context, s *Shell, a *arguments) error {
	path, mode, t := a.word(0), client.WatchSubtree, client.WatcherSubtree
	if a.has("m") {
		switch strings.ToUpper(a.flags["m"]) {
		case "PERSISTENT":
			mode, t = client.WatchNode, client.WatcherPersistent
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
	s.link.watches.hold(path, t, w)
	return s.out.emit(doneResult{"addWatch", path})
}

// removalTypes are the flags of removewatches.
var removalTypes = []struct {
	flag string
	t    client.WatcherType
}{{"c", client.WatcherChildren}, {"d", client.WatcherData}, {"p", client.WatcherPersistent},
	{"r", client.WatcherSubtree}, {"a", client.WatcherAny}}

func runRemoveWatches(ctx context.Context, s *Shell, a *arguments) error {
	path, t := a.word(0), client.WatcherAny
	for _, r := range removalTypes {
		if a.has(r.flag) {
			t = r.t
			break
		}
	}
	if err := checkPath(path, false); err != nil {
		return err
	}
	types := s.link.watches.alive(path, t)
	if len(types) == 0 {
		return &client.Error{Op: "removeWatches", Path: path, Err: client.ErrNoWatcher}
	}
	err := s.link.client.RemoveWatches(ctx, path, t)
	isLocal := a.has("l") && (errors.Is(err, client.ErrConnectionLoss) || errors.Is(err, context.Canceled))
	if err != nil && !isLocal {
		return err
	}
	s.link.watches.drop(path, types)
	for _, t := range types {
		if s.printed.Load() {
			s.out.post(newEvent(s.link.stateName(), removal(t), path, -1))
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
