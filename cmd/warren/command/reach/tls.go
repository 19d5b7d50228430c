package reach

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto/hostport"
)

// ClientTLS is how commands that ask servers learn whether these speak TLS: from the file that zkCli.sh has for that.
type ClientTLS struct{ file string }

// AddTo adds the flag.
func (c *ClientTLS) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&c.file, "client-configuration", "",
		"file with zkCli.sh's zookeeper.ssl.* settings, for client ports and admin ports that speak TLS; "+
			"stores must be PEM")
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
	var told findings.Record
	if secure, err := c.Of(address); err == nil {
		text, _ := doctor.AskWord(ctx, address, "fact", timeout, secure, WordMax)
		_ = json.Unmarshal([]byte(text), &told)
	}
	if told.Self.AdminPort > 0 {
		return told.Self.AdminPort
	}
	return adminPort
}

// Of returns what to dial a server with; nil is plain text.
func (c *ClientTLS) Of(address string) (*tls.Config, error) {
	if c.file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, fmt.Errorf("--client-configuration: %w", err)
	}
	files, err := shell.ReadClientConfiguration(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.file, err)
	}
	if files == nil {
		return nil, nil
	}
	cfg, err := files.Config()
	if err == nil && cfg.ServerName == "" {
		cfg.ServerName, _, err = hostport.Split(address)
		cfg.ServerName = hostport.WithoutZone(cfg.ServerName)
	}
	return cfg, err
}
