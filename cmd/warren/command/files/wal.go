package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

func newWALCommand() *cobra.Command {
	return cli.WithCommands(&cobra.Command{
		Use:   "wal",
		Short: "Inspect and repair transaction logs, Warren's and ZooKeeper's",
		Long: "These commands read the files log.* of a data directory; only repair changes them. You may use\n" +
			"the others while a server runs: they see what it has written to its last file so far, which may\n" +
			"end in the middle of a txn.",
	}, newWALDumpCommand(), newWALVerifyCommand(), newWALRepairCommand())
}

// missingLog is said to who names none.
const missingLog = "name a log file, or a directory that has some"

func newWALDumpCommand() *cobra.Command {
	var output string
	from, to := cli.ZxidFlag{}, cli.ZxidFlag{Zxid: math.MaxInt64}
	cmd := &cobra.Command{
		Use:   "dump FILE|DIR",
		Short: "Print every txn, one per line",
		Long: "Prints the txns of a log file, or of every one in a data directory or its version-2, one per line.\n" +
			"The exit code is 1 if a file is damaged; what can be read before the damage is printed. A torn " +
			"tail,\n" +
			"which a crash leaves behind and a server cuts off when it starts, is not damage: it is reported on\n" +
			"standard error.",
		Example: "  warren wal dump /var/lib/zookeeper --from 0x100000000\n" +
			"  warren wal dump /var/lib/zookeeper/version-2/log.100000001 --output json",
		Args: cli.Named(missingLog),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := walFiles(vfs.OS(), args[0])
			if err != nil {
				return err
			}
			p := newTxnPrinter(cmd.OutOrStdout(), output)
			for _, file := range files {
				p.begin()
				sum, err := scanLog(vfs.OS(), file, func(r *wal.Record) error {
					if r.Zxid < from.Zxid || r.Zxid > to.Zxid {
						return nil
					}
					return p.print(r)
				})
				if err != nil {
					return errors.Join(err, p.flush())
				}
				if sum.IsTorn {
					fmt.Fprintf(cmd.ErrOrStderr(),
						"warren: %s: torn tail at offset %d after txn %v, will be cut at start\n",
						file, sum.End, sum.Last)
				}
				if sum.Repeated > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "warren: %s: %d of the records repeat a txn and do not count\n",
						file, sum.Repeated)
				}
				p.end()
			}
			return p.flush()
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple",
		"simple: text; json: one object a line; toolkit: as ZooKeeper's TxnLogToolkit", "toolkit")
	cmd.Flags().Var(&from, "from", "first txn to print (default: the oldest)")
	cmd.Flags().Var(&to, "to", "last txn to print (default: the newest)")
	cmd.Flags().Lookup("to").DefValue = "" // its usage says it
	return cmd
}

// scanLog reads one file of a log as a server does: of the last file in its directory, the rest of a write that was
// never synced is a torn tail, and damage in any other.
func scanLog(fsys vfs.FS, file string, fn func(*wal.Record) error) (wal.FileSummary, error) {
	dir := filepath.Dir(file)
	names, err := wal.Names(fsys, dir)
	if err != nil || len(names) == 0 || names[len(names)-1] != filepath.Base(file) {
		return wal.Scan(fsys, file, fn) // also one whose name is no log's
	}
	from := proto.Zxid(1)
	if list, err := snapshot.List(fsys, dir); err != nil {
		return wal.FileSummary{}, err
	} else if len(list) > 0 {
		from = list[0].Zxid + 1
	}
	return wal.ScanLast(fsys, file, from, fn)
}

// walDir returns the directory that holds the logs of a data directory: dir or its version-2.
func walDir(fsys vfs.FS, dir string) (string, []string, error) {
	names, err := wal.Names(fsys, dir)
	if err != nil || len(names) > 0 {
		return dir, names, err
	}
	sub := filepath.Join(dir, "version-2")
	names, err = wal.Names(fsys, sub)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil, nil
	}
	return sub, names, err
}

// walFiles returns path itself, or the log files in it.
func walFiles(fsys vfs.FS, path string) ([]string, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	dir, names, err := walDir(fsys, path)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no log files", path)
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, nil
}

func newWALVerifyCommand() *cobra.Command {
	var output, dataDir string
	var from cli.ZxidFlag
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check the log as a server does when it starts",
		Long: "Checks the log in a data directory or its version-2 as a server does when it starts from its\n" +
			"newest intact snapshot, and then the older files, which a server needs only if that snapshot\n" +
			"can't be loaded. If newer snapshots are damaged, the log must reach beyond them. Nothing is\n" +
			"changed. What a server does by itself is listed: it cuts off a torn tail, the rest of a write\n" +
			"that a crash ended before it was acknowledged to a client. Txns that a ZooKeeper server has\n" +
			"logged a second time don't count.\n\n" +
			"Exit codes: 0 the log is whole, or has a torn tail; 1 a server would refuse to start, or a file\n" +
			"is damaged.",
		Example: "  warren wal verify /var/lib/zookeeper\n" +
			"  warren wal verify /var/log/zookeeper --dataDir /var/lib/zookeeper",
		Args: cli.Named(missingLog),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := vfs.OS().Stat(args[0]); err != nil {
				return err
			}
			dir, names, err := walDir(vfs.OS(), args[0])
			if err != nil {
				return err
			}
			v := walVerdict{fs: vfs.OS(), Dir: dir, Snapshot: "none"}
			dataDir = cmp.Or(dataDir, dir)
			base, err := wholeSnapshot(v.fs, dataDir)
			if err != nil {
				return err
			}
			if base.found {
				v.Snapshot = base.zxid.String()
			}
			if cmd.Flags().Changed("from") {
				base.zxid = from.Zxid - 1
			}
			if err := v.verify(names, base); err != nil {
				return err
			}
			if err := v.print(cmd.OutOrStdout(), output); err != nil {
				return err
			}
			if n := len(v.Problems); n > 0 {
				return fmt.Errorf("%s: the log has %s", dir, wording.Count(n, "problem"))
			}
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", "simple: text; json: one object")
	cmd.Flags().StringVar(&dataDir, "dataDir", "", "where the snapshots are, if not in DIR")
	cmd.Flags().Var(&from, "from", "first txn that is needed, instead of the one after the newest snapshot")
	return cmd
}

