package model_test

import (
	"slices"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
)

// serve is what a server does with a read: it asks the State and registers watches. Source:
// client-protocol 9.2, 9.5 and 9.6.
func (w *world) serve(c *conn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
	id := watch.WatcherID(c.number)
	r := proto.NewReader(body)
	switch op {
	case proto.OpMultiRead:
		return w.state.ReadMulti(nil, body, c.ids)
	case proto.OpGetEphemerals:
		var q proto.GetEphemeralsRequest
		if q.Decode(&r); r.Err() != nil {
			return nil, proto.ErrMarshallingError
		}
		return w.state.ReadEphemerals(nil, c.session, q.PrefixPath)
	case proto.OpGetACL, proto.OpGetAllChildrenNumber:
		var q proto.PathRequest
		if q.Decode(&r); r.Err() != nil {
			return nil, proto.ErrMarshallingError
		}
		if op == proto.OpGetACL {
			return w.state.ReadACL(nil, q.Path, c.ids)
		}
		return w.state.ReadAllChildrenNumber(nil, q.Path, c.ids)
	case proto.OpAddWatch:
		var q proto.AddWatchRequest
		q.Decode(&r)
		kind := watch.Persistent
		if q.Mode == proto.AddWatchPersistentRecursive {
			kind = watch.Recursive
		}
		w.watches.Add(id, kind, q.Path)
		return proto.AppendInt32(nil, 0), proto.OK
	case proto.OpCheckWatches, proto.OpRemoveWatches:
		var q proto.CheckWatchesRequest
		q.Decode(&r)
		found := w.watches.Has(id, q.Type, q.Path)
		if op == proto.OpRemoveWatches {
			found = w.watches.Remove(id, q.Type, q.Path)
		}
		if !found {
			return nil, proto.ErrNoWatcher
		}
		return nil, proto.OK
	case proto.OpSetWatches2:
		var q proto.SetWatches2
		q.Decode(&r)
		w.setWatches(c, &q)
		return nil, proto.OK
	}
	return w.serveWatched(c, op, body)
}

// serveWatched is the reads that register a one-shot watch.
func (w *world) serveWatched(c *conn, op proto.OpCode, body []byte) (reply []byte, err proto.ErrCode) {
	var q proto.PathWatchRequest
	if q.ReadFrom(body) != nil {
		return nil, proto.ErrMarshallingError
	}
	kind := watch.Data
	switch op {
	case proto.OpExists:
		kind = watch.Exist
		reply, err = w.state.ReadExists(nil, q.Path, c.ids)
	case proto.OpGetData:
		reply, err = w.state.ReadData(nil, q.Path, c.ids)
	case proto.OpGetChildren:
		kind = watch.Child
		reply, err = w.state.ReadChildren(nil, q.Path, c.ids)
	case proto.OpGetChildren2:
		kind = watch.Child
		reply, err = w.state.ReadChildren2(nil, q.Path, c.ids)
	}
	if q.Watch && (err == proto.OK || err == proto.ErrNoNode && op == proto.OpExists) {
		w.watches.Add(watch.WatcherID(c.number), kind, q.Path)
	}
	return reply, err
}

func (w *world) setWatches(c *conn, q *proto.SetWatches2) {
	for _, list := range []struct {
		kind  watch.Kind
		paths []proto.Text
	}{
		{watch.Data, q.DataWatches}, {watch.Exist, q.ExistWatches}, {watch.Child, q.ChildWatches},
		{watch.Persistent, q.PersistentWatches}, {watch.Recursive, q.PersistentRecursiveWatches},
	} {
		for _, path := range list.paths {
			event, fire, _ := w.watches.Rewatch(w.state, watch.WatcherID(c.number), list.kind, path, q.RelativeZxid)
			if fire {
				w.events = append(w.events, model.Event{Conn: c.number, Type: event, Path: string(path), Zxid: -1})
			}
		}
	}
}

// canonical sorts what may be in any order.
func canonical(op proto.OpCode, body []byte) []byte {
	if op != proto.OpGetEphemerals || body == nil {
		return body
	}
	var q proto.GetEphemeralsResponse
	if err := q.ReadFrom(body); err != nil {
		differ("reply to getEphemerals: %v", err)
	}
	slices.SortFunc(q.Ephemerals, func(a, b proto.Text) int { return slices.Compare(a, b) })
	return q.AppendTo(nil)
}
