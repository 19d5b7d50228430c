package doctor

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// hosts are servers with an address each, as servers on machines of their own, which have one admin port.
type hosts struct {
	t      *testing.T
	nodes  []*cluster.Node
	port   string
	lines  map[string]string        // of zoo.cfg, with client ports, at which the servers ask each other
	logged map[*cluster.Node]int    // how long their logs were when the accident began
	kept   map[*cluster.Node]string // folders with what they had on their disks
	ca     *pki.CA                  // of their certificates
	disks  map[*cluster.Node]string // file systems of their own, for their logs
	spare  *cluster.Node            // of no list
	open   []*wire.Conn             // to be closed when the accident is over
	names  *cluster.NameServer      // that they ask
	fabric *cluster.Fabric          // their network, which can be cut
	beside *cluster.Node            // on whose machine commands run; nil: on that of the test
	// scraped are the metrics of the servers since planned work has begun; nil in an accident
	scraped *scrapes
	// unmount lets a file be removed again
	unmount func()
}

// newHosts returns servers that are not started, with settings of their own.
func newHosts(t *testing.T, own ...map[string]string) *hosts {
	t.Helper()
	return newHostsWith(t, func(*cluster.Options) {}, own...)
}

// newHostsWith returns servers with options that their addresses and settings are not.
func newHostsWith(t *testing.T, configure func(o *cluster.Options), own ...map[string]string) *hosts {
	t.Helper()
	h := &hosts{t: t}
	options := make([]cluster.Options, len(own))
	for i := range options {
		options[i].Host = fmt.Sprintf("127.0.0.%d", 11+i)
		options[i].Settings = map[string]string{"tickTime": "500", "preAllocSize": "64"}
		port := withAdmin(t, options[i].Host, options[i].Settings)
		if h.port == "" {
			h.port = port
		}
		options[i].Settings["admin.serverPort"] = h.port
		maps.Copy(options[i].Settings, own[i])
		configure(&options[i])
	}
	h.nodes = cluster.Ensemble(t, options...)
	return h
}

// sees waits until doctor, asked about servers and their admin ports, has a finding.
func (h *hosts) sees(check string, nodes ...*cluster.Node) visit {
	h.t.Helper()
	args := []string{"--admin-port", h.port}
	args = append(args, cluster.Addrs(nodes)...)
	var v visit
	cluster.Eventually(h.t, func() bool {
		v = examine(h.t, args...)
		return v.severity(check) >= 0
	}, patience, "doctor does not find %s", check)
	return v
}

