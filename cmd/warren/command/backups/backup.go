package backups

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

func newBackupCommand() *cobra.Command {
	return cli.WithCommands(&cobra.Command{
		Use:   "backup",
		Short: "Back up a running server, and check, list and prune backups",
		Long: "A backup consists of snapshots, the txns after them, and a manifest with checksums. The first\n" +
			"run copies a snapshot and the log after it; every later run copies only the txns since the run\n" +
			"before. `warren restore` brings back any moment that the backup covers.\n\n" +
			"A backup is a folder, or s3://BUCKET/PREFIX in any store that speaks S3. Credentials come from\n" +
			"the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), from the profile\n" +
			"AWS_PROFILE in ~/.aws, or from the role of the machine or of the service account.",
	}, newBackupCreateCommand(), newBackupListCommand(), newBackupVerifyCommand(), newBackupPruneCommand())
}

// backupOptions are the flags of warren backup create.
type backupOptions struct {
	backupStore
	retention
	reach.ClientTLS
	output     string
	config     string
	dataLogDir string
	admin      string
	authFile   string
	full       bool
	fullEvery  time.Duration
	limit      cli.ZxidFlag
	committed  string
	metrics    string
	timeout    time.Duration
}

func newBackupCreateCommand() *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "create BACKUP [DATA_DIR]",
		Short: "Start a backup, or add what is new to it",
		Long: "Copies what is new from the data directory DATA_DIR, or from the one in the zoo.cfg of --config,\n" +
			"into BACKUP, a folder or s3://BUCKET/PREFIX. The server, Warren's or ZooKeeper's, may be\n" +
			"running. If its log no longer reaches back to the end of the backup, a snapshot is added. In an\n" +
			"ensemble, the end of a server's log may hold txns that are not committed: --committed leaves out\n" +
			"those that the server has not applied yet, and --until those after a zxid.\n\n" +
			"What is stored in a bucket is read back and compared. If a run fails, the backup stays as it\n" +
			"was. With --keep or --keep-for, a run ends by pruning, as `warren backup prune` does.\n\n" +
			"With --admin, a snapshot is fetched from the admin server (http://host:8080/commands), which may\n" +
			"be on another machine. It comes without the log, so it is exact only if no client writes in the\n" +
			"meantime; a warning says if it isn't.",
		Example: "  warren backup create /backup/zk /var/lib/zookeeper\n" +
			"  warren backup create /backup/zk --config /etc/zookeeper/conf/zoo.cfg\n" +
			"  warren backup create /backup/zk --admin http://zk1:8080/commands --auth-file super.txt\n" +
			"  warren backup create s3://backups/zk --config zoo.cfg --committed 127.0.0.1:2181 " +
			"--full-every 24h --keep-for 720h",
		Args: func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := cmd.Flags()
	cli.AddOutput(flags, &o.output, "simple", "simple: text; json: one object")
	flags.StringVar(&o.config, "config", "", "zoo.cfg that names the data directories")
	flags.StringVar(&o.dataLogDir, "dataLogDir", "", "where the log is, if not in DATA_DIR")
	flags.StringVar(&o.admin, "admin", "",
		"host:port of an admin server, or the URL of its commands, instead of a data directory")
	reach.AddAuthFile(cmd, &o.authFile)
	flags.BoolVar(&o.full, "full", false, "add a snapshot even if the log would do")
	flags.DurationVar(&o.fullEvery, "full-every", 0,
		"add a snapshot if the newest was added longer ago, so that older ones can be pruned")
	flags.Var(&o.limit, "until", "leave out txns after this one (default: none)")
	flags.StringVar(&o.committed, "committed", "", "HOST:PORT of the server; leave out txns that it has not applied")
	flags.StringVar(&o.metrics, "metrics", "",
		"file for figures in Prometheus's text format, written after a success (*.prom for the node exporter)")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long an admin server may take")
	o.backupStore.addTo(flags, true)
	o.retention.addTo(flags)
	o.ClientTLS.AddTo(cmd)
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
		return cli.Misuse(cmd, errors.New("name the backup: a folder or s3://BUCKET/PREFIX"))
	case len(args) > 2:
		return cli.Misuse(cmd, fmt.Errorf("unexpected argument %q", args[2]))
	case sources != 1:
		return cli.Misuse(cmd, errors.New("say what to copy: DATA_DIR, --config or --admin"))
	case o.committed != "" && (o.limit.Zxid > 0 || o.admin != ""):
		return cli.Misuse(cmd, errors.New("--committed can't be used with --until or --admin"))
	case o.fullEvery < 0:
		return cli.Misuse(cmd, fmt.Errorf("--full-every %v: it must be at least 0", o.fullEvery))
	}
	if err := o.retention.check(cmd); err != nil {
		return err
	}
	return o.completeAddresses(cmd)
}

