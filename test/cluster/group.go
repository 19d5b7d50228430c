package cluster

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// This file has what an operator gets wrong: which servers a zoo.cfg names, which id a server has, which directory.

// Group makes the nodes, which have ended, the members of one ensemble from their next start on. Each keeps its id
// and its ports.
func Group(nodes ...*Node) {
	var members []member
	for _, n := range nodes {
		n.mustHaveEnded()
		members = append(members, *n.self())
	}
	for _, n := range nodes {
		n.members = members
	}
}

// Lists makes the zoo.cfg of n name these nodes, of which n is one, from its next start on. The others are not told.
func (n *Node) Lists(nodes ...*Node) {
	n.t.Helper()
	n.mustHaveEnded()
	var members []member
	for _, other := range nodes {
		members = append(members, *other.self())
	}
	n.members = members
}

// Renumber gives a node that has ended another id. Group must follow: until then the node knows no other.
func (n *Node) Renumber(id int) {
	n.t.Helper()
	n.mustHaveEnded()
	own := *n.self()
	own.id = id
	n.id, n.members = id, []member{own}
}

// Set replaces lines of zoo.cfg from the next start on.
func (n *Node) Set(settings map[string]string) {
	n.t.Helper()
	n.mustHaveEnded()
	all := map[string]string{}
	maps.Copy(all, n.options.Settings)
	maps.Copy(all, settings)
	n.options.Settings = all
}

// SetEnv gives the process KEY=value pairs instead of those that it has, from the next start on.
func (n *Node) SetEnv(pairs ...string) {
	n.t.Helper()
	n.mustHaveEnded()
	n.options.Env = pairs
}

// Twin returns a node, not started, that was given the id of n by mistake. It has ports and a directory of its own,
// no admin server, and the zoo.cfg of n but for its own line. The other members do not know it.
func (n *Node) Twin() *Node {
	n.t.Helper()
	o := n.options
	o.Dir, o.Settings = "", maps.Clone(o.Settings)
	maps.DeleteFunc(o.Settings, func(key, _ string) bool { return strings.HasPrefix(key, "admin.") })
	twin := New(n.t, o)
	twin.id, twin.members = n.id, slices.Clone(n.members)
	self := twin.self()
	self.peerPort, self.electionPort, self.clientPort = FreePort(n.t), FreePort(n.t), twin.port
	return twin
}

// CopyData copies version-2 and returns where the copy is. A node that runs stands still meanwhile, as for a snapshot
// of its virtual machine.
func (n *Node) CopyData() (dir string) {
	n.t.Helper()
	if n.running() {
		n.Pause()
		defer n.Resume()
	}
	dir = filepath.Join(n.t.TempDir(), "version-2")
	require.NoError(n.t, os.CopyFS(dir, os.DirFS(n.version2())))
	return dir
}

// PutData replaces version-2 of a node that has ended by a copy of dir.
func (n *Node) PutData(dir string) {
	n.t.Helper()
	n.Wipe()
	require.NoError(n.t, os.CopyFS(n.version2(), os.DirFS(dir)))
}

// Held returns the names of what a server must not lose, logs, snapshots and epoch files, each with size and
// checksum.
func (n *Node) Held() map[string]string {
	n.t.Helper()
	entries := must.ReadDir(n.t, n.version2())
	held := map[string]string{}
	for _, e := range entries {
		name := e.Name()
		isFile := strings.HasPrefix(name, "log.") || strings.HasPrefix(name, "snapshot.")
		if !isFile && !strings.HasSuffix(name, "Epoch") {
			continue
		}
		content := must.ReadFile(n.t, filepath.Join(n.version2(), name))
		held[name] = fmt.Sprintf("%d bytes, sha256 %x", len(content), sha256.Sum256(content))
	}
	return held
}

// Initialize leaves the file by which an operator asks for an empty database.
func (n *Node) Initialize() {
	n.t.Helper()
	require.NoError(n.t, os.MkdirAll(n.dataDir, 0o755))
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dataDir, "initialize"), nil, 0o644))
}

func (n *Node) version2() string { return filepath.Join(n.dataDir, "version-2") }

func (n *Node) mustHaveEnded() {
	n.t.Helper()
	if n.running() {
		n.t.Fatalf("cluster: %v still uses %s", n.Addr(), n.dataDir)
	}
}

// self is the node's own entry among the members, nil alone.
func (n *Node) self() *member {
	for i := range n.members {
		if n.members[i].id == n.id {
			return &n.members[i]
		}
	}
	return nil
}
