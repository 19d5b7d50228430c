package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Destination is where a state is restored to.
type Destination struct {
	FS      vfs.FS
	SnapDir string // dataDir/version-2; made if it is missing
	LogDir  string // dataLogDir/version-2

	// Replace sets data aside that is there, under names that end with the time of Now.
	Replace bool
	// Epoch is one that is known to have been in use; 0: none is known beside those that the directories and the
	// backup show.
	Epoch int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Command is what an interrupted destination says was interrupted; "" is the constant Command.
	Command string
	// Once, if not "", is a name that the backup keeps from the moment in which the destination may hold what was
	// restored. If it has the name already, the error is ErrRestoredBefore: the destination has lost its data since.
	Once string
	// Confirm, if not nil, is called once no server can change the destination any more. After an error nothing is
	// changed.
	Confirm func() error
}

// command is the name of the command that restores, as a directory says it in which it was interrupted.
const command = "warren restore"

// Restored is what was brought back.
type Restored struct {
	Snapshot string     // of the backup, from which it began
	Zxid     proto.Zxid // last txn of the backup that is in it
	TimeMs   int64      // of it; 0 if it is the snapshot's
	Digest   int64      // of the tree there
	Compared int        // txns whose digest was compared
	Wrong    error      // why the state was taken although a digest differs, nil if none does

	First    proto.Zxid // the txn with which the new history begins, and with which all sessions have ended
	Sessions int        // that have ended
	File     string     // that was written: the tree at First
	Znodes   int        // in it
	Aside    []string   // new names of folders that were set aside
}

// ErrNotEmpty means that there is data where a state is to be restored to.
var ErrNotEmpty = errors.New("backup: the destination holds data")

// ErrRestoredBefore means that a destination without data was restored into before, and has lost what it had then.
var ErrRestoredBefore = errors.New("backup: the destination was restored into before, and has lost its data since")

// Restore rebuilds the state at the target and makes it the data of a server. The files that it needs are checked
// first, the digest of the tree is compared after every txn that carries one, and what was written is read back and
// compared again.
//
// The history begins anew, in an epoch above all that the backup, the destination and Destination.Epoch know, with a
// first txn that ends all sessions. So clients that have seen later txns of the old history are behind the new one,
// and hear that their sessions have expired. The same target and epoch make the same data for all servers of an
// ensemble.
//
// All is built beside the destination and renamed as the last step. A destination in which that was interrupted is
// marked, and Restore begins again there; see datadir.Change.
func (b *Backup) Restore(to Destination, target Target) (Restored, error) {
	if err := to.Check(); err != nil {
		return Restored{}, err
	}
	if err := b.checkLogDir(&to); err != nil {
		return Restored{}, err
	}
	if err := b.checkOnce(&to); err != nil {
		return Restored{}, err
	}
	if target.TimeMs > 0 {
		if err := b.checkClock(target.TimeMs); err != nil {
			return Restored{}, err
		}
	}
	state, err := b.reach(target)
	if err != nil {
		return Restored{}, err
	}
	if to.Now == nil {
		to.Now = time.Now
	}
	change, err := datadir.Begin(to.FS, to.SnapDir, to.LogDir)
	if err != nil {
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	to.Command = cmp.Or(to.Command, command)
	err = to.Check() // a server may have come between
	if err == nil && to.Confirm != nil {
		err = to.Confirm()
	}
	if err != nil {
		return Restored{}, change.Leave(err)
	}
	built, r, err := b.build(&to, state)
	if err == nil {
		err = b.replace(&to, change, built, &r)
	} else {
		err = change.Leave(err) // nothing has changed yet
	}
	if err != nil {
		if built != "" {
			err = errors.Join(err, datadir.Discard(to.FS, built))
		}
		return Restored{}, fmt.Errorf("backup: %w", err)
	}
	return r, nil
}

// Check refuses a destination that holds data, unless that may be set aside or an earlier restore was interrupted.
func (d *Destination) Check() error {
	err := datadir.Check(d.FS, d.SnapDir, d.LogDir)
	if unfinished, ok := errors.AsType[*datadir.Unfinished](err); ok && (d.Replace || unfinished.Command == command) {
		return nil
	}
	if err != nil || d.Replace {
		return err
	}
	for _, dir := range []string{d.SnapDir, d.LogDir} {
		names, err := d.FS.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("backup: %w", err)
		}
		if i := slices.IndexFunc(names, datadir.IsData); i >= 0 {
			return fmt.Errorf("%w: %s/%s", ErrNotEmpty, dir, names[i])
		}
	}
	return nil
}

