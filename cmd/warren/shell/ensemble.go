package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
)

// configResult is the configuration of the ensemble.
type configResult struct {
	Config string     `json:"config"`
	Stat   *shownStat `json:"stat,omitempty"`
	before string     // a line that text has before it
}

func (r configResult) appendText(b []byte, c colours) []byte {
	return r.Stat.appendText(append(append(append(b, r.before...), r.Config...), '\n'), c)
}

func runConfig(ctx context.Context, s *Shell, a *arguments) error {
	data, stat, err := s.link.client.Config(ctx)
	if err != nil {
		return err
	}
	if a.has("w") {
		if hasChroot(s.link.servers) {
			return wrong("config -w cannot watch "+client.ConfigPath+" below a chroot", "connect without one")
		}
		var w *client.Watch
		if data, stat, w, err = s.link.client.GetW(ctx, client.ConfigPath); err != nil {
			return err
		}
		s.link.watches.hold(client.ConfigPath, client.WatcherData, w)
	}
	r := configResult{Config: string(data), Stat: a.stat(stat)}
	if a.has("c") {
		r.Config = clientConfig(r.Config)
	}
	return s.out.emit(r)
}

// hasChroot reports whether a connect string, which has been accepted, has a chroot.
func hasChroot(connect string) bool {
	_, root, _ := strings.Cut(strings.TrimPrefix(connect, "dns-srv://"), "/")
	return root != ""
}

// clientConfig is the version and the client addresses of a configuration, in the order of the servers' ids. Source:
// operations 1.6 and 5.5.
func clientConfig(config string) string {
	type server struct {
		id      int
		address string
	}
	var servers []server
	version := ""
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "version" {
			version = value
		}
		id, isServer := strings.CutPrefix(key, "server.")
		if !isServer {
			continue
		}
		n, _ := strconv.Atoi(id) // an id that is no number sorts first
		_, addresses, _ := strings.Cut(value, ";")
		address, _, _ := strings.Cut(addresses, ";") // behind it is that of the TLS port
		if address == "" {
			continue
		}
		if !strings.Contains(address, ":") {
			address = net.JoinHostPort("0.0.0.0", address)
		}
		servers = append(servers, server{n, address})
	}
	slices.SortStableFunc(servers, func(x, y server) int { return cmp.Compare(x.id, y.id) })
	addresses := make([]string, 0, len(servers))
	for _, s := range servers {
		addresses = append(addresses, s.address)
	}
	return version + " " + strings.Join(addresses, ",")
}

func runReconfig(ctx context.Context, s *Shell, a *arguments) error {
	isWhole, isStep := a.has("file") || a.has("members"), a.has("add") || a.has("remove")
	switch {
	case isWhole && isStep:
		return wrong("Can't use -file or -members together with -add or -remove (mixing incremental and "+
			"non-incremental modes is not allowed)", "")
	case a.has("file") && a.has("members"):
		return wrong("Can't use -file and -members together (conflicting non-incremental modes)", "")
	case !isWhole && !isStep:
		return s.misused("reconfig", "name servers with -add or -remove, or all of them with -members or -file")
	}
	r := client.Reconfig{Join: a.flags["add"], Leave: a.flags["remove"], Members: a.flags["members"],
		FromVersion: client.AnyConfig}
	if text, ok := a.flags["v"]; ok {
		version, err := strconv.ParseInt(text, 16, 64)
		if err != nil {
			return wrong("-v must be followed by a long (configuration version)",
				"it is the hex number that `config` ends with")
		}
		r.FromVersion = version
	}
	if name, ok := a.flags["file"]; ok {
		var err error
		if r.Members, err = readMembers(name); err != nil {
			return err
		}
	}
	data, stat, err := s.link.client.Reconfig(ctx, r)
	if err != nil {
		return s.reconfigFailed(err, context.Cause(ctx))
	}
	return s.out.emit(configResult{string(data), a.stat(stat), "Committed new configuration:\n"})
}

// reconfigFailed is describe for a reconfiguration, which is about no znode.
func (s *Shell) reconfigFailed(err, cause error) *failure {
	f := s.describe(err, cause)
	switch {
	case errors.Is(err, client.ErrBadArguments):
		f.hint = "the leader's log says what it refuses: a line, an id, or too few participants; an ensemble with " +
			"groups takes neither -add nor -remove, but -file with all of its lines"
	case errors.Is(err, client.ErrNoAuth):
		f.hint = "it takes a super user, `addauth digest super:password`, or the permission to write " +
			client.ConfigPath
	case errors.Is(err, client.ErrBadVersion):
		f.hint = "the configuration is another one by now: `config` ends with its version"
	}
	return f
}

// configBytes bounds the file of reconfig -file.
const configBytes = 1 << 20

// memberKeys are the beginnings of the lines that a dynamic configuration file has.
var memberKeys = []string{"server.", "group.", "weight."}

// readMembers returns the properties of a dynamic configuration file as one list.
func readMembers(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", wrong("Error processing "+name+": "+wording.About(name, err),
			"name a file with lines like server.1=host:2888:3888;2181")
	}
	if info.Size() > configBytes {
		return "", wrong(fmt.Sprintf("Error processing %s: it has %d bytes", name, info.Size()),
			"a dynamic configuration is smaller than a megabyte")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", wrong("Error processing "+name+": "+wording.About(name, err), "")
	}
	var keys []string
	values := map[string]string{} // of a key that comes twice the last one counts, as in a zoo.cfg
	err = config.EachProperty(text, name, func(_ int, key, value string) error {
		if slices.ContainsFunc(memberKeys, func(begin string) bool { return strings.HasPrefix(key, begin) }) {
			if _, twice := values[key]; !twice {
				keys = append(keys, key)
			}
			values[key] = value
		}
		return nil
	})
	if err != nil {
		return "", wrong("Error processing "+name+": "+wording.About(name, err), "")
	}
	members := make([]string, len(keys))
	for i, key := range keys {
		members[i] = key + "=" + values[key]
	}
	if len(members) == 0 {
		return "", wrong("Error processing "+name+": no server lines", "lines look like server.1=host:2888:3888;2181")
	}
	return strings.Join(members, ","), nil
}
