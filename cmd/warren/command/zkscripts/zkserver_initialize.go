package zkscripts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// newZkInitializeCommand is zkServer-initialize.sh. Source: operations 6.2.
func newZkInitializeCommand() *cobra.Command {
	var (
		file  string
		id    int
		force bool
	)
	cmd := &cobra.Command{
		Use:   "zkServer-initialize.sh [--configfile ZOO_CFG] [--myid ID] [--force]",
		Short: "ZooKeeper's script zkServer-initialize.sh",
		Long: "Makes the data directories that zoo.cfg names, with the file myid, and the mark `initialize`, with " +
			"which a server starts on an\n" +
			"empty directory although db.autocreate is false. Directories with data are refused; with --force " +
			"they are set aside\n" +
			"as version-2.before-initialize-<time>.",
		Hidden: true,
		Args:   cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("myid") && id < 0 {
				return cli.Misuse(cmd, fmt.Errorf("--myid %d is negative", id))
			}
			return initialize(cmd, scriptConfig("", file), id, force)
		},
	}
	cmd.Flags().StringVar(&file, "configfile", "", "zoo.cfg, with a path or in ZOOCFGDIR")
	cmd.Flags().IntVar(&id, "myid", -1, "id of the server")
	cmd.Flags().BoolVar(&force, "force", false, "set existing data aside")
	return cmd
}

func initialize(cmd *cobra.Command, file string, id int, force bool) error {
	set := []string{}
	if id >= 0 {
		set = append(set, "myid="+strconv.Itoa(id)) // a member's file may not be there yet
	}
	cfg, _, err := config.Load(file, set, os.Environ())
	if err != nil {
		return err
	}
	n := &initialization{fs: vfs.OS(), dataDir: cfg.DataDir, logDir: cfg.DataLogDir, id: id, force: force,
		out: cmd.OutOrStdout()}
	return n.run()
}

// initialization makes the data directories of a server that begins with an empty tree.
type initialization struct {
	fs              vfs.FS
	dataDir, logDir string
	id              int // of the file myid; below 0: none is written
	force           bool
	out             io.Writer
}

func (n *initialization) run() error {
	const command = "zkServer-initialize.sh"
	folders := []string{filepath.Join(n.dataDir, datadir.Folder), filepath.Join(n.logDir, datadir.Folder)}
	err := datadir.Check(n.fs, folders...)
	if unfinished, ok := errors.AsType[*datadir.Unfinished](err); ok && unfinished.Command == command {
		n.force = true // it was permitted before
	}
	for _, folder := range folders {
		if _, err := n.fs.Stat(folder); err == nil && !n.force {
			return fmt.Errorf("there is data in %s (or use --force to force re-initialization)", folder)
		}
	}
	change, err := datadir.Begin(n.fs, folders...)
	if err != nil {
		return err
	}
	if err := change.Mark(command, "run it again"); err != nil {
		return change.Abandon(err)
	}
	suffix := ".before-initialize-" + time.Now().UTC().Format("20060102T150405.000")
	renamed, err := change.SetAside(suffix)
	if err != nil {
		return change.Abandon(err)
	}
	for _, folder := range renamed {
		fmt.Fprintf(n.out, "%s is %s now\n", folder, folder+suffix)
	}
	for _, folder := range folders {
		err = errors.Join(err, n.fs.MkdirAll(folder))
	}
	if n.id >= 0 && err == nil {
		fmt.Fprintf(n.out, "Using myid of %d\n", n.id)
		err = n.write("myid", fmt.Appendln(nil, n.id))
	}
	if err == nil {
		err = n.write("initialize", nil)
	}
	if err != nil {
		return change.Leave(err)
	}
	return change.Finish()
}

// write writes a file in the data directory, durably.
func (n *initialization) write(name string, text []byte) error {
	return vfs.WriteFile(n.fs, filepath.Join(n.dataDir, name), text)
}
