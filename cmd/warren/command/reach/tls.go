package reach

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto/hostport"
)

// ClientTLS is how commands that ask servers learn whether these speak TLS: from the file that zkCli.sh has for that.
type ClientTLS struct{ file string }

// AddTo adds the flag. A file that cannot be used is refused before the command runs.
func (c *ClientTLS) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.file, "client-configuration", "",
		"file with zkCli.sh's zookeeper.ssl.* settings, for client ports and admin ports that speak TLS; "+
			"stores must be PEM")
	cli.Before(cmd, func() error {
		_, err := c.Of("")
		return err
	})
}

// Srvr asks the server at s.Address the word srvr.
func (c *ClientTLS) Srvr(ctx context.Context, s *Status, timeout time.Duration) error {
	secure, err := c.Of(s.Address)
	if err != nil {
		return err
	}
	return s.Ask(ctx, timeout, secure)
}

// AdminPort finds the admin port of the server with this client port: the one that it tells, else the usual one, as a
// server of ZooKeeper tells none.
func (c *ClientTLS) AdminPort(ctx context.Context, address string, timeout time.Duration) int {
	return cmp.Or(c.ToldAdminPort(ctx, address, timeout), adminPort)
}

// ToldAdminPort is the admin port that the server with this client port tells; 0 if it tells none.
func (c *ClientTLS) ToldAdminPort(ctx context.Context, address string, timeout time.Duration) int {
	var told findings.Record
	if secure, err := c.Of(address); err == nil {
		text, _ := doctor.AskWord(ctx, address, "fact", timeout, secure, WordMax)
		_ = json.Unmarshal([]byte(text), &told)
	}
	return max(told.Self.AdminPort, 0)
}

// AdminCommands returns the URL of the commands of the server with this client port, for orders to it and no other:
// at the admin port that it tells, else at the usual one, if the admin server there is that server's.
func (c *ClientTLS) AdminCommands(ctx context.Context, address string, timeout time.Duration) (string, error) {
	port := c.ToldAdminPort(ctx, address, timeout)
	if port == 0 {
		port = adminPort
		usual := doctor.AdminPort{Port: port, Timeout: timeout, TLS: c.Of}
		if _, err := usual.ZabState(ctx, address); err != nil {
			if down := c.Down(ctx, address, timeout); down != nil {
				return "", fmt.Errorf("%s: %w", address, down)
			}
			return "", fmt.Errorf("%s tells no admin port, so name it with --admin: %w", address, err)
		}
	}
	return c.AdminCommandsAt(address, port)
}

// Down is why the server at a client port does not answer there; nil if it does. It is for errors of an admin port
// that was a guess, because the server has told none.
func (c *ClientTLS) Down(ctx context.Context, address string, timeout time.Duration) error {
	if down, ok := errors.AsType[*net.OpError](c.Srvr(ctx, &Status{Address: address}, timeout)); ok {
		return down
	}
	return nil
}

// AdminCommandsAt is AdminCommands for a known admin port. If client ports are dialled by TLS, so is the admin port.
func (c *ClientTLS) AdminCommandsAt(address string, port int) (string, error) {
	host, _, err := hostport.Split(address)
	if err != nil {
		return "", err
	}
	secure, err := c.Of(address)
	if err != nil {
		return "", err
	}
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: adminPath}
	if secure != nil {
		at.Scheme = "https"
	}
	return at.String(), nil
}

// Of returns what to dial a server with; nil is plain text.
func (c *ClientTLS) Of(address string) (*tls.Config, error) {
	if c.file == "" {
		return nil, nil
	}
	settings, err := shell.ReadSettings(c.file)
	if err != nil {
		return nil, err
	}
	files, err := shell.TLSOf(settings)
	if files == nil {
		return nil, err
	}
	cfg, err := files.Config()
	if err == nil && cfg.ServerName == "" {
		cfg.ServerName, _, err = hostport.Split(address)
		cfg.ServerName = hostport.WithoutZone(cfg.ServerName)
	}
	return cfg, err
}
