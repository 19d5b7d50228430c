package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// savedPrefix begins the names of files that a repair has set aside. Neither we nor ZooKeeper read them.
const savedPrefix = "repair."

func newWALRepairCommand() *cobra.Command {
	var (
		dataDir  string
		after    cli.ZxidFlag
		yes      bool
		loseTxns bool
	)
	cmd := &cobra.Command{
		Use:   "repair DIR",
		Short: "Cut a damaged end off the log, and keep what was cut",
		Long: "Finds what keeps a server from starting on the log in a data directory or its version-2, and says\n" +
			"what to cut and which txns that would lose. Nothing is changed without --yes; if txns would be lost\n" +
			"that may have been acknowledged, --lose-txns is needed as well. What is cut is kept beside the log,\n" +
			"in files named repair.*, and later log files are renamed to such names. With --after ZXID everything\n" +
			"after that txn is cut, even from a log that is whole; snapshots with later txns are set aside, too.\n\n" +
			"A server of an ensemble whose other servers are healthy needs no repair: move its version-2\n" +
			"directories away, and it gets everything from the leader. ZooKeeper's TxnLogToolkit -r gives damaged\n" +
			"records a checksum that fits; this command does not: what is damaged stays damaged.\n\n" +
			"The exit code is 0 if the log is whole or was made so, and 1 otherwise.",
		Example: "  warren wal repair /var/lib/zookeeper\n" +
			"  warren wal repair /var/lib/zookeeper --yes --lose-txns",
		Args: cli.Named("name a data directory, or its version-2"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &walRepair{fs: vfs.OS(), out: cmd.OutOrStdout(), command: "warren wal repair"}
			if err := r.find(args[0], dataDir, after.Zxid, cmd.Flags().Changed("after")); err != nil {
				return err
			}
			return r.run(yes, loseTxns)
		},
	}
	cmd.Flags().StringVar(&dataDir, "dataDir", "", "where the snapshots are, if not in DIR")
	cmd.Flags().Var(&after, "after", "cut everything after this txn (default: only what is damaged)")
	cmd.Flags().BoolVar(&yes, "yes", false, "change the files")
	cmd.Flags().BoolVar(&loseTxns, "lose-txns", false, "go on even if txns are lost that may have been acknowledged")
	return cmd
}

// walRepair is what is wrong with a log, and what cutting it means.
type walRepair struct {
	fs  vfs.FS
	out io.Writer
	dir string // of the logs

	command    string   // as it stands in the mark of a directory in which it was interrupted
	unfinished bool     // there is such a mark
	folders    []string // of the logs and of the snapshots

	snapDir string
	base    proto.Zxid // of the snapshot that a server would load
	aside   []string   // snapshots that know txns after the cut

	file   string   // the file to cut, "" if there is none
	offset int64    // where
	size   int64    // of the file
	later  []string // the files after it
	last   proto.Zxid
	lost   []proto.Zxid // readable txns that are cut
	isTorn bool         // what is cut was never acknowledged
	reason string
}

// find decides what to cut.
func (r *walRepair) find(path, dataDir string, after proto.Zxid, cut bool) error {
	if info, err := r.fs.Stat(path); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is a file: name its directory, because a repair may change the files after it, too",
			path)
	}
	dir, names, err := walDir(r.fs, path)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no log files", path)
	}
	r.dir = dir
	if cut {
		r.command += fmt.Sprintf(" --after %v", after)
	}
	dataDir = cmp.Or(dataDir, dir)
	r.folders = []string{dir, dataDir}
	below := filepath.Join(dataDir, datadir.Folder)
	if info, err := r.fs.Stat(below); err == nil && info.IsDir() {
		r.folders[1] = below
	}
	err = datadir.Check(r.fs, r.folders...)
	if unfinished, ok := errors.AsType[*datadir.Unfinished](err); ok && unfinished.Command == r.command {
		r.unfinished = true
	} else if err != nil {
		return err
	}
	if cut {
		err = r.findAfter(names, after)
	} else {
		err = r.findDamage(names, dataDir)
	}
	switch {
	case err != nil || r.file == "" && !cut:
		return err
	case r.file == "":
		if err = r.findSnapshots(dataDir); len(r.aside) == 0 {
			return nil // what they are is not asked: nothing is to go
		}
		return err
	}
	if r.lost, err = r.readable(); err != nil {
		return err
	}
	if cut || !r.isTorn {
		return r.findSnapshots(dataDir)
	}
	return nil
}

