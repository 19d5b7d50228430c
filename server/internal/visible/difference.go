package visible

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/coordination"
	"github.com/seed94657493/warren/server/rebuild"
)

// Difference is what changed between two moments.
type Difference struct {
	From    string       `json:"from" doc:"last txn of the earlier state"`
	To      string       `json:"to" doc:"last txn of the later state"`
	Changed int          `json:"changed" doc:"znodes below the path that differ"`
	Cut     bool         `json:"cut" doc:"more znodes were touched than are compared"`
	Changes []PastChange `json:"changes" doc:"the first of them by path"`
}

// PastChange is a znode that differs between two moments.
type PastChange struct {
	Path   string   `json:"path" doc:"of the znode"`
	Kind   string   `json:"kind" doc:"created, deleted or changed"`
	What   []string `json:"what" doc:"of a changed one: data, set to the same data, acl, owner, recreated"`
	Before string   `json:"before" doc:"its data, at most 200 characters of it"`
	After  string   `json:"after" doc:"its data, at most 200 characters of it"`
}

// touched notes the znodes that a replay changes after a txn. One goroutine uses it.
type touched struct {
	after proto.Zxid
	under string
	paths map[string]bool
	cut   bool
}

// Changed implements datatree.Sink.
func (t *touched) Changed(c datatree.Change) {
	if c.Zxid <= t.after || !IsBelow(string(c.Path), t.under) || t.paths[string(c.Path)] {
		return
	}
	if len(t.paths) >= comparedMax {
		t.cut = true
		return
	}
	t.paths[string(c.Path)] = true
}

// IsBelow reports whether a path is that of a znode or of one below it. Paths are compared as they are: no znode has a
// path with a dot or an empty name in it.
func IsBelow(path, under string) bool {
	return under == "/" || path == under || strings.HasPrefix(path, under) && path[len(under)] == '/'
}

// Difference returns what changed between two moments; the zero Moment is the present. Both states are brought back,
// the later one from a snapshot that the earlier one could begin with, so that every change between them is replayed.
// A change of an ACL alone is not told by a replay, so the ACLs of all znodes are compared.
func (n *Shown) Difference(
	ctx context.Context, a Actor, from, to Moment, under string, limit int,
) (*Difference, error) {
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
		return nil, refusal(http.StatusBadRequest, "the second moment is before the first")
	}
	t.addACLs(before.State, after.State)
	paths := slices.Sorted(maps.Keys(t.paths))
	diff := &Difference{From: start.String(), To: after.State.LastZxid().String(), Cut: t.cut,
		Changes: []PastChange{}}
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
	order := preorder{state: after, under: start}
	for id := start; id != 0; id = order.next(id) {
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
	}
}

// compare says how a znode differs between two states, nil if it does not.
func compare(before, after *datatree.State, path string) *PastChange {
	old, now := before.Lookup([]byte(path)), after.Lookup([]byte(path))
	c := &PastChange{Path: path, What: []string{}}
	if old != 0 {
		c.Before = coordination.Text(before.Data(old), true)
	}
	if now != 0 {
		c.After = coordination.Text(after.Data(now), true)
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