// checkLogDir refuses a destination that seems to lack the directory of its log: the server that was backed up has
// one, in which there is data. A server would go on with that log if the epoch of the new history was in use there.
func (b *Backup) checkLogDir(d *Destination) error {
	log := b.Manifest.SourceLog
	if log == "" || d.LogDir != d.SnapDir || d.SnapDir != b.Manifest.Source {
		return nil
	}
	names, err := d.FS.List(log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup: %w", err)
	}
	if i := slices.IndexFunc(names, datadir.IsData); i >= 0 {
		return fmt.Errorf("backup: the server that was backed up from %s has its log in %s, which holds %s: "+
			"name that directory with --dataLogDir", d.SnapDir, log, names[i])
	}
	return nil
}

// Identity is the identity of every history that begins with the end of the backup. See datadir.After.
func (b *Backup) Identity() (uint64, error) {
	state, err := b.reach(Target{})
	if err != nil {
		return 0, err
	}
	history, err := datadir.After(max(b.newest().Epoch(), b.Manifest.Epoch), state.origin())
	return history.Ensemble, err
}

// newest is the last txn that anything in the backup may hold.
func (b *Backup) newest() proto.Zxid {
	newest, _ := b.Manifest.last()
	for i := range b.Manifest.Entries {
		newest = max(newest, proto.Zxid(b.Manifest.Entries[i].Exact))
	}
	return newest
}

// origin is the state as the beginning of a history.
func (r *replayed) origin() datadir.Origin {
	return datadir.Origin{Ensemble: r.ensemble, Last: r.State.LastZxid(), Digest: r.State.Digest()}
}

// build builds the folder of the snapshots beside the one that is there. built is "" if there is none on an error.
func (b *Backup) build(to *Destination, state *replayed) (built string, r Restored, err error) {
	known, err := datadir.Epoch(to.FS, to.SnapDir, to.LogDir)
	if err != nil {
		return "", r, err
	}
	history, err := datadir.After(max(known, b.newest().Epoch(), b.Manifest.Epoch, to.Epoch), state.origin())
	if err != nil {
		return "", r, err
	}
	if built, err = datadir.Build(to.FS, to.SnapDir); err == nil {
		r, err = write(to.FS, built, state, history)
	}
	return built, r, err
}

// wayOut is what an operator is to do with a destination in which replace was interrupted. It names the folders in
// which the data of before may be: a run that followed an interrupted one has set aside what that one had not, and
// what that one had built.
func wayOut(before error, suffix string) string {
	const begin, end = "run it again. To go back to the data that was here before, put ",
		" in the place of version-2, and remove this file"
	folders := "version-2" + suffix + ", where there is one,"
	if u, ok := errors.AsType[*datadir.Unfinished](before); ok {
		first, isBegin := strings.CutPrefix(u.WayOut, begin)
		first, isEnd := strings.CutSuffix(first, end)
		if isBegin && isEnd && len(first) < wayOutMax {
			folders = first + " else " + folders
		}
	}
	return begin + folders + end
}

// wayOutMax bounds the names of folders in wayOut, in bytes.
const wayOutMax = 16 << 10

// suffixAt ends the names of folders that a restore sets aside.
func suffixAt(now time.Time) string {
	return ".before-restore-" + now.UTC().Format("20060102T150405.000")
}