// findDamage looks for what a server would refuse or cut itself.
func (r *walRepair) findDamage(names []string, dataDir string) error {
	base, err := wholeSnapshot(r.fs, dataDir)
	if err != nil {
		return err
	}
	r.base = base.zxid
	chain, err := base.chain(r.fs)
	if err != nil {
		return err
	}
	report, err := wal.Verify(wal.Options{FS: r.fs, Dir: r.dir}, r.base+1,
		func(rec *wal.Record) error { return chain.Logged(rec.Zxid) })
	if err == nil {
		err = chain.Err()
	}
	var damage *wal.Error
	switch {
	case errors.Is(err, snapshot.ErrUnlinked):
		return fmt.Errorf("%w: cutting does not repair that; %s", err, remedyUnlinked)
	case err == nil && len(report.Repairs) == 0:
		return nil
	case err == nil:
		return r.findTail(names)
	case !errors.As(err, &damage) || !errors.Is(err, wal.ErrCorrupt):
		return err
	}
	r.file, r.offset, r.reason = filepath.Base(damage.File), damage.Offset, damage.Reason
	r.last, err = r.lastBefore(names)
	return err
}

// findTail looks for the end of the records in the last file.
func (r *walRepair) findTail(names []string) error {
	name := names[len(names)-1]
	sum, err := wal.ScanLast(r.fs, filepath.Join(r.dir, name), r.base+1, func(*wal.Record) error { return nil })
	switch {
	case err != nil:
		return err
	case sum.Size < LogHeaderSize:
		r.file, r.offset, r.isTorn, r.reason = name, 0, true, "the last file has no header"
	case sum.IsTorn:
		r.file, r.offset, r.isTorn, r.reason = name, sum.End, true, "a write that did not finish"
	case sum.Records == 0:
		r.file, r.offset, r.isTorn, r.reason = name, 0, true, "the last file has no txn"
	default:
		return nil
	}
	r.last, err = r.lastBefore(names)
	return err
}

// findAfter looks for the end of the txn after.
func (r *walRepair) findAfter(names []string, after proto.Zxid) error {
	r.last, r.reason = after, fmt.Sprintf("everything after txn %v is to go", after)
	found := false
	for _, name := range names {
		sum, err := wal.Scan(r.fs, filepath.Join(r.dir, name), func(rec *wal.Record) error {
			switch {
			case rec.Zxid == after:
				found = true
			case rec.Zxid > after && r.file == "":
				r.file, r.offset = name, rec.Offset
			}
			return nil
		})
		if err != nil && r.file == "" {
			if !found {
				return err
			}
			r.file, r.offset = name, sum.End // the damage comes right behind the txn
		}
		if r.file != "" {
			break
		}
	}
	if !found {
		return fmt.Errorf("%s: this log does not contain txn %v, so nothing was changed", r.dir, after)
	}
	return nil
}

// lastBefore returns the last txn before the cut.
func (r *walRepair) lastBefore(names []string) (last proto.Zxid, err error) {
	last = r.base
	for _, name := range names {
		_, err := wal.Scan(r.fs, filepath.Join(r.dir, name), func(rec *wal.Record) error {
			if name != r.file || rec.Offset < r.offset {
				last = max(last, rec.Zxid)
			}
			return nil
		})
		switch {
		case name == r.file:
			return last, nil // an error is why we are here
		case err != nil && last > r.base:
			return 0, err // an older file is not needed, but this one is
		}
	}
	return last, nil
}

// readable notes the later files, and returns the txns at and after the cut that can still be read.
func (r *walRepair) readable() (lost []proto.Zxid, err error) {
	info, err := r.fs.Stat(filepath.Join(r.dir, r.file))
	if err != nil {
		return nil, err
	}
	r.size = info.Size()
	names, err := wal.Names(r.fs, r.dir)
	if err != nil {
		return nil, err
	}
	r.later = names[slices.Index(names, r.file)+1:]
	from := r.offset
	for _, name := range append([]string{r.file}, r.later...) {
		f, err := r.fs.Open(filepath.Join(r.dir, name))
		if err != nil {
			return nil, err
		}
		zxids, err := salvage(f, from)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		lost, from = append(lost, zxids...), 0
	}
	return lost, nil
}

// findSnapshots finds a snapshot that knows nothing after the cut, and those that do or, as they are damaged, may.
func (r *walRepair) findSnapshots(dataDir string) error {
	for _, dir := range []string{dataDir, filepath.Join(dataDir, "version-2")} {
		names, err := SnapshotNames(r.fs, dir)
		if err != nil || len(names) == 0 {
			continue
		}
		r.snapDir = dir
		for _, name := range names {
			zxid, _, _ := snapshot.ParseName(name)
			t, err := snapshot.Verify(r.fs, filepath.Join(dir, name))
			knows := max(zxid, t.DigestZxid, t.LastZxid)
			switch {
			case err == nil && knows <= r.last:
				r.base = zxid
				return r.reaches()
			case knows > r.last:
				r.aside = append(r.aside, name)
			}
		}
	}
	return fmt.Errorf(
		"there is no snapshot that knows nothing after txn %v: with all log files from the first txn on, a server "+
			"starts with snapshot.trust.empty=true; otherwise restore a backup", r.last)
}

