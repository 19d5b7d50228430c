// Package build says which build of Warren this binary is. Its variables are set by the linker and do not change.
package build

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Set by the linker (see the Makefile); what is empty is taken from the build information of the Go tool.
var (
	version string // of Warren, vX.Y.Z
	commit  string // 40 hexadecimal digits
	date    string // of the build, RFC 3339
	// Compatible is the version of ZooKeeper that clients and monitoring are told. It must be numeric x.y.z: kazoo
	// and others switch features on by it. Source: operations 0.
	Compatible = "3.9.4"
)

// Build is what is known of a binary of warren.
type Build struct {
	Version, Commit string
	Date            time.Time // zero if unknown
}

func This() Build {
	b := Build{Version: version, Commit: commit}
	stamp := date
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(b.Version, strings.Trim(info.Main.Version, "()"))
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = cmp.Or(b.Commit, s.Value)
			case "vcs.time":
				stamp = cmp.Or(stamp, s.Value)
			}
		}
	}
	b.Version = cmp.Or(b.Version, "devel")
	b.Date, _ = time.Parse(time.RFC3339, stamp) // an unreadable stamp is an unknown date
	return b
}

// Program is what operators are told that a server is: Warren X.Y.Z.
func (b Build) Program() string { return "Warren " + strings.TrimPrefix(b.Version, "v") }

// ZooKeeperVersion is the line that srvr and others print, in the shape that parsers of ZooKeeper's look for:
// x.y.z-<40 hexadecimal digits>, built on MM/DD/YYYY HH:MM UTC. The date is spelled as releases before 3.6 did,
// because go-zookeeper knows no other form. Source: client-protocol 2.3.
func (b Build) ZooKeeperVersion() string {
	date := b.Date
	if date.IsZero() {
		date = time.Unix(0, 0)
	}
	return fmt.Sprintf("%s-%s, built on %s UTC", Compatible, cmp.Or(b.Commit, strings.Repeat("0", 40)),
		date.UTC().Format("01/02/2006 15:04"))
}
