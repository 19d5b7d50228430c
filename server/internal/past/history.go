package past

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
)

// Kind is what a txn did to a znode.
type Kind uint8

// Kinds of versions.
const (
	created Kind = iota
	changed
	deleted
	Permissions // setACL
	found       // not a txn: the state in the snapshot with which the files begin
)

// String returns the word for the kind.
func (k Kind) String() string {
	return [...]string{"created", "changed", "deleted", "permissions", "found"}[k]
}

// Version is one txn that has changed a znode, with the state after it.
type Version struct {
	Kind    Kind
	Zxid    proto.Zxid
	Time    int64           // wall clock of the leader, ms since 1970
	Session proto.SessionID // that asked for it; 0 for the servers' own, and for Found
	Version int32           // of the data; -1 if it is not known
	Size    int             // bytes of the data
	Data    []byte          // nil for null, and if it was not kept
	HasData bool            // Data is the data: false for a znode that is gone, and beyond Limits.Data
	ACL     []proto.ACL     // nil if the files do not prove it

	owner proto.SessionID // of an ephemeral znode that is created
}

// Limits bound one reading.
type Limits struct {
	Bytes    int64         // of files
	Time     time.Duration // of the whole reading
	Versions int
	Data     int // bytes of data that are kept, of the newest versions
	rebuild.Pace
}

// History is what the files tell of one path.
type History struct {
	Versions []Version // the newest first
	// From is the first txn that was looked at: there is no other version from it on. 0 if no file was read.
	From proto.Zxid
	// Cut is true if there are older files which were not read, or older versions, because of the limits.
	Cut bool
}

// Errors of a reading.
var (
	// ErrLarge means that the newest file of the log alone is beyond the limits.
	ErrLarge = errors.New("the log is too large to be read for a history")
	// errFound ends the reading of a snapshot.
	errFound = errors.New("the znode is found")
)

// Of reads the history of the znode at path from the files of a server.
func Of(ctx context.Context, d rebuild.Dirs, path string, most Limits) (*History, error) {
	ctx, cancel := context.WithTimeout(ctx, most.Time)
	defer cancel()
	r := newReading(newSource(ctx, d, most), path)
	if err := r.backwards(r.file); err != nil {
		return nil, err
	}
	if !r.cut {
		if err := r.found(); err != nil {
			return nil, err
		}
	}
	r.keep()
	r.permissions()
	slices.Reverse(r.versions)
	return &History{Versions: r.versions, From: r.from, Cut: r.cut}, nil
}

// reading is one call of Of. versions has the oldest version first until the end.
type reading struct {
	*source
	path     []byte
	versions []Version
	owner    proto.SessionID // of the znode, if it is ephemeral and the present file has created it

	noted []Version // of the present file
	held  int       // bytes of data of noted
}

func newReading(s *source, path string) *reading {
	r := &reading{source: s, path: []byte(path)}
	s.about, s.does, s.ends = r.path, r.changed, r.closed
	return r
}

// file reads one file of the log. It reports whether an older one may be read.
func (r *reading) file(name string) (more bool, err error) {
	if len(r.versions) >= r.most.Versions {
		r.cut = true
		return false, nil
	}
	r.noted, r.held, r.owner = nil, 0, 0
	first, err := r.scan(name)
	if err != nil || first == 0 {
		return err == nil, err
	}
	r.versions = joined(r.source, first, r.noted, r.versions, func(v *Version) proto.Zxid { return v.Zxid })
	return !r.cut, nil
}

func (r *reading) changed(path proto.Text, v *Version) {
	if bytes.Equal(path, r.path) {
		r.note(*v)
	}
}

