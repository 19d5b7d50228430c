package ensemble

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// same requires that all servers have the same tree: by the digests that they have retained, and by reading all of it
// from each.
func (c *chaos) same() {
	c.t.Helper()
	c.whole()
	damaged := c.damagedByZooKeeper()
	nodes := slices.SortedStableFunc(slices.Values(c.nodes), func(a, b *cluster.Node) int { // these come last
		return cmp.Compare(damaged[a], damaged[b])
	})
	require.Zero(c.t, damaged[nodes[0]], "ZooKeeper damaged every server")
	var want string
	digests, alike := map[string]string{}, 0
	for i, node := range nodes {
		got := c.dump(node)
		if i == 0 {
			want = got
		}
		if want != got {
			if damaged[node] == 0 {
				c.skipIfSpread(damaged)
				c.differ(node, nodes[0], want, got) // the whole of it is too much to print
			}
			c.logf("server %d is left out: it damaged its tree or log at %v, as a ZooKeeper that another one led",
				node.ID(), damaged[node])
			continue
		}
		alike++
		text := wire.MustFourLetter(c.t, node.Addr(), "hash", 5*time.Second)
		lines := digestLine.FindAllStringSubmatch(text, -1)
		if node.Kind() == cluster.ZooKeeper {
			// It retains false ones of the time in which it replays txns over a fuzzy snapshot. The newest tells of
			// all that were before.
			lines = lines[max(0, len(lines)-1):]
			if len(lines) == 1 && lines[0][2] == "0" {
				lines = nil // with digest.enabled=false it computes none
			}
		}
		for _, m := range lines {
			if seen, ok := digests[m[1]]; ok {
				require.Equal(c.t, seen, m[2], "server %d has another digest at %s", node.ID(), m[1])
			}
			digests[m[1]] = m[2]
		}
		if strings.Contains(node.Log(), "digest of the tree differs") {
			c.skipIfSpread(damaged)
			c.t.Fatalf("the digest of the tree differs at server %d", node.ID())
		}
		require.NotContains(c.t, node.Log(), "panic:", "server %d", node.ID())
	}
	c.logf("%d servers have the same tree, and the same digests at %d zxids", alike, len(digests))
}

// damages are lines in the log of a ZooKeeper 3.8 follower that is at fault, with a zxid: its tree has come to differ
// from what its leader has said, or it has logged txns again. A mismatch while it reads its files at the start is no
// such line. Source: quorum-protocol 6.9, B4 and B7.
var damages = regexp.MustCompile(`\[CommitProcessor:\d+:DataTree\] First digest mismatch on txn: -?\d+,-?\d+,(\d+),|` +
	`Current zxid (\d+) is <= \d+ for`)

// ledByWarren is in the log of a Warren server that leads an epoch.
var ledByWarren = regexp.MustCompile(`"state": "LEADING", "phase": "BROADCAST", "leader": \d+, "epoch": (\d+),`)

// damagedByZooKeeper returns the ZooKeeper servers that have damaged their own state, each with the first txn at
// which it did: as followers of a ZooKeeper leader, though they have logged the right txns, or because their logging
// thread has ended. No Warren server has a part in that. The trees of some of them may be right all the same.
func (c *chaos) damagedByZooKeeper() map[*cluster.Node]proto.Zxid {
	ours, damaged := map[string]bool{}, map[*cluster.Node]proto.Zxid{}
	for _, node := range c.nodes {
		for _, m := range ledByWarren.FindAllStringSubmatch(node.Log(), -1) {
			ours[m[1]] = true
		}
	}
	for _, node := range c.nodes {
		for _, m := range damages.FindAllStringSubmatch(node.Log(), -1) {
			n := must.Do(strconv.ParseInt(m[1]+m[2], 10, 64))(c.t)
			zxid := proto.Zxid(n)
			if _, known := damaged[node]; known {
				continue
			}
			if !ours[fmt.Sprint(zxid.Epoch())] || m[1] != "" && c.loggedRightly(node, zxid) {
				damaged[node] = zxid
			}
		}
	}
	for _, node := range c.nodes {
		if node.Kind() == cluster.ZooKeeper && damaged[node] == 0 && loggerDied.MatchString(node.Log()) {
			if z := c.hole(node); z != 0 {
				damaged[node] = z
			}
		}
	}
	return damaged
}

// skipIfSpread ends the test if a damaged server has led since: the others may have taken over its tree, so that
// something that is lost says nothing about Warren. It is called when something is lost.
func (c *chaos) skipIfSpread(damaged map[*cluster.Node]proto.Zxid) {
	c.t.Helper()
	for node, z := range damaged {
		if c.ledAfter(node, z) {
			c.t.Skipf("server %d (zookeeper) has damaged its tree or log at %v and has led since", node.ID(), z)
		}
	}
}

// follows is in the log of a Warren server that follows a leader in an epoch.
var follows = regexp.MustCompile(`"state": "FOLLOWING", "phase": "BROADCAST", "leader": (\d+), "epoch": (\d+),`)

// ledAfter reports whether a Warren server has followed the given one in a later epoch than that of z.
func (c *chaos) ledAfter(node *cluster.Node, z proto.Zxid) bool {
	for _, other := range c.nodes {
		for _, m := range follows.FindAllStringSubmatch(other.Log(), -1) {
			epoch := must.Do(strconv.ParseInt(m[2], 10, 64))(c.t)
			if m[1] == fmt.Sprint(node.ID()) && epoch > z.Epoch() {
				return true
			}
		}
	}
	return false
}