// SnapshotNames returns the snapshots in dir, damaged or not, the newest first.
func SnapshotNames(fsys vfs.FS, dir string) ([]string, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, _, ok := snapshot.ParseName(name)
		return !ok
	})
	slices.SortStableFunc(names, func(a, b string) int {
		x, _, _ := snapshot.ParseName(a)
		y, _, _ := snapshot.ParseName(b)
		return cmp.Compare(y, x)
	})
	return names, nil
}

// reaches checks that the log is whole from the snapshot to the cut.
func (r *walRepair) reaches() error {
	chain, err := snapshot.NewChain(r.fs, r.snapDir, r.base, r.last)
	if err != nil {
		return err
	}
	_, err = wal.Verify(wal.Options{FS: r.fs, Dir: r.dir}, r.base+1, func(rec *wal.Record) error {
		if rec.Zxid > r.last {
			return errReached
		}
		return chain.Logged(rec.Zxid)
	})
	var damage *wal.Error
	if err == nil || errors.Is(err, errReached) ||
		errors.As(err, &damage) && filepath.Base(damage.File) == r.file && damage.Offset >= r.offset {
		err = chain.Err()
	}
	if err != nil {
		return fmt.Errorf("the txns from snapshot %v to %v are not complete: %w", r.base, r.last, err)
	}
	return nil
}

// errReached ends a look at the log.
var errReached = errors.New("reached")

// committed is a txn of which a member of an ensemble knows that it is committed; 0 if none is known.
func (r *walRepair) committed() proto.Zxid {
	p, err := server.ReadProvenance(r.fs, filepath.Dir(r.folders[1]), "")
	if err != nil || p.ServerID < 0 || p.Blank {
		return 0
	}
	return p.Committed()
}

// run prints the plan, and carries it out if it may.
func (r *walRepair) run(yes, loseTxns bool) error {
	if r.file == "" && len(r.aside) == 0 {
		_, err := fmt.Fprintf(r.out, "%s: nothing to repair\n", r.dir)
		if err == nil && r.unfinished && yes {
			err = r.finish()
		}
		return err
	}
	fmt.Fprintf(r.out, "%s: %s\n", filepath.Join(r.dir, r.file), r.reason)
	if r.file == "" {
		fmt.Fprintf(r.out, "nothing to cut: the log ends with txn %v\n", r.last)
	} else {
		fmt.Fprintf(r.out, "cut at offset %d, %s, and %s; the log then ends with txn %v\n", r.offset,
			wording.Count(r.size-r.offset, "byte"), wording.Count(len(r.later), "later log file"), r.last)
	}
	for _, name := range r.aside {
		fmt.Fprintf(r.out, "set aside %s, which knows later txns\n", filepath.Join(r.snapDir, name))
	}
	switch n := len(r.lost); {
	case n > 0 && r.isTorn:
		fmt.Fprintf(r.out, "lost: nothing that was acknowledged; never synced: %s behind the gap, %v to %v\n",
			wording.Count(n, "txn"), r.lost[0], r.lost[n-1])
	case n > 0:
		fmt.Fprintf(r.out, "LOST: %s that can still be read, %v to %v, and whatever is damaged\n",
			wording.Count(n, "txn"), r.lost[0], r.lost[n-1])
	case r.file == "":
		fmt.Fprintln(r.out, "LOST: what these snapshots know, which may have been acknowledged")
	case !r.isTorn:
		fmt.Fprintln(r.out, "LOST: whatever is damaged, which may have been acknowledged")
	default:
		fmt.Fprintln(r.out, "lost: nothing that was acknowledged")
	}
	if known := r.committed(); known > r.last {
		fmt.Fprintf(r.out, "a member of an ensemble does not start from what is left, because its meta.db knows of "+
			"txn %v: begin a new history with it, by warren backup create BACKUP DATA_DIR, and then by "+
			"warren restore BACKUP DATA_DIR --force on every server\n", known)
	}
	switch {
	case !yes:
		return errors.New("nothing was changed: repeat with --yes, and with --lose-txns if txns are lost")
	case !r.isTorn && !loseTxns:
		return errors.New("nothing was changed: txns that may have been acknowledged would be lost; " +
			"--lose-txns permits it")
	}
	return r.cut()
}
