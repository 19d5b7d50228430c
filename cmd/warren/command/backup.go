package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/wal/vfs"
)

func newBackupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy the state of a server while it serves",
		Long: "A backup is a directory with snapshots, txns since, and a manifest with checksums. The first run copies a snapshot and\n" +
			"the log after it, every later run only the txns since the one before. `warren restore` brings any moment of it back.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBackupCreateCommand(), newBackupListCommand(), newBackupVerifyCommand())
	return cmd
}

// backupOptions are the flags of warren backup create.
type backupOptions struct {
	output     string
	config     string
	dataLogDir string
	admin      string
	authFile   string
	full       bool
	limit      zxidFlag
	timeout    time.Duration
}

func newBackupCreateCommand() *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "create BACKUP [DATA_DIR]",
		Short: "Begin a backup, or add what is new to it",
		Long: "Copies what is new from the data directory DATA_DIR, or that of --config, into the directory BACKUP. The server may be\n" +
			"running, ours or ZooKeeper's. If its log no longer reaches back to the end of the backup, a snapshot is added. In an\n" +
			"ensemble, the end of a server's log may hold txns that are not committed: --until leaves out those after a zxid, such\n" +
			"as the one that `srvr` of the leader shows.\n\n" +
			"With --admin the snapshot comes from the admin server (http://host:8080/commands), which may be far away; without the log\n" +
			"it is exact only if nobody writes meanwhile, and a warning says if it is not.",
		Example: "  warren backup create /backup/zk /var/lib/zookeeper\n" +
			"  warren backup create /backup/zk --config /etc/zookeeper/conf/zoo.cfg\n" +
			"  warren backup create /backup/zk --admin http://zk1:8080/commands --auth-file super.txt",
		Args: func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.output, "output", "simple", "simple: text; json: one object")
	flags.StringVar(&o.config, "config", "", "zoo.cfg that names the data directories")
	flags.StringVar(&o.dataLogDir, "dataLogDir", "", "where the log is, if not in DATA_DIR")
	flags.StringVar(&o.admin, "admin", "", "URL of the commands of an admin server, instead of a data directory")
	flags.StringVar(&o.authFile, "auth-file", "", "file with the header Authorization for --admin, such as: digest super:password")
	flags.BoolVar(&o.full, "full", false, "add a snapshot even if the log is enough")
	flags.Var(&o.limit, "until", "leave out txns after this one")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long an admin server may take")
	return cmd
}

func (o *backupOptions) check(cmd *cobra.Command, args []string) error {
	sources := 0
	for _, given := range []bool{len(args) > 1, o.config != "", o.admin != ""} {
		if given {
			sources++
		}
	}
	switch {
	case len(args) == 0:
		return &usageError{cmd, errors.New("which backup directory?")}
	case len(args) > 2:
		return &usageError{cmd, fmt.Errorf("unexpected argument %q", args[2])}
	case sources != 1:
		return &usageError{cmd, errors.New("one of DATA_DIR, --config and --admin says what to copy")}
	}
	return checkOutput(cmd, o.output)
}

func (o *backupOptions) run(cmd *cobra.Command, args []string) error {
	b, err := backup.Open(vfs.OS(), args[0])
	if err != nil {
		return err
	}
	var out backup.Outcome
	if o.admin != "" {
		out, err = o.fetch(cmd, b)
	} else {
		var src backup.Source
		if src, err = o.source(args); err == nil {
			out, err = b.Add(src, backup.Options{Full: o.full, Limit: o.limit.zxid})
		}
	}
	if err != nil {
		return err
	}
	for _, w := range out.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+w)
	}
	return o.print(cmd.OutOrStdout(), args[0], out)
}

// source returns the directories to copy from.
func (o *backupOptions) source(args []string) (backup.Source, error) {
	var dataDir, dataLogDir string
	if o.config != "" {
		cfg, _, err := config.Load(o.config, nil, os.Environ())
		if err != nil {
			return backup.Source{}, err
		}
		dataDir, dataLogDir = cfg.DataDir, cfg.DataLogDir
	} else {
		dataDir, dataLogDir = args[1], args[1]
	}
	if o.dataLogDir != "" {
		dataLogDir = o.dataLogDir
	}
	return backup.Source{FS: vfs.OS(), SnapDir: formatDir(dataDir), LogDir: formatDir(dataLogDir)}, nil
}

// formatDir returns the folder of a data directory that holds the files: version-2, or the directory if that is it.
func formatDir(dir string) string {
	if filepath.Base(filepath.Clean(dir)) == "version-2" {
		return dir
	}
	return filepath.Join(dir, "version-2")
}

