package servers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/internal/sasl"
)

// shellOptions are the flags of warren shell.
type shellOptions struct {
	server      string
	readOnly    bool
	timeout     cli.DurationFlag
	connectWait time.Duration
	waitLong    bool
	quiet       bool
	pager       bool
	output      string
	auth        []string
	config      string
	tls         bool
	tlsFiles    shell.TLSFiles
	login       shell.Login
}

// zkCli is the name of ZooKeeper's shell, under which ours greets and prints events as that does.
const zkCli = "zkCli.sh"

func newShellCommand() *cobra.Command {
	o := shellOptions{server: "localhost:2181", timeout: cli.DurationFlag(30 * time.Second),
		connectWait: 5 * time.Second}
	cmd := &cobra.Command{
		Use:     "shell [flags] [COMMAND [ARGUMENT]...]",
		Aliases: []string{"cli", zkCli},
		Short:   "Look at and change znodes, like zkCli.sh",
		Long: "Runs one COMMAND; without one, the lines of standard input, or what you type at a terminal.\n" +
			"Commands, their flags, texts and exit codes are those of zkCli.sh; `warren shell help` lists\n" +
			"them, with export, import, find, tree and watch, which are Warren's. zkCli.sh's own flags may be\n" +
			"written with one dash. Only results are printed; when run as zkCli.sh, through a link, it also\n" +
			"prints that script's greeting and session events.\n\n" +
			"At a terminal, Tab completes commands, flags, paths and ACLs, the arrows and Ctrl-P and Ctrl-N\n" +
			"walk through the history, Ctrl-R searches it, Ctrl-C ends the running command, and Ctrl-D ends\n" +
			"the shell.\n\n" +
			"Exit codes: 0 done, 1 the command failed, 2 wrong flags, 127 unknown command, 130 interrupted;\n" +
			"after several commands, that of the last one. NO_COLOR switches colours off.",
		Example: "  warren shell\n" +
			"  warren shell -s zk1:2181,zk2:2181/app get -s /settings\n" +
			"  warren shell -s zk1:2181 --output json ls / | jq .children\n" +
			"  warren shell export /app app.json",
		DisableFlagParsing: true, // flags of zkCli.sh have one dash, and those behind COMMAND are the command's
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			flags.SetInterspersed(false)
			switch err := flags.Parse(twoDashes(args)); {
			case errors.Is(err, pflag.ErrHelp):
				return cmd.Help()
			case err != nil:
				return cli.Misuse(cmd, err)
			}
			if help, _ := flags.GetBool("help"); help {
				return cmd.Help()
			}
			return o.run(cmd, flags.Args())
		},
	}
	flags := cmd.Flags()
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "servers" { // as other commands have it
			name = "server"
		}
		return pflag.NormalizedName(name)
	})
	flags.StringVarP(&o.server, "server", "s", o.server, "host:port,host:port/chroot; --servers is the same")
	flags.BoolVarP(&o.readOnly, "readonly", "r", false, "accept a server without a quorum, which serves reads only")
	flags.Var(&o.timeout, "timeout", "timeout of the session, in milliseconds or as 10s")
	flags.DurationVar(&o.connectWait, "connect-wait", o.connectWait, "how long a command waits for a connection")
	flags.BoolVar(&o.waitLong, "waitforconnection", false, "wait for a connection as long as the session's timeout")
	flags.BoolVarP(&o.quiet, "quiet", "q", false,
		"no greeting at a terminal, and no watch events until printwatches on")
	flags.BoolVar(&o.pager, "pager", true, "wait for a key after each screen of output, when commands are typed")
	cli.AddOutput(flags, &o.output, "text", "text, or json: one object a line")
	flags.StringArrayVar(&o.auth, "auth", nil,
		"identity of the session, scheme:auth as in digest:user:password; can be repeated")
	flags.StringVar(&o.login.File, "jaas", "", "JAAS file; the session authenticates with SASL as its section says")
	flags.StringVar(&o.login.Section, "jaas-section", "", "section of the JAAS file (default Client)")
	flags.BoolVar(&o.login.Tickets, "kerberos", false,
		"authenticate with the Kerberos tickets of kinit, without a JAAS file")
	flags.StringVar(&o.login.Server, "server-principal", "",
		"Kerberos principal of the servers (default zookeeper/_HOST, with the host's name)")
	flags.StringVar(&o.config, "client-configuration", "",
		"file with zkCli.sh's settings of TLS and SASL; stores must be PEM")
	flags.BoolVar(&o.tls, "tls", false, "use TLS; implied by the other --tls flags")
	flags.StringVar(&o.tlsFiles.CA, "tls-ca", "", "PEM file of the certificates to trust, instead of the system's")
	flags.StringVar(&o.tlsFiles.Cert, "tls-cert", "", "PEM file of this client's certificate")
	flags.StringVar(&o.tlsFiles.Key, "tls-key", "", "PEM file of its key, if it is not in the file of the certificate")
	flags.StringVar(&o.tlsFiles.ServerName, "tls-server-name", "",
		"name that the server's certificate must have, if not the host")
	flags.BoolVar(&o.tlsFiles.Insecure, "tls-insecure", false, "do not check the server's certificate")
	return cmd
}

