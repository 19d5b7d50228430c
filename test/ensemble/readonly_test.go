//go:build interop

package ensemble

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestReadOnlyServersOfBothKinds leaves one server of each kind without a quorum and asks both the same: they admit,
// answer and refuse alike, but where COMPATIBILITY.md says so. When the others are back the sessions from before go
// on.
func TestReadOnlyServersOfBothKinds(t *testing.T) {
	for _, local := range []bool{true, false} {
		t.Run(fmt.Sprint("local sessions ", local), func(t *testing.T) {
			c, _ := newConfigured(t, func(_ int, o *cluster.Options) {
				o.Settings["localSessionsEnabled"], o.Settings["localSessionsUpgradingEnabled"] = fmt.Sprint(local),
					fmt.Sprint(local)
				bare(o, "readonlymode.enabled", "true")
			}, cluster.ZooKeeper, cluster.Warren, cluster.Warren, cluster.Warren, cluster.Warren)
			zookeeper, warren := c.nodes[0], c.nodes[1]
			for _, node := range c.nodes {
				c.says(node, "rw")
			}
			c.write("/all", 1, 2, 3, 4, 5)
			// sessions that all know, and new ones, which are local if there are such
			before, own := map[*cluster.Node]*wire.Conn{}, map[*cluster.Node]*wire.Conn{}
			for _, node := range []*cluster.Node{zookeeper, warren} {
				for _, sessions := range []map[*cluster.Node]*wire.Conn{before, own} {
					conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout})
					sessions[node] = conn
				}
				before[node].MustCreate(t, fmt.Sprintf("/by-%d", node.ID()), []byte("x"), proto.ModeEphemeral)
			}
			for _, conn := range before {
				require.NoError(t, conn.Sync("/"))
			}

			c.down(3, 4, 5)
			said := map[*cluster.Node]map[string]string{}
			reading := map[*cluster.Node]*wire.Conn{}
			for _, node := range []*cluster.Node{zookeeper, warren} {
				c.says(node, "ro")
				said[node] = c.admits(node, before[node])
				resume := own[node].Resume()
				resume.ReadOnly = true
				kept := map[bool]string{true: "rejected", false: "closed"}[local && node == zookeeper]
				require.Equal(t, kept, admitted(node, resume), "a session without an ephemeral, at server %d (%s)",
					node.ID(), node.Kind())
				reader := wire.Options{TimeoutMs: sessionTimeout, Reply: patience, ReadOnly: true}
				if !local && node == zookeeper {
					require.Equal(t, "closed", admitted(node, reader),
						"a reply of 16 bytes in the place of a ConnectResponse")
					continue
				}
				conn := wire.Open(t, node.Addr(), reader)
				require.True(t, conn.ReadOnly() && conn.Session() != 0)
				said[node]["everything"] = strings.Join(answers(conn), "\n")
				reading[node] = wire.Open(t, node.Addr(), reader)
			}
			if !local {
				delete(said[warren], "everything")
			}
			require.Equal(t, said[zookeeper], said[warren])
			for name, shell := range shells(t) {
				for command, answer := range map[string]string{
					"get /by-1": "\nx\n", "create /new": "Not a read-only call",
				} {
					out, _ := inShell(shell, warren, append([]string{"-r"}, strings.Fields(command)...)...).
						CombinedOutput()
					require.Contains(t, string(out), answer, "%s: %s", name, command)
				}
			}

			c.up(3, 4, 5)
			for node, conn := range reading {
				require.NoError(t, conn.WaitClosed(), "server %d (%s) lets a client go that has asked for less than "+
					"it can have now", node.ID(), node.Kind())
				_, err := c.resumed(c.nodes[2], conn)
				require.ErrorIs(t, err, wire.ErrRejected, "a session of server %d (%s) while that was read-only",
					node.ID(), node.Kind())
			}
			for node, conn := range before {
				conn, err := c.resumed(node, conn)
				require.NoError(t, err, "the session from before at server %d (%s)", node.ID(), node.Kind())
				conn.MustSetData(t, fmt.Sprintf("/by-%d", node.ID()), []byte("y"), 0)
				require.NoError(t, conn.CloseSession())
			}
			c.same()
		})
	}
}

// says waits until a server says of itself that it is ro, or rw.
func (c *chaos) says(node *cluster.Node, isro string) {
	c.t.Helper()
	cluster.Eventually(c.t, func() bool {
		text, err := wire.FourLetter(node.Addr(), "isro", time.Second)
		return err == nil && text == isro
	}, time.Minute, "server %d (%s) is not %s", node.ID(), node.Kind(), isro)
}

