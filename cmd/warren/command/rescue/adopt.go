package rescue

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// adoptOptions are the flags of warren adopt.
type adoptOptions struct {
	reach.ClientTLS
	dataLogDir string
	servers    []string
	timeout    time.Duration
	yes        bool

	fs              vfs.FS
	dataDir, logDir string
}

func newAdoptCommand() *cobra.Command {
	o := adoptOptions{fs: vfs.OS()}
	cmd := &cobra.Command{
		Use:   "adopt DATA_DIR|ZOO_CFG",
		Short: "Set a data directory's history aside, so that the server takes that of its ensemble",
		Long: "Use this when a server stays outside its ensemble because its data directory has another\n" +
			"history. The command says what the directory holds and, with --yes or when you agree at the\n" +
			"terminal, renames version-2 in dataDir and in dataLogDir to version-2.set-aside-<time>. Nothing\n" +
			"is removed; myid and zoo.cfg stay. At the next start the server finds no database, and does not\n" +
			"vote until the leader has brought it up to date.\n\n" +
			"Stop the server first. What is set aside may hold writes that were acknowledged to clients and\n" +
			"that the ensemble does not have: keep it until you know. With --servers the command asks the\n" +
			"ensemble first, and changes nothing if there is no leader. Never do this on a majority of the\n" +
			"servers: the ensemble would lose what only they have.",
		Example: "  warren adopt /var/lib/zookeeper\n" +
			"  warren adopt /etc/zookeeper/conf/zoo.cfg --servers zk1:2181,zk2:2181,zk3:2181 --yes",
		Args: cli.OneArgument("name a data directory or a zoo.cfg"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	o.AddTo(cmd)
	flags.StringVar(&o.dataLogDir, "dataLogDir", "", "where the log is, if not in DATA_DIR")
	flags.StringSliceVarP(&o.servers, "servers", "s", nil, "host:port of the other members, one of which must lead")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long to wait for a server")
	flags.BoolVar(&o.yes, "yes", false, "set the directories aside without asking")
	return cmd
}

func (o *adoptOptions) run(cmd *cobra.Command, arg string) error {
	if err := o.find(cmd, arg); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if holding, err := doctor.ReadHolding(o.fs, o.dataDir, o.logDir); err != nil {
		fmt.Fprintf(out, "%s: what it holds cannot be told: %s\n", o.dataDir, wording.About(o.dataDir, err))
	} else {
		fmt.Fprintf(out, "%s: %v\n", o.dataDir, holding)
	}
	if err := o.ensemble(cmd); err != nil {
		return err
	}
	if err := cli.Confirmed(cmd, o.yes, "adopt", "set this directory aside"); err != nil {
		return err
	}
	dirs := slices.Compact([]string{datadir.FormatDir(o.dataDir), datadir.FormatDir(o.logDir)})
	unfinished := datadir.Check(o.fs, dirs...) != nil
	suffix := ".set-aside-" + time.Now().UTC().Format("20060102T150405.000")
	renamed, err := datadir.SetAside(o.fs, dirs, "warren adopt", suffix)
	if err != nil {
		return err
	}
	for _, dir := range renamed {
		fmt.Fprintf(out, "%s is now %s\n", dir, dir+suffix)
	}
	if len(renamed) == 0 && !unfinished {
		return fmt.Errorf("%s: there is no version-2 to set aside", o.dataDir)
	}
	return cli.Printf(out, "start the server: the leader of its ensemble brings it up to date\n")
}

// find sets the directories, and makes sure that a server that starts on them without data is one that a leader
// brings up to date.
func (o *adoptOptions) find(cmd *cobra.Command, arg string) error {
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		o.dataDir = filepath.Dir(datadir.FormatDir(filepath.Clean(arg)))
		o.logDir = filepath.Dir(datadir.FormatDir(filepath.Clean(cmp.Or(o.dataLogDir, arg))))
		if _, err := os.Stat(filepath.Join(o.dataDir, "myid")); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has no myid: a server without an ensemble would start with an empty tree", o.dataDir)
		}
	case o.dataLogDir != "":
		return cli.Misuse(cmd, errors.New("--dataLogDir goes with DATA_DIR: a zoo.cfg says where the log is"))
	default:
		cfg, _, err := config.Load(arg, nil, os.Environ())
		if err != nil {
			return err
		}
		if !cfg.Distributed() {
			return fmt.Errorf("%s names no ensemble: the server would start with an empty tree", arg)
		}
		o.dataDir, o.logDir = cfg.DataDir, cfg.DataLogDir
	}
	for _, dir := range []string{o.dataDir, o.logDir} {
		mark := filepath.Join(dir, "initialize")
		if _, err := os.Lstat(mark); err == nil {
			return fmt.Errorf("remove %s first: with it the server would vote with an empty tree", mark)
		}
	}
	return nil
}

// ensemble asks whether a leader is established.
func (o *adoptOptions) ensemble(cmd *cobra.Command) error {
	if len(o.servers) == 0 {
		return cli.Printf(cmd.OutOrStdout(),
			"not checked: whether the ensemble has a leader that brings it up to date (--servers)\n")
	}
	var said []string
	for _, address := range o.servers {
		s := reach.Status{Address: reach.WithPort(address)}
		if err := o.Srvr(cmd.Context(), &s, o.timeout); err != nil {
			said = append(said, s.Address+": "+wording.About(s.Address, err))
			continue
		}
		if s.Role == "leader" {
			return cli.Printf(cmd.OutOrStdout(), "%s leads, at %s\n", s.Address, s.ZxidText)
		}
		said = append(said, fmt.Sprintf("%s: %s", s.Address, s.Role))
	}
	return fmt.Errorf("none of the servers leads, so nothing was changed: %s", strings.Join(said, "; "))
}
