package past

import (
	"bytes"
	"context"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
)

// Move is a child that came below a znode, or went from there.
type Move struct {
	Name    string
	Gone    bool
	Zxid    proto.Zxid
	Time    int64           // wall clock of the leader, ms since 1970
	Session proto.SessionID // that created it; of one that went: whose end deleted it, 0 if a request did
	Data    []byte          // of one that came: the first bytes, as many as Limits.Data
	Size    int             // bytes of its data
}

// Moves are the children that came below one znode and went.
type Moves struct {
	All []Move // the newest first
	// From is the first txn that was looked at: there is no other move from it on. 0 if no file was read.
	From proto.Zxid
	// Cut is true if there are older files which were not read, or older moves, because of the limits.
	Cut bool
}

// Below reads from the files of a server which children of a znode came and went. most.Versions bounds their number,
// and most.Data the bytes that are kept of the data of each.
func Below(ctx context.Context, d rebuild.Dirs, parent string, most Limits) (*Moves, error) {
	ctx, cancel := context.WithTimeout(ctx, most.Time)
	defer cancel()
	r := newBelow(newSource(ctx, d, most), parent)
	if err := r.backwards(r.file); err != nil {
		return nil, err
	}
	slices.Reverse(r.moves)
	return &Moves{All: r.moves, From: r.from, Cut: r.cut}, nil
}

// below is one call of Below. moves has the oldest move first until the end.
type below struct {
	*source
	parent []byte
	moves  []Move

	noted  []Move                     // of the present file
	owners map[string]proto.SessionID // of the ephemeral children that the present file has created and not deleted
}

func newBelow(s *source, parent string) *below {
	r := &below{source: s, parent: []byte(parent), owners: map[string]proto.SessionID{}}
	s.about, s.does, s.ends = r.parent, r.changed, r.closed
	return r
}

// file reads one file of the log. It reports whether an older one may be read.
func (r *below) file(name string) (more bool, err error) {
	r.noted, r.owners = nil, map[string]proto.SessionID{}
	first, err := r.scan(name)
	if err != nil || first == 0 {
		return err == nil, err
	}
	r.moves = joined(r.source, first, r.noted, r.moves, func(m *Move) proto.Zxid { return m.Zxid })
	return !r.cut, nil
}

// childOf returns the name of a child of the parent, nil for any other path.
func (r *below) childOf(path proto.Text) []byte {
	name, ok := bytes.CutPrefix(path, r.parent)
	if ok && len(r.parent) > 1 {
		name, ok = bytes.CutPrefix(name, []byte("/"))
	}
	if !ok || len(name) == 0 || bytes.IndexByte(name, '/') >= 0 {
		return nil
	}
	return name
}

// changed notes a child that is created or deleted.
func (r *below) changed(path proto.Text, v *Version) {
	name := r.childOf(path)
	if name == nil || v.Kind != created && v.Kind != deleted {
		return
	}
	m := Move{Name: string(name), Gone: v.Kind == deleted, Zxid: v.Zxid, Time: v.Time,
		Data: bytes.Clone(v.Data[:min(len(v.Data), r.most.Data)]), Size: len(v.Data)}
	if !m.Gone {
		m.Session = v.Session
	}
	if delete(r.owners, m.Name); v.owner != 0 {
		r.owners[m.Name] = v.owner
	}
	r.note(m)
}

// closed notes the children that go with a session. Servers before 3.6 wrote no list of them.
func (r *below) closed(h *proto.TxnHeader, znodes []proto.Text) {
	var names []string
	for _, path := range znodes {
		if name := r.childOf(path); name != nil {
			names = append(names, string(name))
		}
	}
	if znodes == nil {
		for name, owner := range r.owners {
			if owner == h.ClientID {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		delete(r.owners, name)
		r.note(Move{Name: name, Gone: true, Zxid: h.Zxid, Time: h.Time, Session: h.ClientID})
	}
}

// note adds a move of the present file. Twice as many as may be kept are, so that the others are rarely dropped.
func (r *below) note(m Move) {
	if r.noted = append(r.noted, m); len(r.noted) >= 2*r.most.Versions {
		over := len(r.noted) - r.most.Versions
		r.dropped = r.noted[over-1].Zxid
		r.noted, r.cut = append([]Move{}, r.noted[over:]...), true
	}
}
