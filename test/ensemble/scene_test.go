package ensemble

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// This file has the steps of the tests in which a member comes back with a directory that is not what the ensemble
// left there.

// Of these tests: how many creates are acknowledged before something happens, and how long the ensemble is watched
// after it.
const (
	sceneCreates = 20
	sceneWatched = 5 * time.Second
)

// newScene brings up servers of the given kinds.
func newScene(t *testing.T, kinds ...cluster.Kind) *chaos {
	t.Helper()
	return newSceneWith(t, nil, kinds...)
}

// newSceneWith is newScene with more settings for all servers.
func newSceneWith(t *testing.T, more map[string]string, kinds ...cluster.Kind) *chaos {
	t.Helper()
	c := newSceneOf(t, more, kinds...)
	for _, node := range c.nodes {
		if slices.Contains(kinds, cluster.ZooKeeper) && node.Kind() == cluster.Warren {
			node.Initialize() // servers in Java cannot tell it that the ensemble is new
		}
	}
	c.begin()
	return c
}

// newSceneOf is newSceneWith, but starts no server.
func newSceneOf(t *testing.T, more map[string]string, kinds ...cluster.Kind) *chaos {
	t.Helper()
	c := &chaos{t: t, rand: rand.New(rand.NewPCG(1, 1)), voters: len(kinds), began: time.Now(), admin: map[int]int{}}
	var o []cluster.Options
	for i, kind := range kinds {
		settings := map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8",
			"maxSessionTimeout": "60000"}
		maps.Copy(settings, more)
		if kind == cluster.Warren {
			c.admin[i+1] = adminSettings(t, settings)
		}
		o = append(o, cluster.Options{Kind: kind, Settings: settings})
	}
	c.nodes = cluster.Ensemble(t, o...)
	return c
}

// of returns n times one kind.
func of(kind cluster.Kind, n int) []cluster.Kind { return slices.Repeat([]cluster.Kind{kind}, n) }

// among is the same run, but looks at some of the servers only.
func (c *chaos) among(nodes ...*cluster.Node) *chaos {
	return &chaos{t: c.t, rand: c.rand, voters: len(nodes), began: c.began, nodes: nodes, admin: c.admin}
}

// but returns all servers except some.
func (c *chaos) but(away ...*cluster.Node) (rest []*cluster.Node) {
	for _, node := range c.nodes {
		if !slices.Contains(away, node) {
			rest = append(rest, node)
		}
	}
	return rest
}

// begin starts all servers and waits until they serve. Those in Java start long before they vote, so they go first.
func (c *chaos) begin() {
	c.t.Helper()
	for _, node := range c.nodes {
		if node.Kind() == cluster.ZooKeeper {
			node.Launch()
			c.answers(node)
		}
	}
	for _, node := range c.nodes {
		if node.Kind() != cluster.ZooKeeper {
			node.Launch()
		}
	}
	c.whole()
}

// ledByKind starts servers anew until one of a kind leads; "" is any. The server of the largest id must be of that
// kind, since it has the best claim.
func (c *chaos) ledByKind(kind cluster.Kind) {
	c.t.Helper()
	for range 5 {
		if c.certainLeader().Kind() == kind || kind == "" {
			return
		}
		c.end()
		c.begin()
	}
	c.t.Fatalf("no server of kind %s comes to lead", kind)
}

// end stops all servers in order.
func (c *chaos) end() {
	c.t.Helper()
	for _, node := range c.nodes {
		node.Stop()
	}
}

// killEach kills all servers.
func (c *chaos) killEach() {
	for _, node := range c.nodes {
		node.Kill()
	}
}

// launchEach starts all servers at once, and waits for nothing.
func (c *chaos) launchEach() {
	c.t.Helper()
	for _, node := range c.nodes {
		node.Launch()
	}
}