func (o *backupOptions) fetch(cmd *cobra.Command, b *backup.Backup) (backup.Outcome, error) {
	remote := backup.Remote{URL: o.admin}
	if o.authFile != "" {
		text, err := os.ReadFile(o.authFile)
		if err != nil {
			return backup.Outcome{}, err
		}
		remote.Authorization = strings.TrimSpace(string(text))
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	return b.AddRemote(ctx, remote, nil)
}

func (o *backupOptions) print(w io.Writer, dir string, out backup.Outcome) error {
	if o.output == "json" {
		added := out.Added
		if added == nil {
			added = []backup.Entry{}
		}
		return json.NewEncoder(w).Encode(map[string]any{"backup": dir, "added": added, "last": out.Last.String(), "warnings": out.Warnings})
	}
	for i := range out.Added {
		printEntry(w, &out.Added[i])
	}
	_, err := fmt.Fprintf(w, "%s ends with txn %v\n", dir, out.Last)
	return err
}

func printEntry(w io.Writer, e *backup.Entry) {
	switch {
	case e.Kind == backup.KindLog:
		fmt.Fprintf(w, "%s: %d txns, %v to %v, %s to %s, %d bytes\n", e.File, e.Txns, e.First, e.Last, clock(e.FirstTime), clock(e.LastTime), e.Bytes)
	case e.Exact > e.Last:
		fmt.Fprintf(w, "%s: snapshot, exact from %v on, %d bytes\n", e.File, e.Exact, e.Bytes)
	default:
		fmt.Fprintf(w, "%s: snapshot, %d bytes\n", e.File, e.Bytes)
	}
}

func newBackupListCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list BACKUP",
		Short: "Print what a backup holds, without reading its files",
		Args:  func(cmd *cobra.Command, args []string) error { return checkFileArgument(cmd, args, output) },
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := openBackup(args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b.Manifest)
			}
			for i := range b.Manifest.Entries {
				printEntry(cmd.OutOrStdout(), &b.Manifest.Entries[i])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "simple", "simple: text; json: the manifest")
	return cmd
}

// openBackup opens a backup that exists.
func openBackup(dir string) (*backup.Backup, error) {
	b, err := backup.Open(vfs.OS(), dir)
	if err == nil && len(b.Manifest.Entries) == 0 {
		err = fmt.Errorf("%s is no backup: it has no manifest.json, or that is empty", dir)
	}
	return b, err
}

func newBackupVerifyCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "verify BACKUP",
		Short: "Read a backup completely and rebuild the tree from it",
		Long: "Checks the checksum of every file, rebuilds the tree from every snapshot through every txn, and compares its digest with\n" +
			"the one in each txn. Prints the moments that can be restored. The exit code is 1 if anything is damaged or missing.",
		Args: func(cmd *cobra.Command, args []string) error { return checkFileArgument(cmd, args, output) },
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := openBackup(args[0])
			if err != nil {
				return err
			}
			v := b.Verify()
			if err := printVerdict(cmd.OutOrStdout(), output, v); err != nil {
				return err
			}
			if n := len(v.Problems); n > 0 {
				return fmt.Errorf("%s: the backup has %d problems", args[0], n)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "simple", "simple: text; json: one object")
	return cmd
}

func printVerdict(w io.Writer, output string, v backup.Verdict) error {
	if output == "json" {
		ranges, problems := []map[string]any{}, []string{}
		for _, r := range v.Ranges {
			ranges = append(ranges, map[string]any{"snapshot": r.Snapshot, "from": r.From.String(), "to": r.To.String(), "toTimeMs": r.ToTime,
				"znodes": r.Znodes, "digest": r.Digest, "digestsCompared": r.Compared})
		}
		for _, p := range v.Problems {
			problems = append(problems, p.Error())
		}
		return json.NewEncoder(w).Encode(map[string]any{"ok": len(problems) == 0, "ranges": ranges, "problems": problems})
	}
	for _, r := range v.Ranges {
		fmt.Fprintf(w, "from %s: txns %v to %v", r.Snapshot, r.From, r.To)
		if r.ToTime > 0 {
			fmt.Fprintf(w, " of %s", clock(r.ToTime))
		}
		fmt.Fprintf(w, ", %d znodes, digest %d, %d digests compared\n", r.Znodes, r.Digest, r.Compared)
	}
	for _, p := range v.Problems {
		fmt.Fprintf(w, "PROBLEM: %v\n", p)
	}
	if len(v.Problems) == 0 {
		_, err := fmt.Fprintln(w, "ok")
		return err
	}
	return nil
}