// closed notes the end of a session, which deletes its znodes. Servers before 3.6 wrote no list of them.
func (r *reading) closed(h *proto.TxnHeader, znodes []proto.Text) {
	listed := slices.ContainsFunc(znodes, func(p proto.Text) bool { return bytes.Equal(p, r.path) })
	if listed || znodes == nil && r.owner == h.ClientID && r.owner != 0 {
		r.note(Version{Kind: deleted, Zxid: h.Zxid, Time: h.Time, Session: h.ClientID, Version: -1})
	}
}

// note adds a version of the present file. What it keeps is bounded as the whole history is.
func (r *reading) note(v Version) {
	v.Size = len(v.Data)
	v.Data = bytes.Clone(v.Data)
	if v.ACL != nil {
		text := (&proto.SetACLTxn{Acl: v.ACL}).AppendTo(nil)
		in := proto.NewReader(text)
		var own proto.SetACLTxn
		own.Decode(&in) // the payload is valid for this record only
		v.ACL = own.Acl
	}
	if v.Kind == created || v.Kind == deleted {
		r.owner = v.owner
	}
	r.held += v.Size
	r.noted = append(r.noted, v)
	for i := 0; r.held > r.most.Data && i < len(r.noted)-1; i++ {
		r.held -= len(r.noted[i].Data)
		if r.noted[i].Data != nil {
			r.noted[i].Data, r.noted[i].HasData = nil, false
		}
	}
	if len(r.noted) > r.most.Versions {
		r.held -= len(r.noted[0].Data)
		r.dropped = r.noted[0].Zxid
		r.noted, r.cut = r.noted[1:], true
	}
}

// keep drops the data of old versions beyond the limit.
func (r *reading) keep() {
	held := 0
	for i := len(r.versions) - 1; i >= 0; i-- {
		v := &r.versions[i]
		if held += len(v.Data); held > r.most.Data {
			v.Data, v.HasData = nil, false
		}
	}
}

// permissions tells each version the ACL that a version before it has set. A delete ends that.
func (r *reading) permissions() {
	var acl []proto.ACL
	for i := range r.versions {
		v := &r.versions[i]
		switch {
		case v.ACL != nil:
			acl = v.ACL
		case v.Kind == deleted:
			v.ACL, acl = acl, nil
		default:
			v.ACL = acl
		}
	}
}

// found adds the state of the znode in a snapshot, if the log does not have the txn that made it.
func (r *reading) found() error {
	list, err := snapshot.List(r.FS, r.Snapshots)
	if err != nil {
		return fmt.Errorf("past: %w", err)
	}
	for _, m := range slices.Backward(list) { // the oldest reaches back furthest
		if r.from != 0 && m.Zxid >= r.from {
			break
		}
		if m.Size > r.left {
			r.cut = true
			return nil
		}
		s := &finder{path: r.path}
		switch _, err := r.Load(m.Name, s); {
		case errors.Is(err, iofs.ErrNotExist): // purged
		case err != nil && !errors.Is(err, errFound):
			r.cut = true // there is no time left, or the snapshot is damaged, which is the operator's affair
			return nil
		case s.v != nil && s.v.Zxid <= r.Last && (r.from == 0 || s.v.Zxid < r.from):
			r.versions = append([]Version{*s.v}, r.versions...)
			return nil
		default:
			return nil
		}
	}
	return nil
}

// finder is a snapshot.Sink that looks for one znode.
type finder struct {
	path []byte
	v    *Version
}

func (f *finder) Session(proto.SessionID, int32) error { return nil }
func (f *finder) ACL(int64, []proto.ACL) error         { return nil }

// Node implements snapshot.Sink. The ACL stays unknown: a snapshot is fuzzy, and may have one that was set later.
func (f *finder) Node(path, data []byte, _ int64, st *proto.StatPersisted) error {
	if !bytes.Equal(path, f.path) && !(len(path) == 0 && string(f.path) == "/") {
		return nil
	}
	f.v = &Version{Kind: found, Zxid: st.Mzxid, Time: st.Mtime, Version: st.Version, Size: len(data),
		Data: bytes.Clone(data), HasData: true}
	return errFound
}
