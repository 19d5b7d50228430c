package reach

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/proto/hostport"
)

// adminPort is the port of admin servers, and adminPath the path of their commands, unless others are named.
const (
	adminPort = 8080
	adminPath = "/commands"
)

// AddAdminPort adds the flag for the admin port of servers that are named by their client ports; 0 is for
// ClientTLS.AdminPort.
func AddAdminPort(flags *pflag.FlagSet, port *int) {
	flags.IntVar(port, "admin-port", 0,
		"admin port of the servers (default: the one that each server reports, otherwise 8080)")
}

// AdminURL completes what names the commands of an admin server: a URL, or a host with or without a port, for which
// the scheme is http and the path is /commands. It refuses what is wrong.
func AdminURL(cmd *cobra.Command, name string) (string, error) {
	if !strings.Contains(name, "://") {
		at, path, _ := strings.Cut(name, "/")
		at, err := hostport.Complete(at, strconv.Itoa(adminPort))
		if err != nil {
			return "", cli.Misuse(cmd, err)
		}
		name = "http://" + at + "/" + path
	}
	u, err := url.Parse(name)
	switch {
	case err != nil || u.Hostname() == "":
		return "", cli.Misuse(cmd,
			fmt.Errorf("%q is not the address of an admin server, such as zk1:8080 or http://zk1:8080/commands", name))
	case u.Scheme != "http" && u.Scheme != "https":
		return "", cli.Misuse(cmd, fmt.Errorf("%q is neither an http nor an https URL", name))
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = adminPath
	}
	return u.String(), nil
}
