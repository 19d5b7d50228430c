package backups

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// restoreOptions are the flags of warren restore.
type restoreOptions struct {
	backupStore
	reach.ClientTLS
	output     string
	dataLogDir string
	zxid       cli.ZxidFlag
	at         timeFlag
	epoch      int64
	force      bool
	ifEmpty    bool
	unless     []string
	once       string
}

func newRestoreCommand() *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore BACKUP DATA_DIR",
		Short: "Restore any moment of a backup into an empty data directory",
		Long: "Rebuilds the tree as it was after a txn (--zxid) or at a time (--time), by default at the end of\n" +
			"the backup, and writes it as one snapshot into DATA_DIR, which must hold no data. BACKUP is a\n" +
			"folder or s3://BUCKET/PREFIX; see `warren backup`. Checksums are compared first, then the digest\n" +
			"of the tree after every txn; at the end, what was written is read back. With --force, existing\n" +
			"data is kept beside it in a folder version-2.before-restore-<time>.\n\n" +
			"Start the server on DATA_DIR afterwards. To restore an ensemble, stop all its servers, restore\n" +
			"into the data directory of each of them, observers included (their myid files stay), and start\n" +
			"them.\n\n" +
			"The restored tree begins a new history, in an epoch above every epoch in the backup and in the\n" +
			"old data in DATA_DIR, so no zxid is used twice. Its first txn ends all sessions: clients are\n" +
			"told that their session has expired, and their ephemeral znodes are gone. If the old data is\n" +
			"lost, --epoch names the last epoch that was in use: the part of a zxid before its last eight\n" +
			"digits, such as 5 in 0x500000012.\n\n" +
			"Everything is built beside the old data and renamed at the end. If that is interrupted, no\n" +
			"server starts on DATA_DIR until the command has been run again.",
		Example: "  warren restore /backup/zk /var/lib/zookeeper\n" +
			"  warren restore /backup/zk /var/lib/zookeeper --time 2026-11-21T14:00:00Z\n" +
			"  warren restore s3://backups/zk /var/lib/zookeeper --zxid 0x500000012 --identity key.txt",
		Args: func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := cmd.Flags()
	cli.AddOutput(flags, &o.output, "simple", "simple: text; json: one object")
	flags.StringVar(&o.dataLogDir, "dataLogDir", "",
		"directory for the server's log, if not DATA_DIR; it must be empty, too")
	flags.Var(&o.zxid, "zxid", "last txn to restore (default: the last one of the backup)")
	flags.Var(&o.at, "time", "restore up to this time: 2026-11-21T14:00:00Z, or ms since 1970")
	flags.Int64Var(&o.epoch, "epoch", 0, "an epoch that clients have seen: the restored tree begins above it, "+
		"and above those in the directories")
	flags.BoolVar(&o.force, "force", false, "set existing data aside")
	flags.BoolVar(&o.ifEmpty, "if-empty", false,
		"do nothing, with exit code 0, if there is data; for a command that runs at every start")
	flags.StringSliceVar(&o.unless, "unless-served", nil,
		"do nothing, with exit code 0, if one of these HOST:PORT serves clients: a server that has lost\n"+
			"its disk takes the state from the others. While one looks for a leader, wait for it, up to 30 s")
	flags.StringVar(&o.once, "once", "",
		"a name for DATA_DIR that BACKUP keeps: restore into DATA_DIR once, and not again if its data is lost.\n"+
			"Then the exit code is 0 if a server of --unless-served runs, and 1 if none does. Needs --if-empty")
	o.backupStore.addTo(flags, false)
	o.ClientTLS.AddTo(cmd)
	return cmd
}

// timeFlag is a flag that holds a moment, in ms since 1970.
type timeFlag struct{ ms int64 }

func (f *timeFlag) String() string {
	if f.ms == 0 {
		return ""
	}
	return cli.Clock(f.ms)
}

func (f *timeFlag) Type() string { return "time" }

func (f *timeFlag) Set(s string) error {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		f.ms = t.UnixMilli()
	} else if f.ms, err = strconv.ParseInt(s, 10, 64); err != nil {
		return fmt.Errorf("%q is not a time such as 2026-11-21T14:00:00Z", s)
	}
	if f.ms <= 0 {
		return fmt.Errorf("%q is not after 1970", s)
	}
	return nil
}

func (o *restoreOptions) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) != 2:
		return cli.Misuse(cmd, errors.New("name a backup and a data directory"))
	case cmd.Flags().Changed("zxid") && o.at.ms > 0:
		return cli.Misuse(cmd, errors.New("use either --zxid or --time"))
	case cmd.Flags().Changed("zxid") && o.zxid.Zxid == 0:
		return cli.Misuse(cmd, errors.New("--zxid 0 is the empty tree"))
	case o.epoch < 0:
		return cli.Misuse(cmd, fmt.Errorf("--epoch %d: it must be at least 0", o.epoch))
	case o.ifEmpty && o.force:
		return cli.Misuse(cmd, errors.New("use either --if-empty or --force"))
	case o.once != "" && !o.ifEmpty:
		return cli.Misuse(cmd, errors.New("--once needs --if-empty"))
	}
	for i, address := range o.unless {
		var err error
		if o.unless[i], err = reach.Address(cmd, address); err != nil {
			return err
		}
	}
	return nil
}

