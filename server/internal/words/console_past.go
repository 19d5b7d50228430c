package words

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/coordination"
	"github.com/seed94657493/warren/server/rebuild"
)

// Bounds of looking at the past.
const (
	// pastBytes is how much memory a state may take, about, and pastTimeout how long it may take to bring it back. A
	// comparison has two states.
	pastBytes, pastTimeout = 256 << 20, time.Minute
	// pastIdle is how long a state is kept for the next page.
	pastIdle = 2 * time.Minute
	// comparedMax is how many znodes are compared.
	comparedMax = 20_000
	// pastData is how many bytes of the data of a znode are shown.
	pastData = 64 << 10
)

// pastPace leaves three quarters of a processor to clients.
var pastPace = rebuild.Pace{Work: 4 * time.Millisecond, Rest: 12 * time.Millisecond}

// travel brings states back, one at a time, and keeps the last one for a while. No lock of the running server is held
// meanwhile: it reads files.
type travel struct {
	mu     sync.Mutex // held while a state is brought back or read
	at     api.Moment
	replay *rebuild.Replay // nil if none is kept
	drop   *time.Timer
}

// errPastBusy is told with 429.
var errPastBusy = &api.Refusal{Status: http.StatusTooManyRequests,
	Text: "the past is being looked at by another request: try again"}

// begin takes the lock, if the visitor may see all that was.
func (n shown) begin(a api.Actor) error {
	if err := n.mayAsk(a); err != nil {
		return err
	}
	if len(a.IDs) == 0 || !n.ownsRoot(a.IDs) {
		return &api.Refusal{Status: http.StatusForbidden, Text: "the past has all znodes: it is shown to the " +
			"super user, and to visitors to which the ACL of / gives every permission by name"}
	}
	if !n.past.mu.TryLock() {
		return errPastBusy
	}
	return nil
}

// dirs are the files of the server, up to the last txn that it has applied.
func (n shown) dirs() rebuild.Dirs {
	return rebuild.Dirs{FS: n.FS, Snapshots: n.SnapDir(), Log: n.LogDir(), Last: n.Store.LastZxid()}
}

// bring returns the state of a moment.
func bring(ctx context.Context, d rebuild.Dirs, at, from rebuild.Target, s datatree.Sink) (*rebuild.Replay, error) {
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	r, err := rebuild.At(ctx, d, at, from, rebuild.Limits{Bytes: pastBytes, Pace: pastPace}, s)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, rebuild.ErrTooLarge):
		return nil, &api.Refusal{Status: http.StatusInsufficientStorage, Text: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &api.Refusal{Status: http.StatusInsufficientStorage, Text: "it takes longer than it may"}
	case errors.Is(err, rebuild.ErrNoTarget), errors.Is(err, rebuild.ErrGap):
		return nil, &api.Refusal{Status: http.StatusGone, Text: "the files of this server do not lead there: " +
			err.Error()}
	}
	return nil, err
}

func targetOf(m api.Moment) rebuild.Target {
	return rebuild.Target{Zxid: proto.Zxid(m.Zxid), TimeMs: m.TimeMs}
}

// Past implements api.Server.
func (n shown) Past(
	ctx context.Context, a api.Actor, at api.Moment, path, after string, limit int,
) (*api.Past, error) {
	if err := n.begin(a); err != nil {
		return nil, err
	}
	p, d := n.past, n.dirs()
	defer p.mu.Unlock()
	if at.Zxid > uint64(d.Last) {
		return nil, &api.Refusal{Status: http.StatusNotFound, Text: "this server has no such txn yet"}
	}
	if p.replay == nil || p.at != at {
		p.replay = nil // it is garbage before the next one comes
		var err error
		if p.replay, err = bring(ctx, d, targetOf(at), rebuild.Target{}, nil); err != nil {
			return nil, err
		}
		p.at = at
	}
	if p.drop != nil {
		p.drop.Stop()
	}
	p.drop = time.AfterFunc(pastIdle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.replay = nil
	})
	return n.pastZnode(p.replay, path, after, limit), nil
}

// pastZnode describes a znode of a state.
func (n shown) pastZnode(r *rebuild.Replay, path, after string, limit int) *api.Past {
	state := r.State
	p := &api.Past{Zxid: state.LastZxid().String(), At: r.LastTime, Snapshot: r.Snapshot(),
		Znode:    api.Znode{Path: path, ACL: []api.ACL{}},
		Children: api.Children{Path: path, Order: "name", Children: []api.Child{}}}
	id := state.Lookup([]byte(path))
	if id == 0 {
		return p
	}
	st, data := state.Stat(id), state.Data(id)
	p.Exists, p.Znode.Stat = true, n.stat(&st)
	p.Znode.Raw, p.Znode.Whole = slices.Clone(data[:min(len(data), pastData)]), len(data) <= pastData
	for _, e := range state.ACLs().List(state.Node(id).ACL) {
		p.Znode.ACL = append(p.Znode.ACL,
			api.ACL{Scheme: e.Id.Scheme.String(), ID: e.Id.Id.String(), Perms: api.PermText(e.Perms)})
	}
	p.Children.Total = st.NumChildren
	var ids []datatree.NodeID
	state.EachChild(id, func(child datatree.NodeID) bool {
		if string(state.Name(child)) > after {
			ids = append(ids, child)
		}
		return true
	})
	slices.SortFunc(ids, func(a, b datatree.NodeID) int { return bytes.Compare(state.Name(a), state.Name(b)) })
	if len(ids) > limit {
		ids = ids[:limit]
		p.Children.After = string(state.Name(ids[limit-1]))
	}
	for _, child := range ids {
		st := state.Stat(child)
		p.Children.Children = append(p.Children.Children, api.Child{Name: string(state.Name(child)), Readable: true,
			Children: st.NumChildren, Bytes: st.DataLength, Modified: st.Mtime, Version: st.Version,
			Owner: n.owner(&st)})
	}
	return p
}

