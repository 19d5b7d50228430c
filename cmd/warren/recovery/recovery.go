package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// Command is the name of the command that recovers, as an interrupted directory says it.
const Command = "warren recover"

const (
	// recordFile is the Record in the folder of the backup.
	recordFile = "recovery.json"
	// LogFile has a line for each change of a data directory. It is beside version-2.
	LogFile = "recovery.log"

	recordMax = 1 << 20 // bytes
	logMax    = 1 << 20
	formatNow = 1
)

// Leap is by how much the epoch of the new history exceeds every epoch that is known. The voters that are lost may
// have formed epochs of which no other server has heard, and zxids must not come twice.
const Leap = 1 << 10

// errOther means that the backup is not one that this step can go on from.
var errOther = errors.New("the backup is not from this recovery")

// Record says what a recovery begins with, and what was known and given up then. It stays in the folder of the
// backup.
type Record struct {
	Format   int         `json:"format"`
	Time     time.Time   `json:"time"`
	Server   int64       `json:"server"`  // whose data it is
	Voters   []int64     `json:"voters"`  // of the configuration, sorted
	Epoch    int64       `json:"epoch"`   // in which the new history begins
	Current  int64       `json:"current"` // epoch of the data
	Last     backup.Zxid `json:"last"`    // its last txn
	Ensemble string      `json:"ensemble,omitempty"`
	Identity string      `json:"identity"`          // of the new history
	GivenUp  []int64     `json:"givenUp,omitempty"` // servers whose data was given up
	Seen     []string    `json:"seen"`              // what each server said
}

