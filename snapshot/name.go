package snapshot

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// ErrName marks the error that a whole snapshot file is not the snapshot that its name says. The error is ErrCorrupt,
// too: under that name nothing may be taken from the file.
var ErrName = errors.New("snapshot: the content does not match the name")

// Aside is put in front of the name of a whole snapshot that nothing may take: neither this package nor a Java server
// takes such a file for a snapshot.
const Aside = "aside."

// NameError says why a whole file is not the snapshot that its name says.
type NameError struct {
	File string
	What string
	// Known says that the catalogue knows these bytes as the snapshot at Zxid, and knows no file of this name: then
	// the name alone is wrong, and no snapshot is missing in its place.
	Known bool
	Zxid  proto.Zxid
}

// Error names the file and what contradicts its name.
func (e *NameError) Error() string {
	return fmt.Sprintf("snapshot: %s is not the snapshot that its name says: %s", e.File, e.What)
}

// Unwrap returns ErrName and ErrCorrupt.
func (e *NameError) Unwrap() []error { return []error{ErrName, ErrCorrupt} }

// CheckName returns a NameError if a whole file cannot be the snapshot that a name says. Load and Verify check the
// name under which they read a file; a copy may be read under one that says nothing.
func (t *Trailer) CheckName(name string) error {
	if zxid, _, ok := ParseName(name); ok {
		if what := t.contradicts(zxid); what != "" {
			return &NameError{File: name, What: what}
		}
	}
	return nil
}

// contradicts says what of a whole file cannot be if the snapshot was begun at zxid, "" if all of it can. A snapshot
// is named for the last txn before it was begun, and its sections are of the moment when it was finished.
//
// ZooKeeper names no digest where it has computed none, and one that is older than the name if nothing was logged
// since an epoch began. A server that names its ensemble writes the digest, and both sections at one moment.
func (t *Trailer) contradicts(zxid proto.Zxid) string {
	own := t.Ensemble != 0
	began := zxid.Counter() == 0 && t.DigestZxid.Epoch() < zxid.Epoch()
	switch {
	case t.HasLastZxid && t.LastZxid < zxid:
		return fmt.Sprintf("it ends with txn %v", t.LastZxid)
	case own && !t.HasDigest:
		return "it lacks the digest with which it was written"
	case t.HasDigest && t.DigestZxid < zxid && (own || t.DigestZxid != 0 && !began):
		return fmt.Sprintf("its digest is that of txn %v", t.DigestZxid)
	case own && t.HasLastZxid && t.LastZxid != t.DigestZxid:
		return fmt.Sprintf("it ends with txn %v, and its digest is that of %v", t.LastZxid, t.DigestZxid)
	}
	return ""
}

// distinct reports whether a snapshot of another zxid cannot have the same bytes.
func (t *Trailer) distinct() bool { return t.HasLastZxid || t.HasDigest && t.DigestZxid != 0 }

// known compares a file that was read completely with the catalogue. err is that of reading: nil or a NameError.
//
// A file that the catalogue does not know, or knows with other bytes, was put there from outside. It may be that of
// another server of the ensemble. With own it is taken only if it has a digest, which its reader compares.
func (t *Trailer) known(v *View, m Meta, seen sums, err error) error {
	size, sum, has := v.Catalogue.Snapshot(m.Name)
	zxid, copied := v.Catalogue.SnapshotOf(seen.size, seen.crc)
	switch {
	case has && size == seen.size && sum == seen.crc:
		return err
	case !has && copied && zxid < m.Zxid && t.distinct():
		return &NameError{File: m.Name, What: fmt.Sprintf("it is a copy of the one at %v", zxid), Known: true,
			Zxid: zxid}
	case err == nil && v.Ensemble != 0 && t.Ensemble != 0 && t.Ensemble != v.Ensemble:
		return &NameError{File: m.Name,
			What: fmt.Sprintf("it is of ensemble %016x, not %016x", t.Ensemble, v.Ensemble)}
	case err == nil && v.Own && (!t.HasDigest || t.DigestZxid < m.Zxid):
		return &NameError{File: m.Name, What: "this server has not verified it, and no digest proves it"}
	}
	return err
}
