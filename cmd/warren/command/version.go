package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Set by the linker (see the Makefile); what is empty is taken from the build information of the Go tool.
var (
	version string // of Warren, vX.Y.Z
	commit  string // 40 hexadecimal digits
	date    string // of the build, RFC 3339
	// compatible is the version of ZooKeeper that clients and monitoring are told. It must be numeric x.y.z: kazoo
	// and others switch features on by it. Source: operations 0.
	compatible = "3.9.4"
)

// build is what is known of this binary.
type build struct {
	version, commit string
	date            time.Time // zero if unknown
}

func thisBuild() build {
	b := build{version: version, commit: commit}
	stamp := date
	if info, ok := debug.ReadBuildInfo(); ok {
		b.version = cmp.Or(b.version, strings.Trim(info.Main.Version, "()"))
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.commit = cmp.Or(b.commit, s.Value)
			case "vcs.time":
				stamp = cmp.Or(stamp, s.Value)
			}
		}
	}
	b.version = cmp.Or(b.version, "devel")
	b.date, _ = time.Parse(time.RFC3339, stamp) // an unreadable stamp is an unknown date
	return b
}

// zookeeperVersion is the line that srvr and others print, in the shape that parsers of ZooKeeper's look for:
// x.y.z-<40 hexadecimal digits>, built on MM/DD/YYYY HH:MM UTC. The date is spelled as releases before 3.6 did,
// because go-zookeeper knows no other form. Source: client-protocol 2.3.
func (b build) zookeeperVersion() string {
	date := b.date
	if date.IsZero() {
		date = time.Unix(0, 0)
	}
	return fmt.Sprintf("%s-%s, built on %s UTC", compatible, cmp.Or(b.commit, strings.Repeat("0", 40)), date.UTC().Format("01/02/2006 15:04"))
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			built := "unknown"
			if !b.date.IsZero() {
				built = b.date.UTC().Format(time.RFC3339)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "warren %s\ncommit %s\nbuilt %s\ngo %s %s/%s\nzookeeper %s\n",
				b.version, cmp.Or(b.commit, "unknown"), built, runtime.Version(), runtime.GOOS, runtime.GOARCH, compatible)
			return err
		},
	}
}