// ReadRecord reads the record in the folder of a backup. The error is fs.ErrNotExist if there is none.
func ReadRecord(fsys vfs.FS, folder string) (*Record, error) {
	name := filepath.Join(folder, recordFile)
	text, err := vfs.ReadFile(fsys, name, recordMax)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := parseRecord(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

var errRecord = errors.New("it is damaged")

func parseRecord(text []byte, r *Record) error {
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	switch {
	case r.Format != formatNow:
		return fmt.Errorf("format %d is unknown, want %d", r.Format, formatNow)
	case r.Epoch <= 0, r.Current < 0, r.Current >= r.Epoch, r.Last < 0, len(r.Voters) == 0, len(r.Identity) != 16:
		return fmt.Errorf("%w: epoch %d, current %d, last %v, %d voters, identity %q", errRecord, r.Epoch, r.Current,
			r.Last, len(r.Voters), r.Identity)
	}
	return nil
}

// Recovery is a data directory and a backup.
type Recovery struct {
	FS              vfs.FS
	SnapDir, LogDir string // dataDir/version-2, dataLogDir/version-2
	Backup          string // the folder
	Now             func() time.Time
	// Unchanged, if not nil, is called once no server can change the directory any more. After an error nothing is
	// changed.
	Unchanged func() error
}

// Begin makes a backup of the directory and a record of it, and begins the new history with it in the directory. r
// has everything but the identity. If that was interrupted, Begin goes on with the backup that is there: see Resumes.
func (y *Recovery) Begin(r *Record) (backup.Restored, error) {
	b, err := backup.Open(y.FS, y.Backup)
	if err != nil {
		return backup.Restored{}, err
	}
	if len(b.Manifest.Entries) > 0 && b.Manifest.Source != y.SnapDir {
		return backup.Restored{}, fmt.Errorf("%s: %w: it is of %s", y.Backup, errOther, b.Manifest.Source)
	}
	if _, err := b.Add(backup.Source{FS: y.FS, SnapDir: y.SnapDir, LogDir: y.LogDir},
		backup.Options{Now: y.Now}); err != nil {
		return backup.Restored{}, err
	}
	if last := backup.Zxid(b.Manifest.Last()); last != r.Last {
		return backup.Restored{}, fmt.Errorf("%s: %w: it ends with %v, the directory with %v", y.Backup,
			errOther, last, r.Last)
	}
	identity, err := b.Identity()
	if err != nil {
		return backup.Restored{}, err
	}
	r.Format, r.Identity = formatNow, fmt.Sprintf("%016x", identity)
	if err := y.write(filepath.Join(y.Backup, recordFile), r); err != nil {
		return backup.Restored{}, err
	}
	return y.restore(b, r, "begins a new history with its data")
}

// Join restores the directory from the backup.
func (y *Recovery) Join(r *Record) (backup.Restored, error) {
	b, err := backup.Open(y.FS, y.Backup)
	if err != nil {
		return backup.Restored{}, err
	}
	if last := backup.Zxid(b.Manifest.Last()); last != r.Last {
		return backup.Restored{}, fmt.Errorf("%s: %w: it ends with %v, its record with %v", y.Backup,
			errOther, last, r.Last)
	}
	return y.restore(b, r, "takes the new history")
}

func (y *Recovery) restore(b *backup.Backup, r *Record, what string) (backup.Restored, error) {
	note := func(text string) error {
		return y.note(fmt.Sprintf("%s %s from server %d, epoch %d after %v, given up %v: %s", y.SnapDir, what,
			r.Server, r.Epoch, r.Last, r.GivenUp, text))
	}
	if interrupted, err := y.Resumes(); err != nil {
		return backup.Restored{}, err
	} else if interrupted && y.has(r) {
		return y.finish(r, note)
	}
	if err := note("is to be changed"); err != nil {
		return backup.Restored{}, err
	}
	done, err := b.Restore(backup.Destination{FS: y.FS, SnapDir: y.SnapDir, LogDir: y.LogDir, Replace: true,
		Epoch: r.Epoch - 1, Now: y.Now, Command: Command, Confirm: y.Unchanged}, backup.Target{})
	if err != nil {
		return done, errors.Join(err, note("failed, "+err.Error()))
	}
	return done, note("done")
}

// has reports whether the directory has the new history.
func (y *Recovery) has(r *Record) bool {
	p, err := server.ReadProvenance(y.FS, filepath.Dir(y.SnapDir), "")
	return err == nil && p.Ensemble() == r.Identity
}

// finish ends a change that was interrupted after its last rename. To restore again would take another epoch.
func (y *Recovery) finish(r *Record, note func(string) error) (backup.Restored, error) {
	change, err := datadir.Begin(y.FS, y.SnapDir, y.LogDir)
	if err == nil {
		err = errors.Join(change.Finish(), note("done"))
	}
	return backup.Restored{Zxid: proto.Zxid(r.Last), First: proto.MakeZxid(r.Epoch, 1)}, err
}

// Resumes reports whether the directory is one in which a recovery was interrupted. It returns an error if another
// command was interrupted there.
func (y *Recovery) Resumes() (bool, error) {
	err := datadir.Check(y.FS, y.SnapDir, y.LogDir)
	if unfinished, ok := errors.AsType[*datadir.Unfinished](err); ok && unfinished.Command == Command {
		return true, nil
	}
	return false, err
}

// write replaces a file durably.
func (y *Recovery) write(name string, r *Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(y.FS, name, append(text, '\n'))
}

// note adds a line to the log of recoveries, durably.
func (y *Recovery) note(text string) error {
	name := filepath.Join(filepath.Dir(y.SnapDir), LogFile)
	f, err := y.FS.OpenWrite(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = y.FS.MkdirAll(filepath.Dir(name)); err == nil {
			f, err = y.FS.Create(name)
		}
	}
	if err != nil {
		return err
	}
	at, err := f.Size()
	if err == nil && at < logMax {
		_, err = f.WriteAt([]byte(y.Now().UTC().Format(time.RFC3339)+" "+text+"\n"), at)
	}
	return errors.Join(err, f.Sync(), f.Close(), y.FS.SyncDir(filepath.Dir(name)))
}
