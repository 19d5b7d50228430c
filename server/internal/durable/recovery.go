package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// DataError is returned by Start when the data directories cannot be used. Its exit code is 3, as
// ZooKeeper's.
type DataError struct {
	Dir string
	Err error
}

// Error names the directory and what is wrong with it.
func (e *DataError) Error() string { return "server: data directory " + e.Dir + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DataError) Unwrap() error { return e.Err }

// ExitCode is the process exit code.
func (e *DataError) ExitCode() int { return 3 }

// Disk is the durable part of a server: snapshots, log, epochs, the result of recovery, and the journal's and the
// snapshotter's access to them.
type Disk struct {
	*env.Env
	locks       []io.Closer
	Meta        meta.Store
	Snaps       *snapshot.Store
	WAL         *wal.Log
	Snapshotter *snapshotter
	replayed    int              // txns replayed by Recover
	Missing     bool             // a member of an ensemble has no database: it may be new, or may have lost it
	Blank       bool             // this server does not count: zab.Config.Blank
	renew       bool             // a new snapshot is due: the state could not be proved, or a snapshot was put aside
	loaded      string           // the snapshot from which the state was rebuilt; empty if there was none
	base        proto.Zxid       // its zxid
	origin      uint64           // the ensemble that wrote the newest snapshot; 0 if the snapshot does not tell
	Recent      *flow.RecentTxns // nil on a standalone server
}

func New(e *env.Env, store meta.Store) *Disk {
	d := &Disk{Env: e, Meta: store}
	if e.Config.Distributed() {
		d.Recent = flow.NewRecentTxns(e.WindowTxns)
	}
	return d
}

// Stop lets a snapshot that is being written end soon.
func (s *Disk) Stop() {
	_ = s.Snaps.Close()
	s.Snapshotter.wake.Unpark()
}

// Release closes what Recover has opened.
func (s *Disk) Release() {
	if s.WAL != nil {
		if err := s.WAL.Close(); err != nil {
			s.Log.Warn("cannot close the log", zap.Error(err))
		}
	}
	if s.Meta != nil {
		if err := s.Meta.Close(); err != nil {
			s.Log.Warn("cannot close meta.db", zap.Error(err))
		}
	}
	for _, l := range s.locks {
		_ = l.Close()
	}
}

// Recover opens the data directories and rebuilds the state: the newest snapshot that verifies, and every txn after
// it. Source: storage 6.
func (s *Disk) Recover() error {
	began := s.Runtime.Elapsed()
	if err := s.openDirs(); err != nil {
		return err
	}
	if err := s.openMeta(); err != nil {
		return &DataError{s.SnapDir(), err}
	}
	var err error
	s.Snaps, err = snapshot.NewStore(snapshot.Options{
		FS: s.FS, Dir: s.SnapDir(), Compression: snapshot.Compression(s.Config.SnapshotCompression),
		Writing: sched.NewMutex(s.Runtime), Catalogue: s.Meta, Own: !s.Meta.Elsewhere(),
		OmitLastZxid: !s.Config.SerializeLastProcessedZxid, Ensemble: s.EnsembleIdentity,
		Warn: func(name string, err error) {
			s.Log.Warn("skipping an unusable snapshot", zap.String("file", name), zap.Error(err))
		},
	})
	if err != nil {
		return &DataError{s.SnapDir(), err}
	}
	s.WAL, err = wal.Open(s.walOptions())
	if err != nil {
		return &DataError{s.LogDir(), err}
	}
	state, loaded, err := s.rebuild(began)
	if err != nil {
		return err
	}
	if err := s.removeOldLog(state); err != nil {
		return err
	}
	if !s.Missing {
		s.removeMarkers()
	}
	if !s.Config.Distributed() { // in an ensemble all servers must keep the same tree
		if n := state.DropOrphanEphemerals(); n > 0 {
			s.Log.Warn("removed ephemerals of sessions that do not exist", zap.Int("znodes", n))
			s.renew = true // neither a snapshot nor the log leads to this tree
		}
		if err := s.goAlone(state.LastZxid()); err != nil {
			return &DataError{s.SnapDir(), err}
		}
	}
	s.Store = env.NewStore(state)
	s.Store.Logged.Store(int64(s.base))
	s.Guard, s.Snapshotter = env.NewGuard(s.Env), newSnapshotter(s)
	took := s.Runtime.Elapsed() - began
	s.Stats.Recovered(loaded, took, s.replayed)
	s.Log.Info("recovered", zap.Stringer("zxid", state.LastZxid()), zap.Int("znodes", state.NumNodes()),
		zap.Int("sessions", state.NumSessions()), zap.Int("replayed", s.replayed),
		zap.Duration("snapshot_took", loaded), zap.Duration("took", took))
	return nil
}

