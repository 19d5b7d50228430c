package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/server/config"
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
		Long: "Makes the data directories that zoo.cfg names, with the file myid, and the mark `initialize`, with which a server starts on an\n" +
			"empty directory although db.autocreate is false. Directories with data are refused; with --force they are set aside\n" +
			"as version-2.before-initialize-<time>.",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("myid") && id < 1 {
				return &usageError{cmd, fmt.Errorf("--myid %d is not positive", id)}
			}
			return initialize(cmd, scriptConfig("", file), id, force)
		},
	}
	cmd.Flags().StringVar(&file, "configfile", "", "zoo.cfg, with a path or in ZOOCFGDIR")
	cmd.Flags().IntVar(&id, "myid", 0, "id of the server")
	cmd.Flags().BoolVar(&force, "force", false, "set aside what is there")
	return cmd
}

func initialize(cmd *cobra.Command, file string, id int, force bool) error {
	set := []string{}
	if id > 0 {
		set = append(set, "myid="+strconv.Itoa(id)) // a member's file may not be there yet
	}
	cfg, _, err := config.Load(file, set, os.Environ())
	if err != nil {
		return err
	}
	dirs := []string{filepath.Join(cfg.DataDir, "version-2")}
	if log := filepath.Join(cfg.DataLogDir, "version-2"); log != dirs[0] {
		dirs = append(dirs, log)
	}
	out := cmd.OutOrStdout()
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		if !force {
			return fmt.Errorf("there is data in %s (or use --force to force re-initialization)", dir)
		}
		aside := dir + ".before-initialize-" + time.Now().UTC().Format("20060102T150405.000")
		if err := os.Rename(dir, aside); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is %s now\n", dir, aside)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if id > 0 {
		fmt.Fprintf(out, "Using myid of %d\n", id)
		err = os.WriteFile(filepath.Join(cfg.DataDir, "myid"), fmt.Appendln(nil, id), 0o644)
	}
	mark, markErr := os.Create(filepath.Join(cfg.DataDir, "initialize"))
	if err = errors.Join(err, markErr); err != nil {
		return err
	}
	return mark.Close()
}
