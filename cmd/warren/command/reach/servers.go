package reach

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/proto/hostport"
	"github.com/seed94657493/warren/server/config"
)

// LocalServer is the server that is asked if none is named.
const LocalServer = "127.0.0.1:2181"

// AddServers adds the flag by which every command that asks servers takes them.
func AddServers(flags *pflag.FlagSet, servers *[]string) {
	flags.StringSliceVarP(servers, "servers", "s", []string{LocalServer}, "host:port of the client ports")
}

// NamedServers replaces what the flag says by the arguments, if there are any, and completes addresses without a
// port.
func NamedServers(cmd *cobra.Command, servers *[]string, args []string) error {
	if len(args) > 0 {
		if cmd.Flags().Changed("servers") {
			return cli.Misuse(cmd, errors.New("name the servers with --servers or as arguments, not both"))
		}
		*servers = nil
		for _, arg := range args {
			*servers = append(*servers, strings.Split(arg, ",")...)
		}
	}
	all := *servers
	if len(all) == 0 {
		return cli.Misuse(cmd, errors.New("no server is named"))
	}
	*servers = nil
	for _, s := range all { // a server that is named twice is one server
		if s = WithPort(s); !slices.Contains(*servers, s) {
			*servers = append(*servers, s)
		}
	}
	return nil
}

// ClientPortOf is where a member of an ensemble serves clients: at the host of its line, and at the port of the line
// or of the configuration.
func ClientPortOf(cfg *config.Config, m *config.Member) string {
	port := m.Client.Port
	if port == config.PortUnset {
		port = cfg.ClientPort
	}
	return net.JoinHostPort(m.Addresses[0].Host, strconv.Itoa(port))
}

// WithPort completes the address of a server by ZooKeeper's client port.
func WithPort(address string) string {
	complete, err := hostport.Complete(address, "2181")
	if err != nil {
		return address // who asks it says what is wrong with it
	}
	return complete
}