// openMeta opens meta.db, unless the server was given another meta.Store.
func (s *Disk) openMeta() error {
	if s.Meta != nil {
		return nil
	}
	o := meta.Options{Dir: s.SnapDir(), FS: s.FS}
	if s.Config.Distributed() {
		o.Member, o.ServerID = true, proto.ServerID(s.Config.ServerID)
	}
	db, err := meta.Open(o)
	if err != nil {
		return err
	}
	if cause := db.Rebuilt(); cause != nil {
		s.Log.Warn("created meta.db anew", zap.Error(cause))
	}
	s.Meta = db
	return nil
}

// CheckDirs returns why the directories cannot be used, unless another server is running. It changes nothing.
func (s *Disk) CheckDirs() error {
	if err := s.CheckPermissions(); err != nil {
		return err
	}
	return s.unmixed()
}

// CheckPermissions returns why this process may not do with the directories, and the files in them, what a server
// does sooner or later: the first file of the log is made by the first write, the first snapshot may take days. It
// changes nothing, and finds nothing on a filesystem without permissions.
func (s *Disk) CheckPermissions() error {
	permissions, ok := s.FS.(vfs.Permissions)
	if !ok {
		return nil
	}
	for _, dir := range s.Dirs() {
		if err := s.usable(permissions, dir); err != nil {
			return &DataError{dir, err}
		}
	}
	return nil
}

// usable returns why a directory could not be made, or not be used.
func (s *Disk) usable(permissions vfs.Permissions, dir string) error {
	at := dir
	for {
		info, err := s.FS.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is not a directory", at)
		case err == nil:
			if err := permissions.MayWrite(at); err != nil {
				return fmt.Errorf("this user may not create files in it: %w", err)
			}
			if at != dir {
				return nil
			}
			return s.filesUsable(permissions, dir)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case !s.Config.DatadirAutocreate:
			return errNoAutocreate
		}
		parent := filepath.Dir(at)
		if parent == at {
			return err
		}
		at = parent
	}
}

// filesUsable returns which file of a directory this process may not open as a server does.
func (s *Disk) filesUsable(permissions vfs.Permissions, dir string) error {
	names, err := s.FS.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		may, verb := permissions.MayRead, "read"
		switch _, exact, isLog := wal.FileZxid(name); {
		case isLog && exact, name == datadir.LockFile, name == meta.FileName, strings.HasSuffix(name, ".tmp"):
			may, verb = permissions.MayWrite, "write" // a log is cut, a .tmp is used again
		case strings.HasSuffix(name, "Epoch"):
		default:
			continue // of snapshots, recovery takes another one, or says that it finds none
		}
		if info, err := s.FS.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue // it was removed meanwhile, or is no file of a server
		}
		if err := may(path); err != nil {
			return fmt.Errorf("this user may not %s %s: %w", verb, name, err)
		}
	}
	return nil
}

// errNoAutocreate is why a missing directory is not made.
var errNoAutocreate = errors.New("is missing, and datadir.autocreate is false")

// openDirs creates, checks and locks the data directories. Source: storage 1.3.
func (s *Disk) openDirs() error {
	if err := datadir.Check(s.FS, s.Dirs()...); err != nil {
		return &DataError{s.SnapDir(), err}
	}
	for _, dir := range s.Dirs() {
		if _, err := s.FS.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			if !s.Config.DatadirAutocreate {
				return &DataError{dir, errNoAutocreate}
			}
			if err := s.FS.MkdirAll(dir); err != nil {
				return &DataError{dir, err}
			}
		}
		lock, err := s.FS.Lock(filepath.Join(dir, datadir.LockFile))
		if err != nil {
			if errors.Is(err, vfs.ErrLocked) {
				err = fmt.Errorf("%w (is another server running on it?)", err)
			}
			return &DataError{dir, err}
		}
		s.locks = append(s.locks, lock)
	}
	if err := datadir.Check(s.FS, s.Dirs()...); err != nil { // a command may have come between
		return &DataError{s.SnapDir(), err}
	}
	return s.unmixed()
}

// unmixed returns an error if the directory of the log holds snapshots, or that of the snapshots holds logs.
func (s *Disk) unmixed() error {
	if s.SnapDir() == s.LogDir() {
		return nil
	}
	for dir, stranger := range map[string]string{s.LogDir(): "snapshot.", s.SnapDir(): "log."} {
		names, err := vfs.Files(s.FS, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &DataError{dir, err}
		}
		for _, name := range names {
			if strings.HasPrefix(name, stranger) {
				return &DataError{dir, fmt.Errorf(
					"holds %s: dataDir and dataLogDir are mixed up or were not moved together", name)}
			}
		}
	}
	return nil
}

