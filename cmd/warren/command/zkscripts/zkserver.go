package zkscripts

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto/hostport"
)

// zkServerTimeout is how long zkServer.sh status waits for an answer.
const zkServerTimeout = 3 * time.Second

// zkServerWords is what the script can do.
const zkServerWords = "{start|start-foreground|stop|version|restart|status|print-cmd|print-classpath}"

func newZkServerCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "zkServer.sh [--config DIR] " + zkServerWords + " [ZOO_CFG]",
		Short: "ZooKeeper's script zkServer.sh",
		Long: "Start, stop and ask a server as ZooKeeper's script does. start leaves a server " +
			"behind that writes to\n" +
			"zookeeper-USER-server-HOST.out in ZOO_LOG_DIR, or else in dataDir; its process id is in " +
			"ZOOPIDFILE, or else in\n" +
			"dataDir/zookeeper_server.pid. Where a service manager runs, leave that to it: see docs/INSTALL.md.",
		Hidden: true,
		Args:   cli.Arguments(1, 2, "say what to do: start, stop or status, for example"),
		RunE:   func(cmd *cobra.Command, args []string) error { return runZkServer(cmd, dir, args) },
	}
	cmd.Flags().StringVar(&dir, "config", "", "directory of zoo.cfg; default ZOOCFGDIR, or ZOO_CONF_DIR")
	return cmd
}

func runZkServer(cmd *cobra.Command, dir string, args []string) error {
	file := ""
	if len(args) == 2 {
		file = args[1]
	}
	file = scriptConfig(dir, file)
	fmt.Fprintln(cmd.ErrOrStderr(), "Using config: "+file)
	for _, name := range []string{"zookeeper-env.sh", "java.env"} { // shell scripts, which ZooKeeper's sources
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), name)); err == nil {
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%s is not read: export its variables before, or put its -D settings into %s\n",
				filepath.Join(filepath.Dir(file), name), filepath.Base(file))
		}
	}
	out := cmd.OutOrStdout()
	switch args[0] {
	case "start-foreground":
		server := serve.NewServerCommand()
		server.SetContext(cmd.Context())
		server.SetOut(out)
		server.SetErr(cmd.ErrOrStderr())
		return server.RunE(server, []string{file})
	case "start", "stop", "restart":
		d, err := newDaemon(file, args[0], out)
		if err != nil {
			return err
		}
		return d.run(args[0])
	case "status":
		return zkServerStatus(cmd, file)
	case "version":
		fmt.Fprintln(out, "Apache ZooKeeper, version "+build.This().ZooKeeperVersion())
	case "print-cmd":
		fmt.Fprintln(out, "warren server "+file)
	case "print-classpath":
		fmt.Fprintln(out, "CLASSPATH=")
	default:
		return cli.Misuse(cmd, fmt.Errorf("unknown command %q", args[0]))
	}
	return nil
}

// zkServerStatus prints the line Mode: that probes look for. It asks the plain client port, or if there is none the
// secure one.
func zkServerStatus(cmd *cobra.Command, file string) error {
	cfg, _, err := serve.Load(file, nil)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	port, host, isSecure := cfg.ClientPort, cfg.ClientPortAddress, false
	if port <= 0 {
		fmt.Fprintln(out, "Client port not found. Looking for secureClientPort in the static config.")
		port, host, isSecure = cfg.SecureClientPort, cfg.SecureClientPortAddress, true
	}
	if port <= 0 {
		fmt.Fprintln(out, "Unable to find either secure or unsecure client port in any configs. Terminating.")
		return cli.ExitStatus(cli.ExitUnexpected)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	fmt.Fprintf(out, "Client port found: %d. Client address: %s. Client SSL: %t.\n", port, host, isSecure)
	s, err := zkServerAsk(cmd.Context(), host, port, isSecure)
	if err != nil {
		if isSecure {
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%s; the settings of TLS are the -Dzookeeper.ssl.* tokens of CLIENT_JVMFLAGS\n", wording.Text(err))
		}
		fmt.Fprintln(out, "Error contacting service. It is probably not running.")
		return cli.ExitStatus(cli.ExitUnexpected)
	}
	return cli.Printf(out, "Mode: %s\n", s.Role)
}

func zkServerAsk(ctx context.Context, host string, port int, isSecure bool) (s reach.Status, err error) {
	var secure *tls.Config
	if isSecure {
		if secure, err = scriptTLS(host); err != nil {
			return s, err
		}
	}
	s.Address = net.JoinHostPort(host, strconv.Itoa(port))
	return s, s.Ask(ctx, zkServerTimeout, secure)
}

// scriptTLS reads the settings of TLS in CLIENT_JVMFLAGS, which are those of a client configuration.
func scriptTLS(host string) (*tls.Config, error) {
	files, err := shell.TLSOf(append(reach.JavaFlags("CLIENT_JVMFLAGS"),
		shell.Setting{Key: "zookeeper.client.secure", Value: "true"}))
	if err != nil {
		return nil, err
	}
	cfg, err := files.Config()
	if err == nil && cfg.ServerName == "" {
		cfg.ServerName = hostport.WithoutZone(host)
	}
	return cfg, err
}