// completeAddresses completes the addresses of flags, and refuses those that are wrong.
func (o *backupOptions) completeAddresses(cmd *cobra.Command) (err error) {
	if o.admin != "" {
		o.admin, err = reach.AdminURL(cmd, o.admin)
	}
	if o.committed != "" && err == nil {
		o.committed, err = reach.Address(cmd, o.committed)
	}
	return err
}

func (o *backupOptions) run(cmd *cobra.Command, args []string) error {
	began := time.Now()
	b, done, err := o.open(cmd, args[0])
	if err != nil {
		return err
	}
	defer done()
	out, err := o.add(cmd, b, args)
	if err != nil {
		return err
	}
	for _, w := range out.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+w)
	}
	var pruned backup.Pruned
	if o.retention.given() {
		if pruned, err = b.Prune(backup.Retention(o.retention)); err != nil {
			return err
		}
	}
	if o.metrics != "" {
		if err := writeMetrics(o.metrics, backupMetrics(&b.Manifest, out, began, time.Now())); err != nil {
			return fmt.Errorf("--metrics: %w", err)
		}
	}
	return o.print(cmd.OutOrStdout(), args[0], out, pruned.Removed)
}

// add copies what is new.
func (o *backupOptions) add(cmd *cobra.Command, b *backup.Backup, args []string) (backup.Outcome, error) {
	if o.admin != "" {
		return o.fetch(cmd, b)
	}
	limit := o.limit.Zxid
	if o.committed != "" {
		var err error
		if limit, err = o.applied(cmd); err != nil {
			return backup.Outcome{}, fmt.Errorf("--committed: %w", err)
		}
	}
	src, err := o.source(args)
	if err != nil {
		return backup.Outcome{}, err
	}
	return b.Add(src, backup.Options{Full: o.full, FullEvery: o.fullEvery, Limit: limit})
}

// applied asks a server for the last txn that it has applied, which is committed.
func (o *backupOptions) applied(cmd *cobra.Command) (proto.Zxid, error) {
	s := reach.Status{Address: o.committed}
	if err := o.Srvr(cmd.Context(), &s, o.timeout); err != nil {
		return 0, fmt.Errorf("%s: %w", s.Address, err)
	}
	if s.Zxid == 0 {
		return 0, fmt.Errorf("%s has applied no txn, so there is nothing to back up: run this again after the first "+
			"write", s.Address)
	}
	return s.Zxid, nil
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
	return backup.Source{FS: vfs.OS(), SnapDir: datadir.FormatDir(dataDir),
		LogDir: datadir.FormatDir(cmp.Or(o.dataLogDir, dataLogDir))}, nil
}