// source is the directories, from which the state is rebuilt.
func (s *Disk) source(log func(proto.Zxid, func(*wal.Record) error) error) *rebuild.Source {
	return &rebuild.Source{FS: s.FS, Dir: s.SnapDir(), Snapshots: s.Snaps, Log: log,
		Catalogued: s.isCatalogued, Foreign: s.Meta.Elsewhere(), Config: datatree.Config{SkipACL: s.Config.SkipACL}}
}

func (s *Disk) isCatalogued(name string) bool {
	_, _, ok := s.Meta.Snapshot(name)
	return ok
}

// rebuild rebuilds the state from snapshots and log. took is how long the loading of the snapshot has taken since
// began. A directory without a snapshot gives the empty tree, if it may.
func (s *Disk) rebuild(began time.Duration) (state *datatree.State, took time.Duration, err error) {
	src := s.source(func(from proto.Zxid, fn func(*wal.Record) error) error {
		_, err := s.WAL.Replay(from, fn)
		var here *wal.Error
		if err != nil && (errors.As(err, &here) || !errors.Is(err, rebuild.ErrDigest)) {
			err = &DataError{s.LogDir(), err}
		}
		return err
	})
	src.Joins = s.joins()
	src.Loaded = func() {
		took, s.replayed = s.Runtime.Elapsed()-began, 0
		if s.Recent != nil {
			s.Recent = flow.NewRecentTxns(s.WindowTxns)
		}
	}
	src.Record = func(r *wal.Record) {
		s.replayed++
		s.Recent.Add(r.Zxid, r.Payload)
	}
	found, err := rebuild.Newest(src)
	if errors.Is(err, snapshot.ErrNone) {
		state, err = s.without(src)
		return state, took, err
	}
	if err == nil {
		err = s.judge(found)
	}
	var data *DataError
	switch {
	case errors.As(err, &data):
		return nil, 0, err
	case err != nil:
		return nil, 0, &DataError{s.SnapDir(), err}
	}
	s.origin, s.Blank, s.loaded, s.base = found.Ensemble, s.isBlank(), found.Name, found.Meta.Zxid
	s.Log.Info("loaded snapshot", zap.String("file", found.Name), zap.Stringer("zxid", found.Meta.Zxid))
	return found.State, took, nil
}

// without returns the state of a directory without a snapshot.
func (s *Disk) without(src *rebuild.Source) (*datatree.State, error) {
	state, err := s.empty()
	if err != nil {
		return nil, err
	}
	if err := s.markBlank(); err != nil {
		return nil, &DataError{s.SnapDir(), err}
	}
	if s.Missing { // see removeOldLog
		return state, src.Log(1, func(*wal.Record) error { return nil })
	}
	names, err := vfs.Files(s.FS, s.SnapDir())
	if err != nil {
		return nil, &DataError{s.SnapDir(), err}
	}
	_, err = src.Over(state, names)
	var data *DataError
	if err != nil && !errors.As(err, &data) {
		err = &DataError{s.SnapDir(), err}
	}
	return state, err
}

// empty returns the empty tree for a directory without a snapshot, or an error if such a tree would be a lost one.
func (s *Disk) empty() (*datatree.State, error) {
	state := datatree.NewState(datatree.Config{SkipACL: s.Config.SkipACL})
	logs, err := s.WAL.Files()
	if err != nil {
		return nil, &DataError{s.LogDir(), err}
	}
	if len(logs) > 0 {
		if s.isUnfinished() {
			s.Log.Warn("removing the log of a first synchronization that did not finish")
			s.Missing = true
			return state, nil
		}
		if !s.Config.TrustEmptySnapshot {
			return nil, &DataError{s.SnapDir(), errors.New("no snapshot found, but there is a log: " +
				"restore the snapshots, or set snapshot.trust.empty=true if the log is complete from the first txn")}
		}
		return state, nil
	}
	if s.Config.Distributed() && !s.hasInitializeMarker() {
		// Only the other servers know whether the database is new or was lost.
		s.Missing = true
		return state, nil
	}
	if err := s.Meta.SetBlank(false); err != nil { // the operator says that nothing was lost
		return nil, &DataError{s.SnapDir(), err}
	}
	if err := s.firstSnapshot(state); err != nil {
		return nil, &DataError{s.SnapDir(), err}
	}
	return state, nil
}

