package server

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// Provenance is what a data directory says about the server that it belongs to, and about where its history comes
// from. A directory of a server in Java says the epochs only.
type Provenance struct {
	ServerID int64  // myid; 0 if it is not known
	Instance string // 32 hex digits, drawn when meta.db was made; "" without meta.db
	Created  time.Time
	Blank    bool // the server has lost its database, and does not count before a leader has brought it up to date

	Accepted, Current int64 // epochs

	lineage *zab.Lineage
}

// ReadProvenance reads the directory version-2 below dataDir, which a server may be using, and changes nothing there.
// newest is the path of its newest snapshot, which names the ensemble where meta.db is missing; "" if there is none.
func ReadProvenance(fsys vfs.FS, dataDir, newest string) (*Provenance, error) {
	f, err := meta.Peek(fsys, filepath.Join(dataDir, env.Format))
	if err != nil {
		return nil, err
	}
	p := &Provenance{ServerID: int64(f.Identity.ServerID), Instance: f.Identity.Instance, Blank: f.Blank,
		Accepted: f.Epochs.Accepted, Current: f.Epochs.Current, lineage: &zab.Lineage{}}
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

// History is a text of where the history comes from: the identity of the ensemble, the last epochs with their
// leaders, and up to where the history is known to be committed.
func (p *Provenance) History() string { return p.lineage.String() }

// Differs says how two histories are known to differ, "" if nothing shows that they do.
func (p *Provenance) Differs(other *Provenance) string {
	if d := p.lineage.Differs(other.lineage); d != nil {
		return d.Text
	}
	return ""
}
