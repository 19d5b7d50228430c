package files

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

func newSnapshotCommand() *cobra.Command {
	return cli.WithCommands(&cobra.Command{
		Use:   "snapshot",
		Short: "Inspect snapshot files, Warren's and ZooKeeper's",
		Long: "These commands read snapshot files, compressed ones too, and change nothing; a server may be\n" +
			"running. If a file is damaged, they print what can be read of it, and the exit code is 1.",
	}, newSnapshotDumpCommand(), newSnapshotGetCommand(), newSnapshotSummaryCommand(),
		newSnapshotTreeCommand(), newSnapshotCompareCommand(), newSnapshotVerifyCommand())
}

// load reads a snapshot file. Its errors say what to do.
func load(file string, sink snapshot.Sink) (snapshot.Trailer, error) {
	const instead = "name a file snapshot.* of a version-2 directory"
	if info, err := vfs.OS().Stat(file); err == nil && info.IsDir() {
		return snapshot.Trailer{}, fmt.Errorf("%s is a directory: %s", file, instead)
	}
	trailer, err := snapshot.Load(vfs.OS(), file, sink)
	if at, ok := errors.AsType[*snapshot.CorruptError](err); ok && at.Offset == 0 {
		err = fmt.Errorf("%w; %s; if it is one, nothing in it can be read: a server puts such a file aside, and "+
			"starts with an older one and the log", err, instead)
	}
	return trailer, err
}

// missingFile is said to who names none.
const missingFile = "name a snapshot file"

// outputUsage is what most of the commands print.
const outputUsage = "simple: text; json: one object a line"

func newSnapshotDumpCommand() *cobra.Command {
	var output string
	var withData bool
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print every session, ACL and znode",
		Long: "Prints a snapshot file as it is read: a line for each session, each ACL and each znode with its\n" +
			"Stat and the length of its data, and the data itself with --data. The exit code is 1 if the file\n" +
			"is damaged.",
		Example: "  warren snapshot dump /var/lib/zookeeper/version-2/snapshot.100000012\n" +
			"  warren snapshot dump snapshot.100000012 --data --output json | jq .path",
		Args: cli.Arguments(1, 1, missingFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "toolkit" || output == "ncdu" {
				return PrintSnapshotAs(cmd.OutOrStdout(), output, args[0], withData)
			}
			p := newRecordPrinter(cmd.OutOrStdout(), output, withData)
			trailer, err := load(args[0], p)
			if err == nil {
				err = p.line(trailerFields(trailer), "%s", trailerText(trailer))
			}
			return errors.Join(err, p.flush())
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", outputUsage+"; toolkit: as ZooKeeper's zkSnapShotToolkit; ncdu: "+
		"as that with -json, for ncdu", "toolkit", "ncdu")
	cmd.Flags().BoolVar(&withData, "data", false, "print the znodes' data, not only its length")
	return cmd
}

// PrintSnapshotAs prints a snapshot in a format of ZooKeeper's tools, toolkit or ncdu.
func PrintSnapshotAs(w io.Writer, format, file string, withData bool) error {
	if format == "toolkit" {
		return printToolkitDump(w, file, withData)
	}
	tree, err := LoadTree(file)
	if err != nil {
		return err
	}
	return tree.printNcdu(w)
}

func newSnapshotGetCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "get FILE PATH",
		Short:   "Print data, Stat and ACL of one znode",
		Long:    "Prints data, Stat and ACL of one znode. The exit code is 1 if it doesn't exist.",
		Example: "  warren snapshot get /var/lib/zookeeper/version-2/snapshot.100000012 /app/settings",
		Args:    cli.Arguments(2, 2, missingFile+" and the path of a znode"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := newZnodeFinder(args[1])
			if _, err := load(args[0], f); err != nil {
				return err
			}
			if f.found == nil {
				return fmt.Errorf("%s: no znode %s", args[0], args[1])
			}
			p := newRecordPrinter(cmd.OutOrStdout(), output, true)
			return errors.Join(p.znode(f.found), p.flush())
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", outputUsage)
	return cmd
}

func newSnapshotSummaryCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "summary FILE",
		Short: "Count znodes and bytes below each top-level path",
		Long: "Prints, for each znode below /, how many znodes it and its subtree have, the bytes of their\n" +
			"paths and data, the ephemerals among them and the largest one; the largest subtree comes first.",
		Example: "  warren snapshot summary /var/lib/zookeeper/version-2/snapshot.100000012",
		Args:    cli.Arguments(1, 1, missingFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := newSummary()
			if _, err := load(args[0], s); err != nil {
				return err
			}
			return s.print(cmd.OutOrStdout(), output)
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", outputUsage)
	return cmd
}

func newSnapshotTreeCommand() *cobra.Command {
	var depth int
	cmd := &cobra.Command{
		Use:   "tree FILE [PATH]",
		Short: "Count znodes and bytes at and below each znode",
		Long: "Prints, for PATH and every znode down to a depth, how many znodes are below it and how many bytes " +
			"of\ndata are at and below it, as ZooKeeper's zkSnapshotRecursiveSummaryToolkit does.",
		Example: "  warren snapshot tree snapshot.100000012 /app --depth 3",
		Args:    cli.Arguments(1, 2, missingFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := LoadTree(args[0])
			if err != nil {
				return err
			}
			path := "/"
			if len(args) == 2 {
				path = args[1]
			}
			return tree.PrintRecursive(cmd.OutOrStdout(), path, depth)
		},
	}
	cmd.Flags().IntVar(&depth, "depth", 2, "levels below PATH")
	return cmd
}

func newSnapshotVerifyCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "verify FILE|DIR",
		Short: "Check a snapshot, or every one in a data directory",
		Long: "Reads a snapshot completely, or every one in a data directory or its version-2: its format, its\n" +
			"seals, and that every znode comes after its parent. The exit code is 1 if one is damaged or there " +
			"is\nnone.",
		Example: "  warren snapshot verify /var/lib/zookeeper\n" +
			"  warren snapshot verify /var/lib/zookeeper/version-2/snapshot.100000012",
		Args: cli.Arguments(1, 1, missingFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := snapshotFiles(vfs.OS(), args[0])
			if err != nil {
				return err
			}
			p := newRecordPrinter(cmd.OutOrStdout(), output, false)
			damaged := 0
			for _, file := range files {
				trailer, err := snapshot.Verify(vfs.OS(), file)
				if err != nil {
					damaged++
				}
				if err := errors.Join(p.verdict(file, trailer, err), p.flush()); err != nil {
					return err
				}
			}
			if damaged > 0 {
				return fmt.Errorf("damaged: %d of %s", damaged, wording.Count(len(files), "snapshot"))
			}
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", outputUsage)
	return cmd
}

// snapshotFiles returns path itself, or the snapshots in it, whatever state they are in.
func snapshotFiles(fs vfs.FS, path string) ([]string, error) {
	info, err := fs.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	for _, dir := range []string{path, filepath.Join(path, "version-2")} {
		names, err := fs.List(dir)
		if err != nil {
			continue // the version-2 of a directory that is none
		}
		var files []string
		for _, name := range names {
			if _, _, ok := snapshot.ParseName(name); ok {
				files = append(files, filepath.Join(dir, name))
			}
		}
		if len(files) > 0 {
			return files, nil
		}
	}
	return nil, fmt.Errorf("%w %s", snapshot.ErrNone, path)
}