// copies copies the directories of all servers. When they have ended, putBack replaces the directories by the copies.
func (c *chaos) copies() (putBack func()) {
	c.t.Helper()
	copies := map[*cluster.Node]string{}
	for _, node := range c.nodes {
		copies[node] = node.CopyData()
	}
	return func() {
		c.t.Helper()
		for node, dir := range copies {
			node.PutData(dir)
		}
	}
}

// again kills all servers at once and starts them at once, and waits for nothing.
func (c *chaos) again() {
	c.t.Helper()
	c.killEach()
	c.launchEach()
}

// eras restarts all servers n times, each time with creates of its own. It returns what was acknowledged.
func (c *chaos) eras(name string, n int) (paths []string) {
	c.t.Helper()
	for i := range n {
		paths = append(paths, c.creates(fmt.Sprintf("%s-%d", name, i), 3)...)
		c.end()
		c.begin()
	}
	return append(paths, c.creates(fmt.Sprintf("%s-%d", name, n), 3)...)
}

// epoch is that of the leader, by the zxid of a write.
func (c *chaos) epoch() int64 {
	c.t.Helper()
	conn := c.client(c.nodes[0])
	defer conn.Close()
	conn.MustSetData(c.t, "/", nil, -1)
	return conn.LastZxid().Epoch()
}

// client connects to a server as soon as that takes clients.
func (c *chaos) client(node *cluster.Node) (conn *wire.Conn) {
	c.t.Helper()
	cluster.Eventually(c.t, func() bool {
		var err error
		conn, err = wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard})
		return err == nil
	}, time.Minute, "server %d (%s) takes no client", node.ID(), node.Kind())
	return conn
}

// creates makes n znodes, through one server after the other, and returns their paths. Each create was acknowledged.
func (c *chaos) creates(name string, n int) (paths []string) {
	c.t.Helper()
	for i := range n {
		node := c.nodes[i%len(c.nodes)]
		stop := c.nudge(node)
		conn := c.client(node)
		path := fmt.Sprintf("/%s-%d", name, i)
		conn.MustCreate(c.t, path, []byte(path), proto.ModePersistent)
		require.NoError(c.t, conn.CloseSession())
		conn.Close()
		stop()
		paths = append(paths, path)
	}
	return paths
}

// nudge lets another server take one write if stop is not called within 5 s. A ZooKeeper 3.8 follower may keep a
// commit in its queue, and a client waiting for it, until the next commit arrives. Source: quorum-protocol 6.9, B17.
func (c *chaos) nudge(node *cluster.Node) (stop func()) {
	if node.Kind() != cluster.ZooKeeper {
		return func() {}
	}
	timer := time.AfterFunc(5*time.Second, func() {
		for _, other := range c.but(node) {
			if conn, err := wire.Dial(other.Addr(), wire.Options{}); err == nil {
				_ = conn.CloseSession()
				conn.Close()
				return
			}
		}
	})
	return func() { timer.Stop() }
}

// lost returns which of the paths a server does not have.
func (c *chaos) lost(node *cluster.Node, paths []string) (gone []string) {
	c.t.Helper()
	conn := c.client(node)
	defer conn.Close()
	require.NoError(c.t, conn.Sync("/"))
	for _, path := range paths {
		_, err := conn.Exists(path, false)
		if errors.Is(err, proto.ErrNoNode) {
			gone = append(gone, path)
			continue
		}
		require.NoError(c.t, err)
	}
	return gone
}

// keeps asserts that every server serves and has all of the paths.
func (c *chaos) keeps(paths []string) {
	c.t.Helper()
	c.whole()
	for _, node := range c.nodes {
		gone := c.lost(node, paths)
		assert.Empty(c.t, gone, "%d of %d acknowledged creates are lost at server %d (%s)",
			len(gone), len(paths), node.ID(), node.Kind())
	}
}

// standing is what an ensemble must not lose while something comes to it.
type standing struct {
	c       *chaos
	mode    map[*cluster.Node]string
	zxid    map[*cluster.Node]proto.Zxid
	looking map[*cluster.Node]float64
}

