package server

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// ErrMeta is returned by ReadProvenance for a meta.db that is not whole.
var ErrMeta = meta.ErrDamaged

// Provenance is what a data directory tells about its server and about the origin of its history. A directory of a
// server in Java tells only the epochs.
type Provenance struct {
	ServerID int64  // myid; below 0 if unknown
	Instance string // 32 hex digits, drawn when meta.db was created; "" without meta.db
	Created  time.Time
	Blank    bool // the server has lost its database, and does not count until a leader has synchronized it

	Accepted, Current int64 // epochs

	// Members are the server lines of the newest configuration that the server has kept, MembersVersion its version;
	// empty without one.
	Members        string
	MembersVersion proto.Zxid

	lineage   *zab.Lineage
	catalogue meta.Catalogue
	own       bool
}

// Snapshots is how a server of this directory sees the snapshots in dir when it starts. foreign says that ZooKeeper
// may have written some of them.
func (p *Provenance) Snapshots(fsys vfs.FS, dir string, member bool) (v snapshot.View, foreign bool) {
	foreign = !member || !p.own
	v = snapshot.View{FS: fsys, Dir: dir, Catalogue: p.catalogue, Own: !foreign}
	if p.lineage.Final {
		v.Ensemble = p.lineage.Ensemble
	}
	return v, foreign
}

// Catalogued reports whether the server has had a whole snapshot of a name.
func (p *Provenance) Catalogued(name string) bool {
	_, ok := p.catalogue[name]
	return ok
}

// Committed is a txn that is known to be committed, and so was durable here; 0 if none is.
func (p *Provenance) Committed() proto.Zxid { return p.lineage.Committed() }

// Joins returns an error if txn next is known not to come directly after txn last, or after a snapshot of that zxid:
// one that wraps ErrOtherLog if a restore has left the log of another history behind.
func (p *Provenance) Joins(last, next proto.Zxid) error { return p.lineage.Joins(last, next) }

// ErrOtherLog means that a restore has begun a history, and the log of the one before is still there.
var ErrOtherLog = zab.ErrOtherLog

// CheckEpochs returns why a server does not start whose log ends with last: its epochs contradict each other, or the
// log. It is nil if they do not. dataDir is as for ReadProvenance.
func CheckEpochs(fsys vfs.FS, dataDir string, member bool, last proto.Zxid) error {
	return meta.CheckEpochs(fsys, filepath.Join(dataDir, env.Format), member, last)
}

// ReadProvenance reads the directory version-2 below dataDir, without changes. A server may be using the directory.
// newest is the path of the newest snapshot, "" if there is none. The snapshot names the ensemble if meta.db is
// missing.
func ReadProvenance(fsys vfs.FS, dataDir, newest string) (*Provenance, error) {
	f, err := meta.Peek(fsys, filepath.Join(dataDir, env.Format))
	if err != nil {
		return nil, err
	}
	p := &Provenance{ServerID: int64(f.Identity.ServerID), Instance: f.Identity.Instance, Blank: f.Blank,
		Accepted: f.Epochs.Accepted, Current: f.Epochs.Current, lineage: &zab.Lineage{},
		Members: f.Config.Text, MembersVersion: f.Config.Version, catalogue: f.Catalogue, own: f.Own}
	if f.HasDB {
		p.Created = time.UnixMilli(f.Identity.CreatedMs)
	}
	if f.Lineage != "" {
		if p.lineage, err = zab.ParseLineage([]byte(f.Lineage)); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dataDir, env.Format, meta.FileName), err)
		}
	}
	if p.lineage.Empty() && newest != "" {
		id, err := snapshot.ReadEnsemble(fsys, newest)
		if err != nil {
			return nil, err
		}
		p.lineage = &zab.Lineage{Ensemble: id, Final: id != 0}
	}
	return p, nil
}

// NoProvenance is that of a directory that tells nothing.
func NoProvenance() *Provenance { return &Provenance{ServerID: -1, lineage: &zab.Lineage{}} }

// History describes the origin of the history: the identity of the ensemble, the last epochs with their leaders,
// and the zxid up to which the history is known to be committed.
func (p *Provenance) History() string { return p.lineage.String() }

// Ensemble is the identity of the history, 16 hexadecimal digits; "" if it is not known for certain.
func (p *Provenance) Ensemble() string {
	if !p.lineage.Final {
		return ""
	}
	return fmt.Sprintf("%016x", p.lineage.Ensemble)
}

// Differs describes how two histories are known to differ; "" if no difference is known.
func (p *Provenance) Differs(other *Provenance) string {
	if d := p.lineage.Differs(other.lineage); d != nil {
		return d.Text
	}
	return ""
}
