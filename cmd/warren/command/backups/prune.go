package backups

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/wal/vfs"
)

// retention are the flags that say what stays in a backup.
type retention backup.Retention

func (r *retention) addTo(flags *pflag.FlagSet) {
	flags.IntVar(&r.Count, "keep", 0, "keep this many of the newest snapshots, and remove what is older")
	flags.DurationVar(&r.Age, "keep-for", 0,
		"keep what is needed to restore any moment this far back; with --keep, what either keeps")
}

func (r *retention) check(cmd *cobra.Command) error {
	switch {
	case r.Count < 0:
		return cli.Misuse(cmd, fmt.Errorf("--keep %d: it must be at least 0", r.Count))
	case r.Age < 0:
		return cli.Misuse(cmd, fmt.Errorf("--keep-for %v: it must be at least 0", r.Age))
	}
	return nil
}

func (r *retention) given() bool { return r.Count > 0 || r.Age > 0 }

func newBackupPruneCommand() *cobra.Command {
	var o struct {
		backupStore
		retention
		strays bool
		output string
	}
	cmd := &cobra.Command{
		Use:   "prune BACKUP",
		Short: "Remove the oldest snapshots of a backup, and the txns before them",
		Long: "Removes the snapshots that neither --keep nor --keep-for keeps, and the txns that no longer lead to\n" +
			"a snapshot. The newest snapshot always stays. Before anything is removed, the tree is rebuilt from " +
			"a\nsnapshot that stays; without a key, checksums are compared.\n\n" +
			"Files that the manifest does not name are only reported: an interrupted run leaves some behind, and\n" +
			"a lost manifest leaves all of them. --strays removes them; in a bucket, only those that are older\n" +
			"than a day.",
		Example: "  warren backup prune s3://backups/zk --keep 7 --keep-for 720h",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cli.Named(missingBackup)(cmd, args); err != nil {
				return err
			}
			if !o.retention.given() && !o.strays {
				return cli.Misuse(cmd, errors.New("say what to keep: --keep, --keep-for or both"))
			}
			return o.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			b, done, err := o.openFull(cmd, args[0])
			if err != nil {
				return err
			}
			defer done()
			removed, strays, err := prune(b, &o.retention, o.strays)
			if err != nil {
				return err
			}
			return printPruned(cmd.OutOrStdout(), o.output, removed, strays)
		},
	}
	o.backupStore.addTo(cmd.Flags(), false)
	o.retention.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&o.strays, "strays", false, "remove files that the manifest does not name")
	cli.AddOutput(cmd.Flags(), &o.output, "simple", "simple: text; json: one object")
	return cmd
}

// prune removes what the rules do not keep. It returns the names of the files that were removed, and the strays that
// are left.
func prune(b *backup.Backup, rules *retention, strays bool) (removed []string, left []backup.Stored, err error) {
	if rules.given() {
		done, err := b.Prune(backup.Retention(*rules))
		if err != nil {
			return nil, nil, err
		}
		removed, left = fileNames(done.Removed), done.Strays
	}
	if strays {
		gone, err := b.RemoveStrays()
		if err != nil {
			return nil, nil, err
		}
		for _, s := range gone {
			removed = append(removed, s.Name)
			left = slices.DeleteFunc(left, func(l backup.Stored) bool { return l.Name == s.Name })
		}
	}
	return removed, left, nil
}

func printPruned(w io.Writer, output string, removed []string, strays []backup.Stored) error {
	if output == "json" {
		names := []string{}
		for _, s := range strays {
			names = append(names, s.Name)
		}
		return json.NewEncoder(w).Encode(map[string]any{"removed": removed, "strays": names})
	}
	for _, name := range removed {
		fmt.Fprintln(w, "removed "+name)
	}
	var size int64
	for _, s := range strays {
		size += s.Bytes
	}
	if len(strays) > 0 {
		fmt.Fprintf(w, "not in the manifest: %s of %d bytes; --strays removes them\n",
			wording.Count(len(strays), "file"), size)
	}
	return cli.Printf(w, "removed: %s\n", wording.Count(len(removed), "file"))
}

// fileNames returns the names of the files of entries, in an array that is not nil.
func fileNames(entries []backup.Entry) []string {
	names := []string{}
	for i := range entries {
		names = append(names, entries[i].File)
	}
	return names
}

// backupMetrics are the figures of a run that has succeeded, in Prometheus's text format. A run that fails writes
// none, so that an alert on the age of the last success covers every reason.
func backupMetrics(m *backup.Manifest, out backup.Outcome, began, ended time.Time) []byte {
	var total, added int64
	for i := range m.Entries {
		total += m.Entries[i].Bytes
	}
	for i := range out.Added {
		added += out.Added[i].Bytes
	}
	var b []byte
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"last_success_timestamp_seconds", "When the last backup that succeeded ended, in seconds since 1970.",
			float64(ended.UnixMilli()) / 1000},
		{"duration_seconds", "How long it took.", ended.Sub(began).Seconds()},
		{"added_bytes", "Size of the files that it added, before encryption.", float64(added)},
		{"bytes", "Size of all files of the backup, before encryption.", float64(total)},
		{"files", "Number of files of the backup.", float64(len(m.Entries))},
		{"last_zxid", "Last txn of the backup.", float64(out.Last)},
	} {
		name := "warren_backup_" + g.name
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s gauge\n%s %s\n", name, g.help, name, name,
			strconv.FormatFloat(g.value, 'f', -1, 64))
	}
	return b
}

// writeMetrics replaces a file, and adds to what is not to be replaced, such as /dev/stdout. A new file may be read by
// everybody: the node exporter is another user.
func writeMetrics(file string, text []byte) error {
	file, ok := shell.Replaceable(file)
	flags := os.O_WRONLY | os.O_CREATE
	if !ok {
		flags = os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(file, flags, 0o644)
	if err != nil {
		return err
	}
	if !ok {
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Close(), vfs.WriteFile(vfs.OS(), file, text))
}
