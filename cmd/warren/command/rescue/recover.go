package rescue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/recovery"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// recoverOptions are the flags of warren recover.
type recoverOptions struct {
	reach.ClientTLS
	to, from  string
	giveUp    []int64
	at        []string
	adminPort int
	epoch     int64
	timeout   time.Duration
	yes       bool
}

func newRecoverCommand() *cobra.Command {
	var o recoverOptions
	cmd := &cobra.Command{
		Use:   "recover ZOO_CFG (--to BACKUP | --from BACKUP)",
		Short: "Bring back an ensemble whose voters have lost too many disks to elect a leader",
		Long: "Use this for an ensemble in which the disks of a majority are lost for good. Run the command at\n" +
			"least twice, each time on the machine of a server that is stopped:\n\n" +
			"  1. On the server with the newest data, with --to: copies the data into the new folder BACKUP, and\n" +
			"     begins a new history with it. Then start the server; it waits for the others.\n" +
			"  2. On as many other voters as a majority needs, with --from: brings the data of a copy of BACKUP\n" +
			"     into the data directory. Then start the server.\n\n" +
			"Servers that still have no data take it from the leader.\n\n" +
			"All servers of the configuration are asked first, at their client ports and admin ports. The\n" +
			"command refuses if a server serves, if a server has later data, if a server does not answer or\n" +
			"does not say what it has (because that may be later), and if the servers that have data are a\n" +
			"quorum. --give-up names servers whose data is lost or not wanted: acknowledged writes are lost\n" +
			"if only those servers had them. A disk that is not mounted, or a server that is only cut off, is\n" +
			"not lost.\n\n" +
			"The new history has a higher epoch and ends all sessions. A server that was given up and comes\n" +
			"back with its data stays outside, and its files stay as they are. What a directory held is kept\n" +
			"in version-2.before-restore-<time>, and dataDir/recovery.log says what was done.",
		Example: "  warren recover /etc/zookeeper/conf/zoo.cfg --to /var/tmp/survivor\n" +
			"  warren recover /etc/zookeeper/conf/zoo.cfg --from /var/tmp/survivor --yes",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return cli.Misuse(cmd, errors.New("name a zoo.cfg"))
			case (o.to == "") == (o.from == ""):
				return cli.Misuse(cmd, errors.New("use either --to or --from"))
			case o.epoch < 0:
				return cli.Misuse(cmd, fmt.Errorf("--epoch %d: it must be at least 0", o.epoch))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	o.AddTo(cmd)
	flags.StringVar(&o.to, "to", "", "folder for the backup with which the new history begins")
	flags.StringVar(&o.from, "from", "", "a copy of that folder, on another server")
	flags.Int64SliceVar(&o.giveUp, "give-up", nil, "`IDS` of servers whose data is given up")
	flags.Lookup("give-up").DefValue = ""
	flags.StringArrayVar(&o.at, "server", nil,
		"ID=HOST:CLIENT_PORT/ADMIN_PORT: where a server is asked, if not at the host of its line")
	flags.IntVar(&o.adminPort, "admin-port", 0,
		"admin port of the servers (default: the one that each server reports, otherwise that of ZOO_CFG)")
	flags.Int64Var(&o.epoch, "epoch", 0, "an epoch that clients have seen; the new history begins above it")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long to wait for a server")
	flags.BoolVar(&o.yes, "yes", false, "do it without asking")
	return cmd
}

// recoveryRun is one run of the command.
type recoveryRun struct {
	*recoverOptions
	recovery.Recovery
	cmd     *cobra.Command
	out     io.Writer
	cfg     *config.Config
	holding *doctor.Holding
	recovery.Situation
}

func (o *recoverOptions) run(cmd *cobra.Command, file string) error {
	cfg, _, err := config.Load(file, nil, os.Environ())
	if err != nil {
		return err
	}
	if !cfg.Distributed() {
		return fmt.Errorf("%s names no ensemble", file)
	}
	y := &recoveryRun{recoverOptions: o, cmd: cmd, out: cmd.OutOrStdout(), cfg: cfg,
		Recovery: recovery.Recovery{FS: vfs.OS(),
			SnapDir: datadir.FormatDir(cfg.DataDir), LogDir: datadir.FormatDir(cfg.DataLogDir),
			Backup: o.to + o.from, Now: time.Now}}
	if err := y.stopped(); err != nil {
		return err
	}
	if interrupted, err := y.Resumes(); err != nil {
		return err
	} else if interrupted {
		return y.resume()
	}
	if err := y.examine(); err != nil {
		return err
	}
	if o.to != "" {
		return y.begin()
	}
	return y.join()
}

// stopped returns an error if a server uses the directories.
func (y *recoveryRun) stopped() error {
	for _, dir := range []string{y.SnapDir, y.LogDir} {
		lock, err := y.FS.Lock(filepath.Join(dir, datadir.LockFile))
		switch {
		case errors.Is(err, fs.ErrNotExist): // of the folder
			continue
		case err != nil:
			return datadir.StopFirst(dir, err)
		}
		if err := lock.Close(); err != nil {
			return err
		}
	}
	return nil
}

// resume completes a run that was interrupted while it changed the directory.
func (y *recoveryRun) resume() error {
	r, err := recovery.ReadRecord(y.FS, y.Backup)
	if err != nil {
		return fmt.Errorf("an earlier run was interrupted, and needs its backup: %w", err)
	}
	fmt.Fprintf(y.out, "an earlier run was interrupted: the directory is restored from %s, up to %v of server %d\n",
		y.Backup, r.Last, r.Server)
	return y.change(r, "complete it", y.Join)
}

// change lets fn change the directory after a question, and reports.
func (y *recoveryRun) change(r *recovery.Record, question string,
	fn func(*recovery.Record) (backup.Restored, error)) error {
	if err := cli.Confirmed(y.cmd, y.yes, "recover", question); err != nil {
		return err
	}
	done, err := fn(r)
	if err != nil {
		return err
	}
	return y.report(done, r)
}

// examine looks at the own directory and asks all other servers.
func (y *recoveryRun) examine() (err error) {
	if y.holding, err = doctor.ReadHolding(y.FS, y.cfg.DataDir, y.cfg.DataLogDir); err != nil {
		return err
	}
	if err := y.configured(); err != nil {
		return err
	}
	quorum, err := server.QuorumOf(&y.cfg.Quorum)
	if err != nil {
		return err
	}
	y.GiveUp = y.giveUp
	y.Decides = func(voters []int64) bool {
		ids := make([]proto.ServerID, len(voters))
		for i, id := range voters {
			ids[i] = proto.ServerID(id)
		}
		return quorum.Decides(ids...)
	}
	h := y.holding
	y.Own = recovery.Member{ID: y.cfg.OwnID(), State: recovery.Holding, Ensemble: h.Ensemble(), Accepted: h.Accepted,
		Current: h.Current, Last: h.Last}
	if h.Empty() || h.Blank {
		y.Own.State = recovery.Blank
	}
	fmt.Fprintf(y.out, "%s: %v\n", y.cfg.DataDir, h)
	if err := y.ask(); err != nil {
		return err
	}
	for i := range y.Others {
		fmt.Fprintf(y.out, "%v\n", &y.Others[i])
	}
	return nil
}

// configured makes sure that the configuration is the one that the ensemble has agreed on.
func (y *recoveryRun) configured() error {
	h := y.holding
	if !y.cfg.ReconfigEnabled || h.MembersVersion <= proto.Zxid(y.cfg.ConfigVersion) {
		return nil
	}
	kept, err := config.ParseMembers([]byte(h.Members))
	if err != nil {
		return fmt.Errorf("the configuration in meta.db: %w", err)
	}
	if kept.Text() == y.cfg.Quorum.Text() {
		return nil
	}
	return fmt.Errorf("%s names other servers than the configuration %x of the ensemble: write these lines into "+
		"%s.dynamic.%x and name it as dynamicConfigFile:\n%s",
		y.cfg.File, int64(h.MembersVersion), y.cfg.File, int64(h.MembersVersion), kept.Text())
}

// ask asks all servers of the configuration.
func (y *recoveryRun) ask() error {
	places, err := y.places()
	if err != nil {
		return err
	}
	var asking sync.WaitGroup
	all := make([]recovery.Member, len(y.cfg.Members))
	for i := range y.cfg.Members {
		line := &y.cfg.Members[i]
		p := places[line.ID]
		all[i] = recovery.Member{ID: line.ID, Votes: line.Role == config.Participant, Address: p.client}
		asking.Go(func() { y.askOne(y.cmd.Context(), &all[i], p) })
	}
	asking.Wait()
	for i := range all {
		m := &all[i]
		if m.ID != y.Own.ID {
			y.Others = append(y.Others, *m)
			continue
		}
		y.Own.Votes = m.Votes
		if m.State != recovery.Silent && m.Detail != wrongServer {
			return fmt.Errorf("%v: stop the server first", m)
		}
	}
	if len(y.Others) == len(all) {
		return fmt.Errorf("server %d is not in the configuration", y.Own.ID)
	}
	return nil
}

// place is where a server is asked.
type place struct {
	client string // host:port
	admin  int    // 0: the one that the server tells, else that of the configuration
}

// places are those of the configuration, but for those that a flag names.
func (y *recoveryRun) places() (map[int64]place, error) {
	places := map[int64]place{}
	for i := range y.cfg.Members {
		m := y.cfg.Members[i]
		m.Client.Host = m.Addresses[0].Host // where the admin port is asked, too
		places[m.ID] = place{m.ClientAddress(y.cfg.ClientPort), y.adminPort}
	}
	for _, text := range y.at {
		id, rest, ok1 := strings.Cut(text, "=")
		client, port, ok2 := strings.Cut(rest, "/")
		n, err1 := strconv.ParseInt(id, 10, 64)
		adminPort, err2 := strconv.Atoi(port)
		if _, known := places[n]; !ok1 || !ok2 || err1 != nil || err2 != nil || !known {
			return nil, cli.Misuse(y.cmd,
				fmt.Errorf("--server %q is not ID=HOST:CLIENT_PORT/ADMIN_PORT of a server of the configuration", text))
		}
		places[n] = place{reach.WithPort(client), adminPort}
	}
	return places, nil
}

// wrongServer is the Detail of a member at whose address another server answers.
const wrongServer = "another server answers there"

// askOne asks one server what it is and has.
func (y *recoveryRun) askOne(ctx context.Context, m *recovery.Member, p place) {
	s := reach.Status{Address: p.client}
	err := y.Srvr(ctx, &s, y.timeout)
	admin := doctor.AdminPort{Port: p.admin, Timeout: y.timeout, TLS: y.Of}
	if admin.Port == 0 {
		admin.Port = cmp.Or(y.ToldAdminPort(ctx, p.client, y.timeout), y.cfg.Admin.Port)
	}
	zab, zabErr := admin.ZabState(ctx, p.client)
	switch {
	case zabErr == nil && zab.ID != m.ID:
		m.State, m.Detail = recovery.Unknown, wrongServer
	case zabErr == nil && zab.Phase == "broadcast" || err == nil && s.Role != "read-only":
		m.State, m.Detail = recovery.Serving, s.Role
	case zabErr == nil:
		m.State, m.Ensemble = recovery.Holding, zab.Ensemble
		m.Accepted, m.Current = zab.AcceptedEpoch, zab.CurrentEpoch
		if zab.Blank {
			m.State = recovery.Blank
		}
		last, err := strconv.ParseInt(strings.TrimPrefix(zab.LastZxid, "0x"), 16, 64)
		if err != nil {
			m.State, m.Detail = recovery.Unknown, "its last zxid is "+strconv.Quote(zab.LastZxid)
		}
		m.Last = proto.Zxid(last)
	case err != nil && !errors.Is(err, reach.ErrNotServing):
		m.State, m.Detail = recovery.Silent, wording.About(m.Address, err)
	default:
		m.State, m.Detail = recovery.Unknown, "its admin port: "+wording.Text(zabErr)
	}
}

// refused returns an error with the reasons for it, nil if there are none.
func refused(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("nothing is changed:\n  - %s", strings.Join(problems, "\n  - "))
}

// begin makes the backup and the new history.
func (y *recoveryRun) begin() error {
	old, err := recovery.ReadRecord(y.FS, y.Backup)
	switch {
	case err == nil && old.Identity == y.Own.Ensemble && y.Own.Current > old.Epoch:
		return fmt.Errorf("%s is of an earlier recovery, after which this server has gone on: name another folder",
			y.Backup)
	case err == nil && old.Identity == y.Own.Ensemble:
		fmt.Fprintf(y.out, "nothing is changed: the directory has the new history of %s already\n", y.Backup)
		return y.next(old)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := refused(y.AgainstBegin()); err != nil {
		return err
	}
	known, err := datadir.Epoch(y.FS, y.SnapDir, y.LogDir)
	if err != nil {
		return err
	}
	known = max(known, y.epoch)
	r := &recovery.Record{Time: y.Now().UTC(), Server: y.Own.ID, Voters: y.Voters(), Current: y.Own.Current,
		Last: backup.Zxid(y.Own.Last), Ensemble: y.Own.Ensemble, GivenUp: y.GiveUp, Seen: []string{y.holding.String()}}
	for i := range y.Others {
		known = max(known, y.Others[i].Accepted)
		r.Seen = append(r.Seen, y.Others[i].String())
	}
	r.Epoch = known + recovery.Leap
	fmt.Fprintf(y.out, "the ensemble is to go on from the data of server %d, which ends with %v; it is copied to %s\n"+
		"writes that only other servers had are lost; all sessions end\n", y.Own.ID, r.Last, y.Backup)
	y.warnGivenUp()
	y.Unchanged = y.unchanged
	return y.change(r, "begin a new history with the data of this server", y.Begin)
}

// warnGivenUp says which servers do not count any more.
func (y *recoveryRun) warnGivenUp() {
	var blank []int64
	for i := range y.Others {
		if m := &y.Others[i]; m.State == recovery.Blank {
			blank = append(blank, m.ID)
		}
	}
	if len(blank) > 0 {
		fmt.Fprintf(y.out, "%s: if a disk is only not mounted, or dataDir is a wrong one, correct that instead\n",
			recovery.Names(blank))
	}
	if len(y.GiveUp) > 0 {
		fmt.Fprintf(y.out, "given up: what only %s had\n", recovery.Names(y.GiveUp))
	}
}

// unchanged returns an error if the directory is not what was examined.
func (y *recoveryRun) unchanged() error {
	now, err := doctor.ReadHolding(y.FS, y.cfg.DataDir, y.cfg.DataLogDir)
	if err == nil && now.String() != y.holding.String() {
		err = fmt.Errorf("%s has changed meanwhile: run the command again", y.SnapDir)
	}
	return err
}

// join restores the directory from the backup.
func (y *recoveryRun) join() error {
	r, err := recovery.ReadRecord(y.FS, y.Backup)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was not made by warren recover --to: %w", y.Backup, err)
	}
	if err != nil {
		return err
	}
	if r.Identity == y.Own.Ensemble && y.Own.State == recovery.Holding {
		return cli.Printf(y.out, "nothing is changed: the directory has the new history of %s already\n", y.Backup)
	}
	if err := refused(y.AgainstJoin(r)); err != nil {
		return err
	}
	fmt.Fprintf(y.out, "%s is to be restored up to %v of server %d, from %s\n", y.SnapDir, r.Last, r.Server, y.Backup)
	y.warnGivenUp()
	y.Unchanged = y.unchanged
	return y.change(r, "restore this directory", y.Join)
}

// report says what was done and what is next.
func (y *recoveryRun) report(done backup.Restored, r *recovery.Record) error {
	for _, dir := range done.Aside {
		fmt.Fprintf(y.out, "what was there is in %s now\n", dir)
	}
	if done.Wrong != nil {
		fmt.Fprintln(y.out, "warning:", done.Wrong)
	}
	fmt.Fprintf(y.out, "%s begins with epoch %d, in which all earlier sessions have ended\n", y.SnapDir,
		done.First.Epoch())
	if epoch := done.First.Epoch(); epoch != r.Epoch {
		fmt.Fprintf(y.out, "the other servers begin with epoch %d: start this server before them\n", r.Epoch)
	}
	if y.to != "" && y.Decides != nil {
		return y.next(r)
	}
	return cli.Printf(y.out, "start the server\n")
}

// next says what is left to do.
func (y *recoveryRun) next(r *recovery.Record) error {
	restore := y.Missing(r)
	if len(restore) == 0 {
		return cli.Printf(y.out, "next, start this server, and those that have been restored\n")
	}
	return cli.Printf(y.out,
		"next, start this server: it waits for a quorum. On %s, or on others that are a quorum with this one: stop "+
			"the server, copy %s to its machine, run\n"+
			"  warren recover ZOO_CFG --from BACKUP\nthere, and start it. The others take the data "+
			"from the leader then\n",
		recovery.Names(restore), y.Backup)
}
