package zkscripts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/files"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// snapshotsLeast is the fewest snapshots that ZooKeeper's tools leave.
const snapshotsLeast = 3

// newZkCleanupCommand is zkCleanup.sh. Source: operations 6.3.
func newZkCleanupCommand() *cobra.Command {
	var dir, count string
	cmd := &cobra.Command{
		Use:   "zkCleanup.sh -n COUNT",
		Short: "ZooKeeper's script zkCleanup.sh",
		Long: "Removes all but the newest COUNT snapshots that are whole, and the log files that only older ones " +
			"need, from the directories\n" +
			"that zoo.cfg names. With fewer whole ones it removes nothing. A server does this by itself unless\n" +
			"autopurge.purgeInterval is 0.",
		Hidden: true,
		Args:   cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keep, err := strconv.Atoi(count)
			switch {
			case !cmd.Flags().Changed("n"):
				return scriptUsageError{cli.Misuse(cmd, errors.New("name how many snapshots to keep, as in -n 3"))}
			case err != nil:
				return scriptUsageError{cli.Misuse(cmd, fmt.Errorf("'%s' can not be parsed to integer", count))}
			case keep < snapshotsLeast:
				return scriptUsageError{
					cli.Misuse(cmd, fmt.Errorf("count should be greater than or equal to %d", snapshotsLeast)),
				}
			}
			cfg, _, err := serve.Load(scriptConfig(dir, ""), nil)
			if err != nil {
				return err
			}
			c := cleanup{fs: vfs.OS(), snapDir: filepath.Join(cfg.DataDir, "version-2"),
				logDir: filepath.Join(cfg.DataLogDir, "version-2")}
			obsolete, err := c.obsolete(keep)
			if err != nil {
				return err
			}
			return c.remove(cmd, obsolete)
		},
	}
	cmd.Flags().StringVarP(&count, "n", "n", "", "how many snapshots to keep")
	cmd.Flags().StringVar(&dir, "config", "", "directory of zoo.cfg; default ZOOCFGDIR, or ZOO_CONF_DIR")
	return cmd
}

// cleanup removes what newer snapshots have superseded. Unlike the server's own purge it trusts no catalogue and
// leaves alone what a server may be writing.
type cleanup struct {
	fs              vfs.FS
	snapDir, logDir string
}

// obsolete returns the files to remove, the logs before the snapshots, each the newest first.
func (c *cleanup) obsolete(keep int) (all []string, err error) {
	if err := datadir.Check(c.fs, c.snapDir, c.logDir); err != nil {
		return nil, err
	}
	oldest, ok, err := c.oldestKept(keep)
	if err != nil || !ok {
		return nil, err
	}
	logs, err := wal.Names(c.fs, c.logDir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(logs[:len(logs)-len(wal.Needed(logs, oldest))]) {
		all = append(all, filepath.Join(c.logDir, name))
	}
	snapshots, err := files.SnapshotNames(c.fs, c.snapDir)
	for _, name := range snapshots {
		if zxid, _, _ := snapshot.ParseName(name); zxid < oldest {
			all = append(all, filepath.Join(c.snapDir, name))
		}
	}
	return all, err
}

// oldestKept returns the oldest of the newest keep snapshots that are whole; not ok if there are not so many.
func (c *cleanup) oldestKept(keep int) (oldest proto.Zxid, ok bool, err error) {
	all, err := snapshot.List(c.fs, c.snapDir) // the newest first
	if err != nil {
		return 0, false, err
	}
	for _, m := range all {
		if _, err := snapshot.Verify(c.fs, filepath.Join(c.snapDir, m.Name)); err != nil {
			continue // it does not count
		}
		if keep--; keep == 0 {
			return m.Zxid, true, nil
		}
	}
	return 0, false, nil
}

// remove removes the files, and prints each with its time as Java does in an English locale.
func (c *cleanup) remove(cmd *cobra.Command, obsolete []string) error {
	for _, file := range obsolete {
		info, err := os.Stat(file)
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "Removing file: %s\t%s\n",
				info.ModTime().Format("Jan 2, 2006, 3:04:05 PM"), file)
			err = c.fs.Remove(file)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) { // the server has purged too
			return err
		}
	}
	return nil
}