var srvrLine = regexp.MustCompile(`(?s)Zxid: 0x([0-9a-f]+)\n.*Mode: (\w+)`)

// stand reads the zxid and the mode of a server that serves.
func stand(node *cluster.Node) (zxid proto.Zxid, mode string, err error) {
	text, err := wire.FourLetter(node.Addr(), "srvr", 5*time.Second)
	if err != nil {
		return 0, "", err
	}
	m := srvrLine.FindStringSubmatch(text)
	if m == nil {
		return 0, "", fmt.Errorf("does not serve: %q", text)
	}
	n, err := strconv.ParseUint(m[1], 16, 64)
	return proto.Zxid(n), m[2], err
}

// looks is how often a server has begun to look for a leader.
func (c *chaos) looks(node *cluster.Node) (n float64) {
	c.t.Helper()
	text := wire.MustFourLetter(c.t, node.Addr(), "mntr", 5*time.Second)
	require.Contains(c.t, text, "zk_looking_count")
	return metric(text, "zk_looking_count")
}

// stands notes how the servers stand, all of which serve.
func (c *chaos) stands() *standing {
	c.t.Helper()
	c.whole()
	g := &standing{c: c, mode: map[*cluster.Node]string{}, zxid: map[*cluster.Node]proto.Zxid{},
		looking: map[*cluster.Node]float64{}}
	for _, node := range c.nodes {
		zxid, mode, err := stand(node)
		require.NoError(c.t, err)
		g.mode[node], g.zxid[node], g.looking[node] = mode, zxid, c.looks(node)
	}
	return g
}

// holds asserts, for as long as it is told, that every server goes on in its mode, that no zxid goes back and no
// epoch changes, and that those outside do not serve; and then that no server has looked for a leader.
func (g *standing) holds(during time.Duration, outside ...*cluster.Node) {
	t := g.c.t
	t.Helper()
	wrong := map[string]bool{}
	for w := cluster.NewWatch(); w.Elapsed() < during; time.Sleep(50 * time.Millisecond) {
		for _, node := range g.c.nodes {
			zxid, mode, err := stand(node)
			switch was := g.zxid[node]; {
			case err != nil:
				wrong[fmt.Sprintf("server %d, %s, %v", node.ID(), g.mode[node], err)] = true
			case mode != g.mode[node]:
				wrong[fmt.Sprintf("server %d, %s, is %s now", node.ID(), g.mode[node], mode)] = true
			case zxid < was || zxid.Epoch() != was.Epoch():
				wrong[fmt.Sprintf("server %d goes from %v to %v", node.ID(), was, zxid)] = true
			default:
				g.zxid[node] = zxid
			}
		}
		for _, node := range outside {
			if node.Serves() {
				wrong[fmt.Sprintf("server %d (%s) serves", node.ID(), node.Kind())] = true
			}
		}
	}
	assert.Empty(t, slices.Sorted(maps.Keys(wrong)), "the ensemble did not stay as it was")
	g.c.whole()
	for _, node := range g.c.nodes {
		assert.Equal(t, g.looking[node], g.c.looks(node), "elections of server %d", node.ID())
	}
}

// answers waits until a server that has been started has read its directory, and hears the votes of others.
func (c *chaos) answers(node *cluster.Node) {
	c.t.Helper()
	cluster.Eventually(c.t, func() bool {
		text, err := wire.FourLetter(node.Addr(), "ruok", time.Second)
		if err != nil || !strings.Contains(text, "imok") {
			return false
		}
		conn, err := net.DialTimeout("tcp", node.ElectionAddr(), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, "server %d (%s) does not answer", node.ID(), node.Kind())
}

// observing makes a server an observer.
func observing(o *cluster.Options) {
	o.Observer = true
	o.Settings["peerType"] = "observer"
}
