package rebuild

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Source is the files of one server, from which it rebuilds its state.
type Source struct {
	FS        vfs.FS
	Dir       string // of the snapshots
	Snapshots interface {
		List() ([]snapshot.Meta, error)
		Load(m snapshot.Meta, sink snapshot.Sink) (snapshot.Trailer, error)
	}
	// Log hands over the records from one on, and judges whether they are contiguous. It is called again after fn has
	// returned an error.
	Log func(from proto.Zxid, fn func(*wal.Record) error) error
	// Joins, if not nil, returns an error if a txn is known not to come directly after another one, or a snapshot of
	// that zxid. It is asked of the first txn over a snapshot, and of that of each epoch: the zxids do not tell.
	Joins func(last, next proto.Zxid) error
	// Catalogued, if not nil, reports whether this server has had a whole snapshot of a name. It has recorded each
	// before it removed the log that leads to it.
	Catalogued func(name string) bool
	// Counts, if not nil, reports whether the snapshot of a zxid counts. The others are as if they were not there.
	Counts func(zxid proto.Zxid) bool
	// Foreign says that ZooKeeper may have written the snapshots. It takes one whose digest differs, and has written
	// such files.
	Foreign bool
	Config  datatree.Config

	Loaded func()            // called when a snapshot was loaded and the replay begins; may be nil
	Record func(*wal.Record) // called for each record of the log; may be nil
}

// Found is a state that was rebuilt.
type Found struct {
	*Replay
	snapshot.Meta
	snapshot.Trailer
	Passed []Passed // the newer snapshots, the newest first
	// Wrong says why the tree is taken although a digest differs: no older snapshot leads to a better one.
	Wrong error
}

// Passed is a snapshot that cannot be taken.
type Passed struct {
	snapshot.Meta
	Err error
	// Exact is the last txn whose effects the file may hold; 0 if it is damaged or names no ensemble.
	Exact proto.Zxid
	// Junk says that the file was never a snapshot of this server. ZooKeeper passes over it, too.
	Junk bool
}

// IsWhole reports whether the file holds what was written, under a wrong name or with a wrong tree. ZooKeeper would
// take it.
func (p *Passed) IsWhole() bool {
	return errors.Is(p.Err, snapshot.ErrName) || errors.Is(p.Err, ErrDigest)
}