// twoDashes rewrites zkCli.sh's flags before the command.
func twoDashes(args []string) []string {
	rewritten := append([]string(nil), args...)
	for i := 0; i < len(rewritten); i++ {
		switch rewritten[i] {
		case "-server", "-servers", "-timeout", "-client-configuration":
			rewritten[i] = "-" + rewritten[i]
			i++ // its value
		case "-waitforconnection", "-readonly":
			rewritten[i] = "-" + rewritten[i]
		case "-s", "--server", "--servers", "--timeout", "--connect-wait", "--output", "--auth",
			"--client-configuration", "--jaas", "--jaas-section", "--server-principal", "--tls-ca", "--tls-cert",
			"--tls-key", "--tls-server-name":
			i++
		default:
			if !strings.HasPrefix(rewritten[i], "-") {
				return rewritten // from here on it is the command's
			}
		}
	}
	return rewritten
}

// options returns what the flags mean.
func (o *shellOptions) options(cmd *cobra.Command) (so shell.Options, err error) {
	so = shell.Options{Servers: o.server, Timeout: time.Duration(o.timeout), ConnectWait: o.connectWait,
		ReadOnly: o.readOnly, Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), JSON: o.output == "json",
		Quiet: o.quiet || o.output == "json", Version: build.This().ZooKeeperVersion(), Build: build.This().Version}
	if o.waitLong {
		so.ConnectWait = so.Timeout
	}
	if o.connectWait <= 0 {
		return so, fmt.Errorf("--connect-wait %v: it must be more than 0, such as 5s", o.connectWait)
	}
	for _, a := range o.auth {
		scheme, auth, ok := strings.Cut(a, ":")
		if !ok || scheme == "" {
			return so, errors.New("--auth is not scheme:auth, as in digest:user:password")
		}
		so.Auth = append(so.Auth, shell.Auth{Scheme: scheme, Auth: auth})
	}
	settings := reach.JavaFlags("CLIENT_JVMFLAGS", "JVMFLAGS") // as zkCli.sh has them
	if o.config != "" {
		file, err := shell.ReadSettings(o.config)
		if err != nil {
			return so, err
		}
		settings = append(settings, file...)
	}
	o.login.By = "--jaas"
	login := o.login.Or(shell.LoginOf(settings))
	so.SASL, err = login.SASL()
	if strings.HasPrefix(login.By, "JVMFLAGS:") && (errors.Is(err, sasl.ErrNoSection) ||
		errors.Is(err, fs.ErrPermission)) {
		err = nil // the file of a server: like zkCli.sh, the shell does not authenticate
	}
	if err != nil {
		return so, err
	}
	files := &o.tlsFiles
	if *files == (shell.TLSFiles{}) && !o.tls {
		files, err = shell.TLSOf(settings)
	}
	if err == nil && files != nil {
		so.TLS, err = files.Config()
	}
	return so, err
}

// run runs the shell in the mode that the arguments and the standard streams ask for.
func (o *shellOptions) run(cmd *cobra.Command, words []string) error {
	so, err := o.options(cmd)
	if err != nil {
		return cli.Misuse(cmd, err)
	}
	in, inFile := cli.TerminalOf(cmd.InOrStdin())
	_, outFile := cli.TerminalOf(so.Out)
	_, errFile := cli.TerminalOf(so.Err)
	hasColours := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && !so.JSON
	so.Colours, so.ErrColours, so.Hints = hasColours && outFile != nil, hasColours && errFile != nil, errFile != nil
	so.Pager = o.pager
	so.Screen = outFile != nil && !so.JSON
	so.ZkCli = cmd.CalledAs() == zkCli
	so.Typed = len(words) == 0 && inFile != nil && outFile != nil
	if so.Typed {
		so.HistoryFile = historyFile()
	}

	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	defer signal.Stop(interrupt)

	s, err := shell.New(so)
	if err != nil {
		return cli.Misuse(cmd, err)
	}
	var code int
	switch {
	case so.Typed:
		resize := make(chan os.Signal, 1)
		signal.Notify(resize, resized...)
		defer signal.Stop(resize)
		code = s.Terminal(ctx, inFile, outFile, shell.Signals{Interrupt: interrupt, Resize: resize})
	default:
		var cancel context.CancelFunc
		ctx, cancel = shell.UntilInterrupt(ctx, interrupt)
		defer cancel()
		if len(words) > 0 {
			code = s.Command(ctx, words)
		} else {
			code = s.Script(ctx, in)
		}
	}
	s.Close()
	if code != cli.ExitOK {
		return cli.ExitStatus(code)
	}
	return nil
}

// historyFile is where typed lines are kept: WARREN_HISTORY, or the state directory of the user; "" if there is none.
func historyFile() string {
	if name, ok := os.LookupEnv("WARREN_HISTORY"); ok {
		return name
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "warren", "shell_history")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "warren", "shell_history")
}