// GiveUp ends a restore that was interrupted, if there is one: a server begins without data there. What was left is
// set aside, under the names that are returned.
func (d *Destination) GiveUp() (aside []string, err error) {
	unfinished, ok := errors.AsType[*datadir.Unfinished](datadir.Check(d.FS, d.SnapDir, d.LogDir))
	if !ok || unfinished.Command != command {
		return nil, nil
	}
	suffix := suffixAt(time.Now())
	renamed, err := datadir.SetAside(d.FS, []string{d.SnapDir, d.LogDir}, command, suffix)
	for _, dir := range renamed {
		aside = append(aside, dir+suffix)
	}
	return aside, err
}

// checkOnce refuses a destination that was restored into before. One in which that was interrupted may go on.
func (b *Backup) checkOnce(to *Destination) error {
	if to.Once == "" {
		return nil
	}
	if len(to.Once) > onceMax || !onceName.MatchString(to.Once) {
		return fmt.Errorf("backup: %q is not 1 to %d letters, digits, dots and hyphens", to.Once, onceMax)
	}
	if _, ok := errors.AsType[*datadir.Unfinished](datadir.Check(to.FS, to.SnapDir, to.LogDir)); ok {
		return nil
	}
	noted, err := b.store.noted(oncePrefix + to.Once)
	if err == nil && noted {
		err = fmt.Errorf("%w: %s/%s%s", ErrRestoredBefore, b.store, oncePrefix, to.Once)
	}
	return err
}

// oncePrefix begins the names of the notes of Destination.Once, and onceMax bounds the rest, in bytes.
const (
	oncePrefix = "restored."
	onceMax    = 200
)

var onceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// replace puts what was built in the place of what is there.
//
// The note of Destination.Once is made while the folders are marked. So there is no moment in which the destination
// has served and the note is missing, and none in which the note keeps an interrupted restore from being run again.
func (b *Backup) replace(d *Destination, change *datadir.Change, built string, r *Restored) error {
	suffix := suffixAt(d.Now())
	before := datadir.Check(d.FS, d.SnapDir, d.LogDir)
	if err := change.Mark(d.Command, wayOut(before, suffix)); err != nil {
		return change.Abandon(err)
	}
	abandon := change.Abandon
	if d.Once != "" {
		if err := b.store.note(oncePrefix + d.Once); err != nil {
			return change.Leave(err) // the note may be there
		}
		abandon = change.Leave
	}
	aside, err := change.SetAside(suffix)
	if err == nil {
		err = change.Place(built, d.SnapDir)
	}
	if err == nil {
		err = d.FS.MkdirAll(d.LogDir)
	}
	if err != nil {
		return abandon(err)
	}
	for _, dir := range aside {
		r.Aside = append(r.Aside, dir+suffix)
	}
	return change.Finish()
}

// reach rebuilds the state at the target from the newest snapshot from which that is possible: one with which all
// digests agree, if there is one.
func (b *Backup) reach(target Target) (*replayed, error) {
	var failed error
	var lenient *Entry
	for _, e := range slices.Backward(slices.Collect(b.Manifest.of(KindSnapshot))) {
		if target.Zxid > 0 && proto.Zxid(e.Exact) > target.Zxid {
			continue
		}
		r, err := b.from(e, target)
		switch {
		case err == nil && r.wrong == nil:
			return r, nil
		case err == nil:
			lenient = cmp.Or(lenient, e)
		default:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.store, err))
		}
	}
	if lenient != nil {
		return b.from(lenient, target)
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fmt.Errorf("nothing to restore: %w: %s has no snapshot that is exact at %v", rebuild.ErrNoTarget,
		b.store, target.Zxid)
}

// from rebuilds the state at the target from one snapshot, after checking the files.
func (b *Backup) from(e *Entry, target Target) (*replayed, error) {
	if err := b.checkFiles(e, target); err != nil {
		if _, ok := errors.AsType[changedError](err); ok || errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: put back a copy of that file, or restore another backup", err)
		}
		return nil, err
	}
	r, err := b.rebuildTo(e, target)
	if err != nil {
		err = fmt.Errorf("from %s: %w", e.File, err)
	}
	return r, err
}