// loggerDied is in the log of a ZooKeeper server whose logging thread has ended by an error, because it could not send
// an ACK on the closed connection to its leader. What waited to be logged is lost, but the tree may have it already.
// The server says this tree's zxid in the next election. So it is sent no such txn again, and a restart takes them out
// of its tree. Source: quorum-protocol 6.9, B7.
var loggerDied = regexp.MustCompile(`Severe unrecoverable error, from thread : SyncThread:`)

// hole returns the first zxid that the log of a server lacks between two txns of one epoch, 0 if there is none.
func (c *chaos) hole(node *cluster.Node) proto.Zxid {
	c.t.Helper()
	all := slices.Sorted(maps.Keys(c.logged(node, math.MaxInt64)))
	for i := 1; i < len(all); i++ {
		if all[i].Epoch() == all[i-1].Epoch() && all[i] != all[i-1]+1 {
			return all[i-1] + 1
		}
	}
	return 0
}

// loggedRightly reports whether the log of a server holds the same txns as that of a Warren server, from the first
// txn of the ensemble up to z. If the tree of a ZooKeeper server differs at z nevertheless, it has applied them
// wrongly: when its leader is lost, one of its threads may still apply txns while another one reads the log again.
// Source: quorum-protocol 6.9, B7.
func (c *chaos) loggedRightly(node *cluster.Node, z proto.Zxid) bool {
	c.t.Helper()
	theirs := c.logged(node, z)
	return slices.ContainsFunc(c.nodes, func(other *cluster.Node) bool {
		return other.Kind() == cluster.Warren && maps.Equal(c.logged(other, z), theirs)
	}) && theirs[proto.MakeZxid(1, 1)] != 0
}

// logged returns the checksums of the txns up to z in the log of a server that uses its files.
func (c *chaos) logged(node *cluster.Node, z proto.Zxid) map[proto.Zxid]uint32 {
	c.t.Helper()
	dir := filepath.Join(node.DataDir(), "version-2")
	names := must.Do(wal.Names(vfs.OS(), dir))(c.t)
	sums := map[proto.Zxid]uint32{}
	for _, name := range names {
		// The end of the last file may be half written, and what comes after z is not looked at.
		_, _ = wal.Scan(vfs.OS(), filepath.Join(dir, name), func(r *wal.Record) error {
			if r.Zxid > z {
				return io.EOF
			}
			sums[r.Zxid] = r.Sum
			return nil
		})
	}
	return sums
}

// digestLine is one line of the word hash.
var digestLine = regexp.MustCompile(`(?m)^([0-9a-f]+): (-?\d+)$`)

// dump reads the whole tree of one server, after a sync, with all that a Stat says. It begins anew if the connection
// is lost: on a machine that stands still for a while servers lose each other.
func (c *chaos) dump(node *cluster.Node) (tree string) {
	c.t.Helper()
	var last error
	cluster.Eventually(c.t, func() bool {
		conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard})
		if err == nil {
			tree, err = c.read(conn)
			conn.Close()
		}
		if err != nil && (last == nil || err.Error() != last.Error()) {
			c.logf("reading the tree of server %d: %v", node.ID(), err)
			last = err
		}
		return err == nil
	}, 2*time.Minute, "server %d cannot be read", node.ID())
	return tree
}

// read reads the whole tree. Its error is that of the connection.
func (c *chaos) read(conn *wire.Conn) (string, error) {
	c.t.Helper()
	if err := conn.Auth("digest", "bob:secret"); err != nil { // owns some of the znodes
		return "", err
	}
	if err := conn.Sync("/"); err != nil {
		return "", err
	}
	lines := map[string]string{}
	for left := []string{"/"}; len(left) > 0; {
		// As many at a time as a busy server answers in time.
		some := left[:min(len(left), 256)]
		left = left[len(some):]
		var reqs []wire.Request
		for _, path := range some {
			reqs = append(reqs, wire.GetData(path, false), wire.GetChildren(path, false))
		}
		calls := conn.SendAll(reqs)
		for i, path := range some {
			if err := errors.Join(calls[2*i].Wait(), calls[2*i+1].Wait()); err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
			require.Equal(c.t, proto.OK, calls[2*i].Reply.Header.Err, path)
			data := calls[2*i].Reply.Value.(*proto.GetDataResponse)
			if path != "/zookeeper/config" { // each server writes that by its own clock
				lines[path] = fmt.Sprintf("%s %q %+v", path, data.Data, data.Stat)
			}
			for _, child := range calls[2*i+1].Reply.Value.(*proto.GetChildrenResponse).Children {
				left = append(left, strings.TrimSuffix(path, "/")+"/"+child.String())
			}
		}
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[path] + "\n")
	}
	return b.String(), nil
}

// differ fails with the first znodes that two servers do not agree on.
func (c *chaos) differ(node, other *cluster.Node, want, got string) {
	c.t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var lines []string
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && len(lines) < 6 {
			lines = append(lines, a[i], b[i])
		}
	}
	c.t.Fatalf("the tree of server %d (%s, %d znodes) differs from that of server %d (%s, %d znodes); "+
		"the first lines:\n%s",
		node.ID(), node.Kind(), len(b)-1, other.ID(), other.Kind(), len(a)-1, strings.Join(lines, "\n"))
}