// isUnfinished reports whether a log without a snapshot can only be the rest of this server's first synchronization
// after a crash. That is so if the server is blank, or, if an earlier version has begun the synchronization, has
// promised an epoch and adopted none. Journal.write makes the first snapshot before the first epoch is adopted.
// Such a server may have lost its disk, so its part of the history must not count.
func (s *Disk) isUnfinished() bool {
	e := s.Meta.Epochs()
	return s.Config.Distributed() &&
		(s.Meta.Blank() || !s.Config.TrustEmptySnapshot && e.Accepted > 0 && e.Current == 0)
}

// markBlank decides whether a server without a snapshot counts. A server without a database does not count, and
// stores that before anything makes the database exist. It may be restarted after it has received a part of a
// database, or all of it, and before it has heard that it counts.
func (s *Disk) markBlank() error {
	if s.Missing {
		s.Blank = true
		return s.Meta.SetBlank(true)
	}
	s.Blank = s.isBlank()
	return nil
}

func (s *Disk) isBlank() bool { return s.Config.Distributed() && s.Meta.Blank() }

// removeOldLog removes the rest of the old log after a crash in the middle of an installation. It is unknown
// whether the state holds those txns, so they must never be sent to other servers, nor be continued.
func (s *Disk) removeOldLog(state *datatree.State) error {
	if !s.Config.Distributed() || !s.WAL.Detached() && !s.Missing {
		return nil
	}
	if logs, err := s.WAL.Files(); err != nil || len(logs) == 0 {
		return err
	}
	if s.loaded != "" && !s.isCatalogued(s.loaded) {
		return &DataError{s.SnapDir(), fmt.Errorf("the log before %s cannot be removed: meta.db does not record it",
			s.loaded)}
	}
	s.Log.Warn("removing logs that end before the state", zap.Stringer("zxid", state.LastZxid()))
	if err := s.WAL.Reset(state.LastZxid()); err != nil {
		return &DataError{s.LogDir(), err}
	}
	return nil
}

// stateAt rebuilds the state at a txn of the log that is open, without what comes after it.
func (s *Disk) stateAt(last proto.Zxid) (*datatree.State, error) {
	src := s.source(func(from proto.Zxid, fn func(*wal.Record) error) error {
		if from > last {
			return nil
		}
		it, err := s.WAL.Records(from)
		if err != nil {
			return err
		}
		defer it.Close()
		for {
			r, err := it.Next()
			if err != nil {
				return fmt.Errorf("server: replaying the log up to %v: %w", last, err)
			}
			if err := fn(r); err != nil || r.Zxid >= last {
				return err
			}
		}
	})
	src.Counts = func(zxid proto.Zxid) bool { return zxid <= last }
	found, err := rebuild.Newest(src)
	switch {
	case err != nil:
		return nil, err
	case found.State.LastZxid() != last:
		return nil, fmt.Errorf("server: the log ends with txn %v, not with %v", found.State.LastZxid(), last)
	}
	return found.State, found.Exact()
}

// firstSnapshot writes snapshot.0 into an empty directory. Without a snapshot, a log could not be told from the
// rest of a lost database.
func (s *Disk) firstSnapshot(state *datatree.State) error {
	if !s.Config.Distributed() && !s.Config.DBAutocreate && !s.hasInitializeMarker() {
		return errors.New("is empty, and db.autocreate is false: " +
			"put a file named initialize beside version-2 to begin with an empty tree")
	}
	return s.writeState(state, 0)
}

// writeState writes a snapshot of a state that has no other user yet.
func (s *Disk) writeState(state *datatree.State, zxid proto.Zxid) error {
	w := state.NewWalker()
	defer w.Close()
	_, err := s.Snaps.Write(zxid, walkerSource{w})
	return err
}

// markers returns the files by which the operator asks for an empty tree.
func (s *Disk) markers() (found []string) {
	for _, dir := range []string{s.Config.DataDir, s.Config.DataLogDir} {
		name := filepath.Join(dir, "initialize")
		if _, err := s.FS.Stat(name); err == nil && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

func (s *Disk) hasInitializeMarker() bool { return len(s.markers()) > 0 }

// removeMarkers removes those files when there is a tree, and not before: a crash must not lose the request.
// Source: storage 6.1.
func (s *Disk) removeMarkers() {
	for _, name := range s.markers() {
		if err := s.FS.Remove(name); err != nil {
			s.Log.Warn("cannot remove the marker file", zap.String("file", name), zap.Error(err))
		}
	}
}