func (o *restoreOptions) run(cmd *cobra.Command, args []string) error {
	to := backup.Destination{FS: vfs.OS(), SnapDir: datadir.FormatDir(args[1]),
		LogDir: datadir.FormatDir(cmp.Or(o.dataLogDir, args[1])), Replace: o.force, Epoch: o.epoch, Once: o.once}
	if err := to.Check(); o.ifEmpty && errors.Is(err, backup.ErrNotEmpty) {
		return cli.Printf(cmd.OutOrStdout(), "nothing is restored: %v\n", err)
	}
	serves, running, err := o.served(cmd.Context())
	if err != nil {
		return fmt.Errorf("nothing is restored: %w", err)
	}
	if serves != "" {
		aside, err := to.GiveUp()
		if err != nil {
			return err
		}
		printAside(cmd, aside)
		return cli.Printf(cmd.OutOrStdout(), "nothing is restored: clients are served by %s\n", serves)
	}
	b, done, err := o.openFull(cmd, args[0])
	if err != nil {
		return err
	}
	defer done()
	r, err := b.Restore(to, backup.Target{Zxid: o.zxid.Zxid, TimeMs: o.at.ms})
	switch {
	case errors.Is(err, backup.ErrNotEmpty):
		return fmt.Errorf("%w: --force sets it aside", err)
	case errors.Is(err, backup.ErrRestoredBefore) && running != "":
		return cli.Printf(cmd.OutOrStdout(),
			"nothing is restored: %v. %s runs, and may have newer data: the server takes the state from the others\n",
			err, running)
	case errors.Is(err, backup.ErrRestoredBefore):
		return fmt.Errorf("%w. No other server runs from which it could take the state. Start the others first; "+
			"if their data is lost, too, restore a newer backup, or this one without --once", err)
	}
	if err != nil {
		return err
	}
	printAside(cmd, r.Aside)
	if r.Wrong != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", r.Wrong)
	}
	if o.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).
			Encode(map[string]any{"file": r.File, "zxid": r.Zxid.String(), "timeMs": r.TimeMs, "znodes": r.Znodes,
				"sessions": r.Sessions, "digest": r.Digest, "digestsCompared": r.Compared, "snapshot": r.Snapshot,
				"epoch": r.First.Epoch(), "first": r.First.String()})
	}
	at := ""
	if r.TimeMs > 0 {
		at = " of " + cli.Clock(r.TimeMs)
	}
	return cli.Printf(cmd.OutOrStdout(),
		"restored txn %v%s into %s: %s, %s, digest %d, %s compared\n"+
			"it goes on with epoch %d, which ends %s\n",
		r.Zxid, at, to.SnapDir, r.File, wording.Count(r.Znodes, "znode"), r.Digest,
		wording.Count(r.Compared, "digest"), r.First.Epoch(), wording.Count(r.Sessions, "session"))
}

func printAside(cmd *cobra.Command, dirs []string) {
	for _, dir := range dirs {
		fmt.Fprintf(cmd.ErrOrStderr(), "what was there is in %s now\n", dir)
	}
}

// served returns the first of the servers of --unless-served that serves clients, "" if none does, and one that runs
// without serving. While there is one, the servers may be about to serve: they elect a leader when the disk that is
// empty now was that of the last one. served asks again then, for as long as servedWait. Servers of a new ensemble
// that are restored at the same time lose that time at most. The error tells of a server that says neither.
func (o *restoreOptions) served(ctx context.Context) (serves, running string, unclear error) {
	for until := time.Now().Add(servedWait); ; {
		running, unclear = "", nil
		for _, address := range o.unless {
			s := reach.Status{Address: address}
			err := o.Srvr(ctx, &s, servedTimeout)
			op, _ := errors.AsType[*net.OpError](err)
			switch {
			case err == nil:
				return s.Address, "", nil
			case errors.Is(err, reach.ErrNotServing):
				running = s.Address
			case op != nil && op.Op == "dial" && !errors.Is(err, syscall.ECONNRESET): // it is away
			case op != nil: // busy, full, or a TLS port, which waits for more
				unclear = fmt.Errorf("%s takes the connection, and does not say whether it serves clients: %w",
					s.Address, err)
			case errors.Is(err, doctor.ErrNoAnswer):
				unclear = fmt.Errorf("%s closes the connection, and does not say whether it serves clients", s.Address)
			default:
				unclear = fmt.Errorf("%s answers, and does not say whether it serves clients: %w", s.Address, err)
			}
		}
		if running == "" && unclear == nil || time.Now().After(until) {
			return "", running, unclear
		}
		if err := cli.Pause(ctx, servedPause); err != nil {
			return "", running, err
		}
	}
}

// servedPause is the time between two questions of servedWait.
const servedPause = 250 * time.Millisecond

// servedWait is longer than an election, servedTimeout is how long a server may take to say that it serves. Tests make
// them shorter.
var (
	servedWait    = 30 * time.Second
	servedTimeout = 3 * time.Second
)