// TestEnsembleInTrouble brings an ensemble from one trouble into the next: disks without room, a tree that differs, a
// server without a quorum, a directory with another history, lost databases, and two servers with one id.
func TestEnsembleInTrouble(t *testing.T) {
	t.Parallel()
	const full = "1000000000000000" // bytes, more than any disk has free
	h := newHosts(t, map[string]string{"readonlymode.enabled": "true", "snapCount": "2"},
		map[string]string{"snapCount": "2"}, map[string]string{"warren.diskWatermarkBytes": full})
	one, two, three := h.nodes[0], h.nodes[1], h.nodes[2]
	cluster.StartAll(h.nodes...)
	if three.Mode() == "leader" {
		says(t, three, "handing over to a server with more room: the disk is almost full")
	}
	v := h.sees("disk-full", h.nodes...)
	yields := v.names(t, "handing over to a server with more room: the disk is almost full")
	require.Equal(t, three.Addr(), yields.Subject)

	cluster.Eventually(t, func() bool { return one.Serves() && two.Serves() && three.Serves() }, patience, "no quorum")
	// Server 3 may lead now and later: it refuses writes until it has heard that server 2 has room, and ends
	// connections when it hands over then.
	create := func(path string) {
		cluster.Eventually(t, func() bool {
			c, err := wire.Dial(one.Addr(), wire.Options{TimeoutMs: 30_000})
			if err != nil {
				return false
			}
			defer c.Close()
			_, err = c.Create(path, nil, proto.ModePersistent)
			return err == nil || errors.Is(err, proto.ErrNodeExists)
		}, patience, "no write")
	}
	for i := range 60 {
		create(fmt.Sprintf("/n-%d", i))
	}
	two.Stop()
	rewrite(t, two, "/n-0", 0, func([]byte, *proto.StatPersisted) []byte { return []byte("flipped") })
	cluster.StartAll(two)
	create("/more")
	v = h.sees("digest", h.nodes...)
	says(t, two, "tree digest differs from the one in the txn: the data of this server has diverged")
	v.names(t, "tree digest differs from the one in the txn: the data of this server has diverged")

	two.Stop()
	two.Set(map[string]string{"warren.diskWatermarkBytes": full})
	cluster.StartAll(two)
	cluster.Eventually(t, func() bool {
		return slices.ContainsFunc(h.nodes, func(n *cluster.Node) bool {
			return strings.Contains(n.Log(), "refusing writes: too few voters have room on their disks")
		})
	}, patience, "no leader refuses writes")
	v = h.sees("disk-full", two)
	v.names(t, "refusing writes: too few voters have room on their disks")

	two.Kill()
	three.Kill()
	says(t, one, "no leader found: serving read-only clients only")
	v = h.sees("read-only", one)
	v.names(t, "no leader found: serving read-only clients only")
	one.Kill()

	old := three.CopyData()
	for _, n := range h.nodes {
		n.Wipe()
		n.Set(map[string]string{"warren.diskWatermarkBytes": "0"})
	}
	cluster.StartAll(h.nodes...)
	three.Stop()
	three.PutData(old)
	three.Launch()
	says(t, three, "this server stays outside the ensemble")
	v = h.sees("outside", h.nodes...)
	require.Equal(t, doctor.Critical, v.names(t, "this server stays outside the ensemble").Severity)
	v = h.sees("other-history", one, two)
	v.names(t, "a member has another history than this server")

	for _, n := range h.nodes {
		n.Kill()
	}
	one.Wipe()
	two.Wipe()
	for _, n := range h.nodes {
		n.Launch()
	}
	v = h.sees("databases-missing", h.nodes...)
	v.names(t, "no leader can be elected: the voters that have a database do not form a quorum")
	const waits = "the database is missing: this server does not vote until it knows whether it was lost or " +
		"the ensemble is new"
	require.Contains(t, one.Log(), waits)
	one.Kill()
	v = examine(t, "--no-measure", "--config", filepath.Join(one.Dir(), "zoo.cfg"))
	v.names(t, "this server does not vote until it knows whether it was lost or the ensemble is new")
}

// TestTwoServersWithOneID gives a fourth server the id of the third.
func TestTwoServersWithOneID(t *testing.T) {
	t.Parallel()
	h := newHosts(t, nil, nil, nil, nil)
	three := h.nodes[:3]
	for _, n := range three {
		n.Lists(three...)
	}
	fourth := h.nodes[3]
	fourth.Renumber(3)
	fourth.Lists(three[0], three[1], fourth)
	cluster.StartAll(three...)
	fourth.Launch()
	v := h.sees("same-id", h.nodes...)
	f := v.names(t, "two servers have the same id")
	require.Equal(t, fourth.Addr(), f.Subject)
	require.Contains(t, f.What, three[2].Addr())
}

// TestDatabaseMissingOfAnEnsembleThatHasServed wipes a server whose configuration says that a leader has served.
func TestDatabaseMissingOfAnEnsembleThatHasServed(t *testing.T) {
	t.Parallel()
	nodes := cluster.StartEnsemble(t, cluster.Options{Reconfig: true}, cluster.Options{Reconfig: true},
		cluster.Options{Reconfig: true})
	for _, n := range nodes {
		n.Stop()
	}
	one := nodes[0]
	one.Wipe()
	one.Launch()
	says(t, one, "the database is missing, and the ensemble has served")
	one.Kill()
	v := examine(t, "--no-measure", "--config", filepath.Join(one.Dir(), "zoo.cfg"))
	v.names(t, "the database is missing, and the ensemble has served")
}