// walVerdict is the outcome of verify.
type walVerdict struct {
	fs       vfs.FS
	Dir      string        `json:"dir"`
	Snapshot string        `json:"snapshot"` // zxid or "none"
	Files    []walFileLine `json:"files"`
	First    string        `json:"first,omitempty"` // of the txns that a server would replay
	Last     string        `json:"last"`
	Replayed int           `json:"replayed"`
	Repairs  []string      `json:"repairs"`
	Repeated []string      `json:"repeated"` // files that ZooKeeper has logged txns in a second time
	Problems []walProblem  `json:"problems"`
}

type walFileLine struct {
	Name    string `json:"name"`
	Records int    `json:"txns"`
	First   string `json:"first"`
	Last    string `json:"last"`
	Size    int64  `json:"size"`
	Padding int64  `json:"padding"`
}

type walProblem struct {
	File   string `json:"file,omitempty"`
	Offset int64  `json:"offset"`
	Zxid   string `json:"zxid,omitempty"`
	Error  string `json:"error"`
	Remedy string `json:"remedy,omitempty"`
	Needed bool   `json:"needed"` // a server needs the file to start
}

// snapshotBase is the snapshot that a server would load.
type snapshotBase struct {
	dir   string // where the snapshots are, "" if there are none
	zxid  proto.Zxid
	found bool
}

// wholeSnapshot returns the newest snapshot in dir or its version-2 that is whole.
func wholeSnapshot(fsys vfs.FS, dir string) (base snapshotBase, err error) {
	for _, d := range []string{dir, filepath.Join(dir, "version-2")} {
		list, err := snapshot.List(fsys, d)
		if errors.Is(err, fs.ErrNotExist) && d != dir {
			break
		}
		if err != nil {
			return base, err
		}
		for _, m := range list {
			base.dir = d
			if _, err := snapshot.Verify(fsys, filepath.Join(d, m.Name)); err == nil {
				base.zxid, base.found = m.Zxid, true
				return base, nil
			}
		}
		if base.dir != "" {
			break
		}
	}
	return base, nil
}

// chain checks that a log leads from the snapshot to the newer ones, which are damaged.
func (b snapshotBase) chain(fsys vfs.FS) (*snapshot.Chain, error) {
	if b.dir == "" {
		return &snapshot.Chain{}, nil
	}
	return snapshot.NewChain(fsys, b.dir, b.zxid, 0)
}

// verify checks what a server reads, and then each of the other files alone.
func (v *walVerdict) verify(names []string, base snapshotBase) error {
	needed := wal.Needed(names, base.zxid+1)
	chain, err := base.chain(v.fs)
	if err != nil {
		return err
	}
	report, err := wal.Verify(wal.Options{FS: v.fs, Dir: v.Dir}, base.zxid+1,
		func(r *wal.Record) error { return chain.Logged(r.Zxid) })
	v.Replayed, v.Last = report.Records, report.Last.String()
	v.Repairs, v.Repeated = report.Repairs, report.Repeated
	if report.Records > 0 {
		v.First = report.First.String()
	}
	if err == nil {
		err = chain.Err()
	}
	if err != nil {
		v.problem(err, true)
	}
	for i, name := range names {
		path := filepath.Join(v.Dir, name)
		isNeeded := i >= len(names)-len(needed)
		sum, err := scanLog(v.fs, path, func(*wal.Record) error { return nil })
		v.Files = append(v.Files,
			walFileLine{name, sum.Records, sum.First.String(), sum.Last.String(), sum.Size, sum.Size - sum.End})
		if err != nil && !isNeeded {
			v.problem(err, false)
		}
	}
	return nil
}

// remedyUnlinked is what to do if the log does not lead to a damaged snapshot.
const remedyUnlinked = "put the missing log files or a copy of the snapshot back; or, if other servers of the " +
	"ensemble are healthy, move the version-2 directories of this server away and let it synchronize; " +
	"or restore a backup"

func (v *walVerdict) problem(err error, needed bool) {
	p := walProblem{Error: wording.Text(err), Needed: needed}
	if errors.Is(err, snapshot.ErrUnlinked) {
		p.Remedy = remedyUnlinked
	}
	if e, ok := errors.AsType[*wal.Error](err); ok {
		p = walProblem{File: e.File, Offset: e.Offset, Zxid: e.Zxid.String(), Error: e.Kind.Error() + ": " + e.Reason,
			Remedy: e.Remedy(), Needed: needed}
	}
	if !slices.Contains(v.Problems, p) {
		v.Problems = append(v.Problems, p)
	}
}
