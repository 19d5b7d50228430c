package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// zkServerTimeout is how long zkServer.sh status waits for an answer.
const zkServerTimeout = 3 * time.Second

// Arguments are the arguments of warren for a process that was started as argv. Under the names of ZooKeeper's scripts, by which
// links of the container image point here, they are those of the script. Source: operations.md section 6.1, 11.1.
func Arguments(argv []string) []string {
	switch {
	case len(argv) == 0:
		return nil
	case filepath.Base(argv[0]) == "zkServer.sh":
		return append([]string{"zkServer.sh"}, argv[1:]...)
	case filepath.Base(argv[0]) == "zkCli.sh":
		return append([]string{"shell"}, argv[1:]...)
	}
	return argv[1:]
}

// newZkServerCommand is zkServer.sh as far as containers and probes use it. It is hidden: who does not come from ZooKeeper needs
// `warren server` and `warren status`.
func newZkServerCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "zkServer.sh [--config DIR] {start-foreground|status|version|print-cmd|print-classpath} [ZOO_CFG]",
		Short: "ZooKeeper's script zkServer.sh",
		Long: "The words of ZooKeeper's script that need no daemon. There is no start, stop and restart: `warren server` stays in the\n" +
			"foreground, where service managers want it.",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return &usageError{cmd, errors.New("what?")}
			case len(args) > 2:
				return &usageError{cmd, fmt.Errorf("unexpected argument %q", args[2])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runZkServer(cmd, dir, args) },
	}
	cmd.Flags().StringVar(&dir, "config", "", "directory of zoo.cfg; default ZOOCFGDIR, or ZOO_CONF_DIR")
	return cmd
}

func runZkServer(cmd *cobra.Command, dir string, args []string) error {
	file := ""
	if len(args) == 2 {
		file = args[1]
	}
	file = zkServerConfig(dir, file)
	fmt.Fprintln(cmd.ErrOrStderr(), "Using config: "+file)
	out := cmd.OutOrStdout()
	switch args[0] {
	case "start-foreground":
		server := newServerCommand()
		server.SetContext(cmd.Context())
		server.SetOut(out)
		server.SetErr(cmd.ErrOrStderr())
		return server.RunE(server, []string{file})
	case "status":
		return zkServerStatus(cmd, file)
	case "version":
		fmt.Fprintln(out, "Apache ZooKeeper, version "+thisBuild().zookeeperVersion())
	case "print-cmd":
		fmt.Fprintln(out, "warren server "+file)
	case "print-classpath":
		fmt.Fprintln(out, "CLASSPATH=")
	default:
		return &usageError{cmd, fmt.Errorf("%q is none of the words of zkServer.sh that are supported", args[0])}
	}
	return nil
}

// zkServerConfig is the file that the script would take: a path as it is, a plain name in the directory.
func zkServerConfig(dir, file string) string {
	for _, name := range []string{"ZOOCFGDIR", "ZOO_CONF_DIR"} {
		if dir == "" {
			dir = os.Getenv(name)
		}
	}
	if dir == "" {
		dir = "/etc/zookeeper/conf"
	}
	if file == "" {
		file = os.Getenv("ZOOCFG")
	}
	if file == "" {
		file = "zoo.cfg"
	}
	if strings.ContainsRune(file, filepath.Separator) {
		return file
	}
	return filepath.Join(dir, file)
}

// zkServerStatus prints the line Mode: that probes look for.
func zkServerStatus(cmd *cobra.Command, file string) error {
	cfg, _, err := (&serverOptions{config: file}).load(newServerCommand(), nil)
	if err != nil {
		return err
	}
	port, host := cfg.ClientPort, cfg.ClientPortAddress
	if port <= 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "Unable to find unsecure client port in any configs. Terminating.")
		return exitStatus(exitUnexpected)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Client port found: %d. Client address: %s. Client SSL: false.\n", port, host)
	text, err := askWord(cmd.Context(), net.JoinHostPort(host, strconv.Itoa(port)), "srvr", zkServerTimeout)
	var s serverStatus
	if err == nil {
		err = s.parse(text)
	}
	if err != nil {
		fmt.Fprintln(cmd.OutOrStdout(), "Error contacting service. It is probably not running.")
		return exitStatus(exitUnexpected)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "Mode: "+s.Role)
	return err
}