// modeLine is one of srvr and stat.
var modeLine = regexp.MustCompile(`(?m)^Mode: .*$`)

// admits returns what a read-only server says of itself, and which clients it refuses.
func (c *chaos) admits(node *cluster.Node, before *wire.Conn) map[string]string {
	c.t.Helper()
	said := map[string]string{}
	for _, word := range []string{"srvr", "stat"} {
		text := wire.MustFourLetter(c.t, node.Addr(), word, time.Second)
		said["word "+word] = fmt.Sprint(modeLine.FindString(text), ", told: ",
			strings.Contains(text, "READ-ONLY mode; serving only read-only clients"))
	}
	writes := before.Resume()
	reads := writes
	reads.ReadOnly = true
	for who, o := range map[string]wire.Options{
		"a client that writes":               {TimeoutMs: sessionTimeout},
		"an old client":                      {TimeoutMs: sessionTimeout, Legacy: true},
		"a session from before":              reads,
		"a session from before, that writes": writes,
		"a client that has seen more": {TimeoutMs: sessionTimeout, LastZxid: reads.LastZxid + 1000,
			ReadOnly: true},
		"a session without its password": {TimeoutMs: sessionTimeout, Session: 4711, ReadOnly: true},
	} {
		said[who] = admitted(node, o)
	}
	return said
}

// admitted says how a server receives a client.
func admitted(node *cluster.Node, o wire.Options) string {
	o.Reply = patience
	conn, err := wire.Dial(node.Addr(), o)
	switch {
	case err == nil:
		defer conn.Close()
		return fmt.Sprintf("read-only %v, session %v, timeout %d", conn.ReadOnly(), conn.Session() != 0,
			conn.TimeoutMs())
	case errors.Is(err, wire.ErrRejected):
		return "rejected"
	}
	return "closed"
}

// answers sends one of everything, and returns the answers. A check outside a multi is not among them: it is unknown
// to a Warren server here as elsewhere.
func answers(conn *wire.Conn) (said []string) {
	var last proto.Zxid
	for _, r := range []wire.Request{
		wire.GetData("/by-1", true), wire.Exists("/none", true), wire.GetChildren("/", true),
		wire.GetChildren2("/", false), wire.GetACL("/by-2"), wire.GetAllChildrenNumber("/"), wire.GetEphemerals("/"),
		wire.WhoAmI(), wire.Ping(), wire.AddWatch("/", 0), wire.CheckWatches("/", proto.WatcherAny),
		wire.RemoveWatches("/by-1", proto.WatcherData), wire.SetWatches(1, []string{"/by-1"}, nil, nil),
		wire.MultiRead(wire.GetData("/by-1", false), wire.GetACL("/none")), wire.Auth("digest", []byte("bob:secret")),
		wire.Sync("/"), wire.Create("/new", nil, wire.OpenACL, 0),
		wire.Create("/new", nil, wire.OpenACL, proto.ModeEphemeral), wire.Create2("/new", nil, wire.OpenACL, 0),
		wire.CreateContainer("/new", nil, wire.OpenACL),
		wire.CreateTTL("/new", nil, wire.OpenACL, proto.ModePersistentTTL, 1000), wire.Delete("/by-1", -1),
		wire.Delete("/none", -1), wire.SetData("/by-1", nil, -1), wire.SetACL("/by-1", wire.OpenACL, -1),
		wire.Multi(wire.Check("/by-1", -1), wire.SetData("/by-1", nil, -1)), wire.Multi(),
		wire.Reconfig("", "5", "", -1), wire.CloseSession(),
	} {
		reply, err := conn.Do(r)
		if err != nil {
			said = append(said, fmt.Sprintf("%v: no answer", r.Op))
			continue
		}
		if last == 0 {
			last = reply.Header.Zxid
		}
		body := fmt.Sprintf("%x", reply.Body)
		switch v := reply.Value.(type) { // children have no order
		case *proto.GetChildrenResponse:
			body = sorted(v.Children)
		case *proto.GetChildren2Response:
			body = fmt.Sprint(sorted(v.Children), v.Stat)
		}
		said = append(said, fmt.Sprintf("%v: %v, at the zxid of the first %v, %s", r.Op, reply.Header.Err,
			reply.Header.Zxid == last, body))
	}
	return said
}

func sorted(children []proto.Text) string {
	var names []string
	for _, name := range children {
		names = append(names, name.String())
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