// Newest rebuilds the newest state: it takes the newest snapshot that is whole, is what its name says, and leads to
// the trees of which its own digest and those of the log speak, and replays the log over it. It returns
// snapshot.ErrNone if there is no snapshot. A log that cannot be replayed is an error; an older snapshot would not
// make it better.
//
// If there is no such snapshot, the newest is taken of which the log alone says otherwise: a leader may have had
// another tree than this server, and the log does not tell which of the two was right.
func Newest(s *Source) (*Found, error) {
	names, err := vfs.Files(s.FS, s.Dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	metas, err := s.Snapshots.List()
	if err != nil {
		return nil, err
	}
	if s.Counts != nil {
		metas = slices.DeleteFunc(metas, func(m snapshot.Meta) bool { return !s.Counts(m.Zxid) })
		names = slices.DeleteFunc(names, func(name string) bool {
			zxid, _, ok := snapshot.ParseName(name)
			return ok && !s.Counts(zxid)
		})
	}
	if len(metas) == 0 {
		return nil, fmt.Errorf("%w %s", snapshot.ErrNone, s.Dir)
	}
	var passed []Passed
	for _, m := range metas {
		kept, before := s.withoutJunk(m, metas, names, passed)
		found, err := s.from(m, kept, before, nil)
		if err == nil {
			return found, nil
		}
		var p *passedError
		if !errors.As(err, &p) {
			return nil, s.after(err, passed)
		}
		passed = append(passed, p.Passed)
	}
	i := slices.IndexFunc(passed, func(p Passed) bool {
		return errors.Is(p.Err, errAfter) || s.Foreign && p.Exact == 0 && errors.Is(p.Err, ErrDigest)
	})
	if i >= 0 {
		return s.from(passed[i].Meta, names, passed[:i], passed[i].Err)
	}
	all := []error{fmt.Errorf("no snapshot can be loaded, of %d in %s", len(metas), s.Dir)}
	for i := range passed {
		all = append(all, passed[i].Err)
	}
	return nil, errors.Join(all...)
}

// withoutJunk leaves out of the names those of junk that are newer than m, and adds them to passed. The log need not
// lead to them.
//
// Junk cannot be read, and was never a snapshot of this server. What ZooKeeper may have written must not even begin as
// a snapshot. Only a snapshot that is catalogued itself tells that the catalogue is not a new one.
func (s *Source) withoutJunk(m snapshot.Meta, metas []snapshot.Meta, names []string, passed []Passed) ([]string,
	[]Passed) {
	if s.Catalogued == nil || !s.Catalogued(m.Name) {
		return names, passed
	}
	passed = slices.Clone(passed)
	var kept []string
	for _, name := range names {
		zxid, _, ok := snapshot.ParseName(name)
		if !ok || zxid <= m.Zxid || s.Catalogued(name) || s.Foreign && s.begins(name) {
			kept = append(kept, name)
			continue
		}
		i := slices.IndexFunc(passed, func(p Passed) bool { return p.Name == name })
		switch {
		case i >= 0 && errors.Is(passed[i].Err, snapshot.ErrCorrupt) && !passed[i].IsWhole():
			passed[i].Junk = true
		case i < 0 && !slices.ContainsFunc(metas, func(m snapshot.Meta) bool { return m.Name == name }):
			passed = append(passed, Passed{Meta: snapshot.Meta{Zxid: zxid, Name: name}, Junk: true,
				Err: fmt.Errorf("%w: %s does not begin and end as a snapshot does", snapshot.ErrCorrupt, name)})
		default:
			kept = append(kept, name)
		}
	}
	return kept, passed
}

// begins reports whether a file begins as a snapshot does, or that is not known.
func (s *Source) begins(name string) bool {
	begins, err := snapshot.Begins(s.FS, filepath.Join(s.Dir, name))
	return begins || err != nil
}

// after adds to an error why newer snapshots were passed over.
func (s *Source) after(err error, passed []Passed) error {
	for i := range passed {
		err = fmt.Errorf("%w; the newer snapshot cannot be taken: %w", err, passed[i].Err)
	}
	return err
}

// passedError says that a snapshot cannot be taken, and that an older one may be.
type passedError struct{ Passed }

func (p *passedError) Error() string { return p.Err.Error() }

// from rebuilds the state from one snapshot. If its digests are known to be wrong, they do not count.
func (s *Source) from(m snapshot.Meta, names []string, passed []Passed, wrong error) (*Found, error) {
	loader := datatree.NewLoader(s.Config)
	trailer, err := s.Snapshots.Load(m, loader)
	base := BaseOf(m.Name, m.Zxid, &trailer)
	pass := func(err error) error {
		p := Passed{Meta: m, Err: err}
		if p.IsWhole() && trailer.Ensemble != 0 {
			p.Exact = max(trailer.DigestZxid, trailer.LastZxid)
		}
		return &passedError{p}
	}
	if err != nil {
		return nil, pass(err)
	}
	state, err := loader.Done(m.Zxid)
	if err != nil {
		return nil, pass(err)
	}
	if s.Loaded != nil {
		s.Loaded()
	}
	if wrong != nil && !errors.Is(wrong, errAfter) {
		base.DigestZxid, base.Differs = 0, base.DigestZxid
	}
	replay, err := s.over(state, base, names, passed, wrong != nil)
	if errors.Is(err, ErrDigest) {
		return nil, pass(err)
	}
	return &Found{Replay: replay, Meta: m, Trailer: trailer, Passed: passed, Wrong: wrong}, err
}

// linked returns the names of the files to which the log must lead. A file whose name alone is wrong stands for the
// snapshot that it is.
func linked(names []string, passed []Passed) []string {
	names = slices.Clone(names)
	for i := range passed {
		if wrong, ok := errors.AsType[*snapshot.NameError](passed[i].Err); ok && wrong.Known {
			names[slices.Index(names, passed[i].Name)] = snapshot.FileName(wrong.Zxid, snapshot.Plain)
		}
	}
	return names
}

// Over replays the log over the empty tree, without regard to digests. names are the files in the directory of the
// snapshots.
func (s *Source) Over(empty *datatree.State, names []string) (*Replay, error) {
	return s.over(empty, Base{}, names, nil, true)
}

func (s *Source) over(state *datatree.State, base Base, names []string, passed []Passed, lenient bool) (*Replay,
	error) {
	r, err := New(state, base, linked(names, passed), Target{})
	if err != nil {
		return nil, err
	}
	for i := range passed {
		if wrong := new(snapshot.NameError); errors.As(passed[i].Err, &wrong) {
			r.chain.Misnamed(passed[i].Zxid, passed[i].Name)
		}
	}
	r.Lenient, r.joins = lenient, s.Joins
	err = s.Log(state.LastZxid()+1, func(rec *wal.Record) error {
		if s.Record != nil {
			s.Record(rec)
		}
		return r.Apply(rec)
	})
	if err == nil {
		err = r.chain.Err()
	}
	return r, err
}

// LostEnd returns an error if a file knows of a txn after the end of the log: the log has lost its end. committed is a
// txn that is known to be in the log. What ZooKeeper has written knows of txns before they are in the log.
func (f *Found) LostEnd(committed proto.Zxid) error {
	known, by := committed, "meta.db"
	note := func(z proto.Zxid, name string) {
		if z > known {
			known, by = z, name
		}
	}
	if f.Ensemble != 0 {
		note(f.base.Exact, f.Name)
	}
	for i := range f.Passed {
		note(f.Passed[i].Exact, f.Passed[i].Name)
	}
	if last := f.State.LastZxid(); last < known {
		return fmt.Errorf("%w: the log ends with txn %v, and %s knows of %v", errLostEnd, last, by, known)
	}
	return nil
}

// errLostEnd means that the log does not reach as far as it did.
var errLostEnd = errors.New("the end of the log is missing")