// touched notes the znodes that a replay changes after a txn.
type touched struct {
	after proto.Zxid
	under string
	paths map[string]bool
	cut   bool
}

// Changed implements datatree.Sink.
func (t *touched) Changed(c datatree.Change) {
	if c.Zxid <= t.after || !isBelow(string(c.Path), t.under) || t.paths[string(c.Path)] {
		return
	}
	if len(t.paths) >= comparedMax {
		t.cut = true
		return
	}
	t.paths[string(c.Path)] = true
}

// isBelow reports whether a path is that of a znode or of one below it.
func isBelow(path, under string) bool {
	return under == "/" || path == under || strings.HasPrefix(path, under) && path[len(under)] == '/'
}

// Difference implements api.Server. Both states are brought back, the later one from a snapshot that the earlier one
// could begin with, so that every change between them is replayed. A change of an ACL alone is not told by a replay,
// so the ACLs of all znodes are compared.
func (n shown) Difference(
	ctx context.Context, a api.Actor, from, to api.Moment, under string, limit int,
) (*api.Difference, error) {
	if err := n.begin(a); err != nil {
		return nil, err
	}
	defer n.past.mu.Unlock()
	n.past.replay = nil // two states at most are in memory
	d := n.dirs()
	before, err := bring(ctx, d, targetOf(from), rebuild.Target{}, nil)
	if err != nil {
		return nil, err
	}
	start := before.State.LastZxid()
	t := &touched{after: start, under: under, paths: map[string]bool{}}
	after, err := bring(ctx, d, targetOf(to), rebuild.Target{Zxid: start}, t)
	if err != nil {
		return nil, err
	}
	if after.State.LastZxid() < start {
		return nil, &api.Refusal{Status: http.StatusBadRequest, Text: "the second moment is before the first"}
	}
	t.addACLs(before.State, after.State)
	paths := make([]string, 0, len(t.paths))
	for path := range t.paths {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	diff := &api.Difference{From: start.String(), To: after.State.LastZxid().String(), Cut: t.cut,
		Changes: []api.PastChange{}}
	for _, path := range paths {
		change := compare(before.State, after.State, path)
		if change == nil {
			continue
		}
		if diff.Changed++; len(diff.Changes) < limit {
			diff.Changes = append(diff.Changes, *change)
		}
	}
	return diff, nil
}

// addACLs notes the znodes whose ACL has another version.
func (t *touched) addACLs(before, after *datatree.State) {
	start := after.Lookup([]byte(t.under))
	if start == 0 {
		return
	}
	for id := start; id != 0; {
		if node := after.Node(id); node.Aversion > 0 {
			path := after.AppendPath(nil, id)
			if old := before.Lookup(path); old != 0 && before.Node(old).Aversion != node.Aversion {
				if len(t.paths) >= comparedMax {
					t.cut = true
					return
				}
				t.paths[string(path)] = true
			}
		}
		if next := after.FirstChild(id); next != 0 {
			id = next
			continue
		}
		for id != start && after.NextSibling(id) == 0 {
			id = after.Parent(id)
		}
		if id == start {
			return
		}
		id = after.NextSibling(id)
	}
}

// compare says how a znode differs between two states, nil if it does not.
func compare(before, after *datatree.State, path string) *api.PastChange {
	old, now := before.Lookup([]byte(path)), after.Lookup([]byte(path))
	c := &api.PastChange{Path: path, What: []string{}}
	text := func(s *datatree.State, id datatree.NodeID) string {
		data := s.Data(id)
		return coordination.Text(data, true)
	}
	if old != 0 {
		c.Before = text(before, old)
	}
	if now != 0 {
		c.After = text(after, now)
	}
	switch {
	case old == 0 && now == 0:
		return nil
	case old == 0:
		c.Kind = "created"
		return c
	case now == 0:
		c.Kind = "deleted"
		return c
	}
	c.Kind = "changed"
	was, is := before.Node(old), after.Node(now)
	note := func(differs bool, what string) {
		if differs {
			c.What = append(c.What, what)
		}
	}
	note(was.Czxid != is.Czxid, "recreated")
	note(!bytes.Equal(before.Data(old), after.Data(now)), "data")
	note(was.Version != is.Version && bytes.Equal(before.Data(old), after.Data(now)), "set to the same data")
	note(was.Aversion != is.Aversion, "acl")
	note(was.Owner != is.Owner, "owner")
	if len(c.What) == 0 {
		return nil
	}
	return c
}