func (o *backupOptions) fetch(cmd *cobra.Command, b *backup.Backup) (backup.Outcome, error) {
	authorization, err := reach.Authorization(o.authFile)
	if err != nil {
		return backup.Outcome{}, err
	}
	at, err := url.Parse(o.admin)
	if err != nil {
		return backup.Outcome{}, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	if transport.TLSClientConfig, err = o.Of(at.Host); err != nil {
		return backup.Outcome{}, err
	}
	remote := backup.Remote{URL: o.admin, Authorization: authorization, Client: &http.Client{Transport: transport}}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	return b.AddRemote(ctx, remote)
}

func (o *backupOptions) print(w io.Writer, dir string, out backup.Outcome, removed []backup.Entry) error {
	if o.output == "json" {
		added := out.Added
		if added == nil {
			added = []backup.Entry{}
		}
		answer := map[string]any{"backup": dir, "added": added, "last": out.Last.String(), "warnings": out.Warnings}
		if o.retention.given() {
			answer["removed"] = fileNames(removed)
		}
		return json.NewEncoder(w).Encode(answer)
	}
	for i := range out.Added {
		if err := printEntry(w, &out.Added[i]); err != nil {
			return err
		}
	}
	for _, name := range fileNames(removed) {
		fmt.Fprintln(w, "removed "+name)
	}
	return cli.Printf(w, "%s ends with txn %v\n", dir, out.Last)
}

func printEntry(w io.Writer, e *backup.Entry) error {
	what := "snapshot"
	switch {
	case e.Kind == backup.KindLog:
		what = fmt.Sprintf("%s, %v to %v, %s to %s", wording.Count(e.Txns, "txn"), e.First, e.Last,
			cli.Clock(e.FirstTime), cli.Clock(e.LastTime))
	case e.Exact > e.Last:
		what = fmt.Sprintf("snapshot, exact from %v on", e.Exact)
	}
	sealed := ""
	if e.Sealed != nil {
		sealed = ", encrypted"
	}
	return cli.Printf(w, "%s: %s, %d bytes%s\n", e.File, what, e.Bytes, sealed)
}

func newBackupListCommand() *cobra.Command {
	var o backupStore
	var output string
	cmd := &cobra.Command{
		Use:   "list BACKUP",
		Short: "List what a backup holds, without reading its files",
		Long: "Prints one line for each snapshot and each part of the log that a backup holds: its file, its\n" +
			"zxids and its size. Only the manifest is read, so damage to the files does not show: `warren\n" +
			"backup verify` finds that.",
		Example: "  warren backup list /backup/zk\n" +
			"  warren backup list s3://backups/zk --output json",
		Args: cli.Named(missingBackup),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, done, err := o.openFull(cmd, args[0])
			if err != nil {
				return err
			}
			defer done()
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b.Manifest)
			}
			for i := range b.Manifest.Entries {
				if err := printEntry(cmd.OutOrStdout(), &b.Manifest.Entries[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", "simple: text; json: the manifest")
	o.addTo(cmd.Flags(), false)
	return cmd
}

func newBackupVerifyCommand() *cobra.Command {
	var o backupStore
	var output string
	cmd := &cobra.Command{
		Use:   "verify BACKUP",
		Short: "Read a whole backup and rebuild the tree from it",
		Long: "Compares the checksum of every file, rebuilds the tree from every snapshot through every txn\n" +
			"after it, and compares its digest with the one in each txn. Prints the moments that can be\n" +
			"restored.\n\n" +
			"The exit code is 0 if the backup is whole, and 1 if anything is damaged or missing.",
		Example: "  warren backup verify /backup/zk\n" +
			"  warren backup verify s3://backups/zk --identity key.txt --output json",
		Args: cli.Named(missingBackup),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, done, err := o.openFull(cmd, args[0])
			if err != nil {
				return err
			}
			defer done()
			v := b.Verify()
			if err := printVerdict(cmd.OutOrStdout(), output, v); err != nil {
				return err
			}
			if n := len(v.Problems); n > 0 {
				return fmt.Errorf("%s: the backup has %s", args[0], wording.Count(n, "problem"))
			}
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", "simple: text; json: one object")
	o.addTo(cmd.Flags(), false)
	return cmd
}

func printVerdict(w io.Writer, output string, v backup.Verdict) error {
	if output == "json" {
		ranges, problems := []map[string]any{}, []string{}
		for _, r := range v.Ranges {
			line := map[string]any{"snapshot": r.Snapshot, "from": r.From.String(),
				"to": r.To.String(), "toTimeMs": r.ToTime, "znodes": r.Znodes, "digest": r.Digest,
				"digestsCompared": r.Compared}
			if r.Wrong != nil {
				line["warning"] = r.Wrong.Error()
			}
			ranges = append(ranges, line)
		}
		for _, p := range v.Problems {
			problems = append(problems, p.Error())
		}
		return json.NewEncoder(w).
			Encode(map[string]any{"ok": len(problems) == 0, "ranges": ranges, "problems": problems})
	}
	for _, r := range v.Ranges {
		fmt.Fprintf(w, "from %s: txns %v to %v", r.Snapshot, r.From, r.To)
		if r.ToTime > 0 {
			fmt.Fprintf(w, " of %s", cli.Clock(r.ToTime))
		}
		fmt.Fprintf(w, ", %s, digest %d, %s compared\n", wording.Count(r.Znodes, "znode"), r.Digest,
			wording.Count(r.Compared, "digest"))
		if r.Wrong != nil {
			fmt.Fprintf(w, "warning: %v\n", r.Wrong)
		}
	}
	for _, p := range v.Problems {
		fmt.Fprintf(w, "PROBLEM: %v\n", p)
	}
	if len(v.Problems) == 0 {
		return cli.Printf(w, "ok\n")
	}
	return nil
}
