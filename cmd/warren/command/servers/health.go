package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
)

// healthOptions are the flags of warren health.
type healthOptions struct {
	reach.ClientTLS
	timeout   time.Duration
	wait      time.Duration
	process   bool
	adminPort int
	encrypted bool // the target is a port that speaks TLS alone
}

// healthPause is the time between two questions of --wait.
const healthPause = 100 * time.Millisecond

func newHealthCommand() *cobra.Command {
	var o healthOptions
	cmd := &cobra.Command{
		Use:   "health [HOST:PORT | URL]",
		Short: "Ask one server whether it serves, for probes and scripts",
		Long: "Asks the server at HOST:PORT (127.0.0.1:2181 by default) with the word srvr, which every server\n" +
			"answers, and prints its mode. In a container the default is the port that the variables of the image\n" +
			"give to the server. With a URL, which begins with http:// or https://, it asks that:\n" +
			"/readyz of the admin port says whether a server serves, /readyz?clients whether it takes clients\n" +
			"(with leaderServes=no a leader doesn't), /healthz whether its process answers.\n\n" +
			"With --process it is enough that the process answers, at the client port or at /healthz of the " +
			"admin\n" +
			"port. That is for probes that restart a server: a restart doesn't help a server that has no quorum\n" +
			"or is loading its data.\n\n" +
			"The exit code is 0 if the server serves, or if the URL answers 200, and 1 otherwise. The command\n" +
			"needs no shell, so it can be the probe of a container that has none.",
		Example: "  warren health\n" +
			"  warren health zk1:2181\n" +
			"  warren health http://127.0.0.1:8080/healthz\n" +
			"  warren health --process\n" +
			"  warren health --wait 30s 127.0.0.1:2181",
		Args: cli.Arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			var target string
			if len(args) == 0 {
				target, o.encrypted = localServer()
			} else {
				target = args[0]
			}
			if err := checkTarget(cmd, target); err != nil {
				return err
			}
			answer, err := o.ask(cmd.Context(), target)
			if err != nil {
				return fmt.Errorf("%s: %w", target, err)
			}
			return cli.Printf(cmd.OutOrStdout(), "%s: %s\n", target, answer)
		},
	}
	o.AddTo(cmd)
	cli.AddTimeout(cmd.Flags(), &o.timeout, 3*time.Second, "how long to wait for an answer")
	cmd.Flags().DurationVar(&o.wait, "wait", 0, "how long to keep asking until the server serves")
	cmd.Flags().BoolVar(&o.process, "process", false, "succeed if the process answers, even if it does not serve")
	cmd.Flags().IntVar(&o.adminPort, "admin-port", findAdminPort,
		"admin port, for --process (default: the one that the server tells, else 8080); 0: not asked")
	cmd.Flags().Lookup("admin-port").DefValue = "0" // its usage says what it is
	return cmd
}

// findAdminPort is the admin port to find out, where 0 is not to ask one.
const findAdminPort = -1

// ask asks until the server serves or the time is over, and returns what it said last.
func (o *healthOptions) ask(ctx context.Context, target string) (string, error) {
	deadline := time.Now().Add(o.wait)
	for {
		ask := o.askOnce
		if o.process {
			ask = o.askProcess
		}
		answer, err := ask(ctx, target)
		if err == nil || !time.Now().Before(deadline) {
			return answer, err
		}
		if cli.Pause(ctx, healthPause) != nil {
			return "", err
		}
	}
}

// isURL reports whether a target is a URL, and not a client port.
func isURL(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// checkTarget refuses what is neither a URL nor an address.
func checkTarget(cmd *cobra.Command, target string) error {
	if !isURL(target) {
		_, err := reach.Address(cmd, target)
		return err
	}
	if u, err := url.Parse(target); err != nil || u.Hostname() == "" {
		return cli.Misuse(cmd, fmt.Errorf("%q is not a URL such as http://127.0.0.1:8080/readyz", target))
	}
	return nil
}

// localServer is the server of this machine: in a container with the variables of ZooKeeper's images, it is where its
// zoo.cfg says. encrypted is true if it has no other port than one with TLS.
func localServer() (address string, encrypted bool) {
	image := config.NewImage(os.Environ())
	if image.File == "" {
		return reach.LocalServer, false
	}
	cfg, _, err := image.Load(nil, os.Environ())
	if err != nil {
		return reach.LocalServer, false // it does not start
	}
	host, port := cfg.ClientPortAddress, cfg.ClientPort
	if port == config.PortUnset {
		host, port, encrypted = cfg.SecureClientPortAddress, cfg.SecureClientPort, true
	}
	if port == config.PortUnset {
		return reach.LocalServer, false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), encrypted
}

func (o *healthOptions) askOnce(ctx context.Context, target string) (string, error) {
	if isURL(target) {
		return o.askURL(ctx, target)
	}
	s := reach.Status{Address: reach.WithPort(target)}
	err := o.Srvr(ctx, &s, o.timeout)
	return s.Role, err
}

// askProcess asks whether the process of a server answers. A client port that is not open yet, or that speaks TLS
// alone, does not answer, but the admin port may.
func (o *healthOptions) askProcess(ctx context.Context, target string) (string, error) {
	answer, err := o.askOnce(ctx, target)
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, reach.ErrNotServing):
		return "the process answers, " + wording.Text(err), nil
	case o.encrypted && shakesHands(ctx, target, o.timeout):
		return "the process answers by TLS", nil
	case o.adminPort == 0:
		return "", err
	}
	const path = "/healthz"
	admin := doctor.AdminPort{Port: o.adminPort, Timeout: o.timeout, TLS: o.Of}
	address := reach.WithPort(target)
	if admin.Port == findAdminPort {
		admin.Port = o.AdminPort(ctx, address, o.timeout)
	}
	health, adminErr := admin.Get(ctx, address, path)
	if adminErr == nil && health.Code != http.StatusOK {
		adminErr = fmt.Errorf("%s answers %s", path, health.Status)
	}
	if adminErr != nil {
		return "", errors.Join(err, adminErr)
	}
	return "the process answers at its admin port", nil
}

// shakesHands reports whether a port shows a certificate, whatever it is.
func shakesHands(ctx context.Context, address string, timeout time.Duration) (shown bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, // nothing is said to it
		VerifyConnection: func(tls.ConnectionState) error { shown = true; return nil }}}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return shown // also by one that demands a certificate in turn
}

// askURL returns the status line if the answer is 200.
func (o *healthOptions) askURL(ctx context.Context, target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	secure, err := o.Of(u.Host)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	answer, err := doctor.AskURL(ctx, http.MethodGet, target, nil, "", secure)
	if err != nil {
		return "", err
	}
	if answer.Code != http.StatusOK {
		return "", errors.New("answers " + answer.Status)
	}
	return answer.Status, nil
}