// checkFiles checks a snapshot, and the logs that lead from it to the target.
func (b *Backup) checkFiles(e *Entry, target Target) error {
	if err := b.checkFile(e); err != nil {
		return err
	}
	for log := range b.Manifest.of(KindLog) {
		if log.Last > e.Last && (target.Zxid == 0 || proto.Zxid(log.First) <= target.Zxid) {
			if err := b.checkFile(log); err != nil {
				return err
			}
		}
	}
	return nil
}

// rebuildTo rebuilds the state at the target from files that are whole.
func (b *Backup) rebuildTo(e *Entry, target Target) (*replayed, error) {
	r, err := b.rebuild(e, target)
	if err != nil {
		return nil, err
	}
	if last := r.State.LastZxid(); target.Zxid > 0 && last != target.Zxid {
		return nil, fmt.Errorf("nothing to restore: %w: the backup has no txn %v, the last before it is %v",
			rebuild.ErrNoTarget, target.Zxid, last)
	}
	if newest, _ := b.Manifest.last(); target == (Target{}) && r.State.LastZxid() < newest {
		return nil, fmt.Errorf("%w: the backup goes on to %v behind a gap, from here only %v is reached: name that "+
			"txn if it is to do", rebuild.ErrGap, newest, r.State.LastZxid())
	}
	if target.TimeMs > 0 && r.LastTime == 0 && !b.isBefore(e, target.TimeMs) {
		return nil, fmt.Errorf("nothing to restore: %w: no txn after %v is that old, and the snapshot may be younger",
			rebuild.ErrNoTarget, e.Last)
	}
	return r, nil
}

// isBefore reports whether the last txn of a snapshot is known to be no later than a time: a log has it, or the
// snapshot was copied before.
func (b *Backup) isBefore(e *Entry, ms int64) bool {
	known, before := false, false
	for log := range b.Manifest.of(KindLog) {
		if e.Last < log.First || e.Last > log.Last {
			continue
		}
		_, _ = b.scan(log, func(r *wal.Record) error { // a damaged file tells nothing
			if r.Zxid != proto.Zxid(e.Last) {
				return nil
			}
			var h proto.TxnHeader
			known, before = true, h.ReadFrom(r.Payload) == nil && h.Time <= ms
			return errStop
		})
	}
	return known && before || !known && e.Taken.UnixMilli() <= ms
}

// write ends the sessions of a state, writes it into an empty folder as the beginning of a history, and reads it
// back.
func write(fsys vfs.FS, dir string, r *replayed, history datadir.History) (Restored, error) {
	done := Restored{Snapshot: r.snapshot.File, Zxid: r.State.LastZxid(), TimeMs: r.LastTime, Digest: r.State.Digest(),
		Compared: r.Checked, Wrong: r.wrong, First: history.First, Sessions: r.State.EndSessions(history.First)}
	store, err := snapshot.NewStore(snapshot.Options{FS: fsys, Dir: dir,
		Ensemble: func() uint64 { return history.Ensemble }})
	if err != nil {
		return done, err
	}
	defer store.Close()
	w := r.State.NewWalker()
	defer w.Close()
	m, err := store.Write(history.First, walkerSource{w})
	if err != nil {
		return done, err
	}
	again := datatree.NewLoader(datatree.Config{})
	if _, err := store.Load(m, again); err != nil {
		return done, err
	}
	state, err := again.Done(history.First)
	if err != nil {
		return done, err
	}
	if state.Digest() != r.State.Digest() {
		return done, fmt.Errorf("%w: %s gives %d, the tree was %d", rebuild.ErrDigest, m.Name, state.Digest(),
			r.State.Digest())
	}
	done.File, done.Znodes = m.Name, state.NumNodes()
	return done, history.Write(fsys, dir)
}

// walkerSource is a walker over a state that does not change.
type walkerSource struct{ w *datatree.Walker }

// Next implements snapshot.Source.
func (s walkerSource) Next(b []byte) ([]byte, bool) { return s.w.Next(b, 1<<20) }

// End implements snapshot.Source.
func (s walkerSource) End() (proto.Zxid, int64) { return s.w.End() }
