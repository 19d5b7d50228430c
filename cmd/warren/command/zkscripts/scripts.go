// Package zkscripts has ZooKeeper's scripts under their own names, zkServer.sh to zkSnapshotComparer.sh, with the
// arguments, texts and exit codes of the scripts. They run in one goroutine.
package zkscripts

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server/config"
)

// Commands returns ZooKeeper's scripts under their own names. They are hidden: other users have commands
// that say what they do. Source: operations 5 and 6.
func Commands() []*cobra.Command {
	return []*cobra.Command{newZkServerCommand(), newZkInitializeCommand(), exitsWithOne(newZkCleanupCommand()),
		exitsWithOne(newTxnLogToolkitCommand()), newSnapShotToolkitCommand(),
		newRecursiveSummaryCommand(), newSnapshotComparerCommand()}
}

// Arguments are the arguments of warren for a process that was started as argv. Under the names of ZooKeeper's
// scripts, to which links point in the container image, they are those of the script; .sh may be left out. Source:
// operations 11.1.
func Arguments(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	script := strings.TrimSuffix(filepath.Base(argv[0]), ".sh") + ".sh"
	isScript := func(c *cobra.Command) bool { return c.Name() == script }
	if script == "zkCli.sh" || slices.ContainsFunc(Commands(), isScript) {
		return append([]string{script}, argv[1:]...)
	}
	return argv[1:]
}

// scriptUsageError is a wrong invocation of one of ZooKeeper's tools that exit with 1 then.
type scriptUsageError struct{ *cli.UsageError }

// ExitCode is that of the tool.
func (scriptUsageError) ExitCode() int { return cli.ExitUnexpected }

// exitsWithOne makes wrong flags of such a tool one of those errors.
func exitsWithOne(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return scriptUsageError{cli.Misuse(cmd, err)} })
	return cmd
}

// scriptConfig is the zoo.cfg that ZooKeeper's scripts take: a path as it is, a plain name in the directory. Both may
// be empty. In a container it is the one with which `warren server` starts. Source: operations 6.1.
func scriptConfig(dir, file string) string {
	dir = cmp.Or(dir, os.Getenv("ZOOCFGDIR"))
	if image := config.NewImage(os.Environ()); dir == "" && image.File != "" {
		dir = filepath.Dir(image.File)
	}
	dir = cmp.Or(dir, "/etc/zookeeper/conf")
	file = cmp.Or(file, os.Getenv("ZOOCFG"), "zoo.cfg")
	if strings.ContainsRune(file, filepath.Separator) {
		return file
	}
	return filepath.Join(dir, file)
}
