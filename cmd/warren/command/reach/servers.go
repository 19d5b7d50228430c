package reach

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/proto/hostport"
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
	*servers = nil
	for _, s := range all { // a server that is named twice is one server
		if strings.TrimSpace(s) == "" {
			continue // behind a comma too many, which is nothing to ZooKeeper's clients
		}
		address, err := Address(cmd, s)
		if err != nil {
			return err
		}
		if !slices.Contains(*servers, address) {
			*servers = append(*servers, address)
		}
	}
	if len(*servers) == 0 {
		return cli.Misuse(cmd, errNoServer)
	}
	return nil
}

var errNoServer = errors.New("no server is named")

// clientPort is ZooKeeper's port for clients.
const clientPort = "2181"

// Address completes the address of a server by ZooKeeper's client port, and refuses one that is wrong.
func Address(cmd *cobra.Command, name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", cli.Misuse(cmd, errNoServer)
	}
	address, err := hostport.Complete(name, clientPort)
	if err != nil {
		return "", cli.Misuse(cmd, err)
	}
	return address, nil
}

// WithPort is Address for an address of a configuration, which has been checked.
func WithPort(address string) string {
	complete, err := hostport.Complete(address, clientPort)
	if err != nil {
		return address
	}
	return complete
}
