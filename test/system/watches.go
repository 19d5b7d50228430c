package system

import (
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// watchKind is a kind of watch as a client counts them.
type watchKind int

const (
	noWatch watchKind = iota
	dataWatch
	existWatch
	childWatch
	persistentWatch
	recursiveWatch
	watchKinds
)

// watches is what a client watches, by kind and path. It survives connections.
type watches [watchKinds]map[string]bool

func (ws *watches) add(k watchKind, path string) {
	if ws[k] == nil {
		ws[k] = map[string]bool{}
	}
	ws[k][path] = true
}

// answered takes the reply to a request that leaves or removes a watch.
func (ws *watches) answered(r *request, err proto.ErrCode) {
	switch {
	case r.op == proto.OpRemoveWatches && err == proto.OK:
		for k := dataWatch; k < watchKinds; k++ {
			if r.watch == noWatch || r.watch == k || r.watch == dataWatch && k == existWatch {
				delete(ws[k], r.path)
			}
		}
	case r.op == proto.OpRemoveWatches, r.watch == noWatch:
	case r.op == proto.OpExists && err == proto.ErrNoNode:
		ws.add(existWatch, r.path)
	case err == proto.OK:
		ws.add(r.watch, r.path)
	}
}

// heard takes an event, which uses up watches.
func (ws *watches) heard(t proto.EventType, path string) {
	switch t {
	case proto.EventNodeChildrenChanged:
		delete(ws[childWatch], path)
		return
	case proto.EventNodeDeleted:
		delete(ws[childWatch], path)
	}
	delete(ws[dataWatch], path)
	delete(ws[existWatch], path)
}

// again returns the request that registers them on another connection, and false if there are none.
func (ws *watches) again(seen proto.Zxid) (wire.Request, bool) {
	var all [watchKinds][]string
	n := 0
	for k := range ws {
		all[k] = slices.Sorted(maps.Keys(ws[k]))
		n += len(all[k])
	}
	if len(all[persistentWatch]) == 0 && len(all[recursiveWatch]) == 0 {
		return wire.SetWatches(seen, all[dataWatch], all[existWatch], all[childWatch]), n > 0
	}
	return wire.SetWatches2(seen, all[dataWatch], all[existWatch], all[childWatch], all[persistentWatch],
		all[recursiveWatch]), true
}
