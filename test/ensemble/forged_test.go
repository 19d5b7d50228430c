package ensemble

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/zab"
)

// forgedTime is how long a forger goes on. forgedSpend is how many epochs it may use up a second, with room for what
// a busy machine does to the measured time: less than all of them in two years.
const (
	forgedTime  = 3 * time.Second
	forgedSpend = 32
)

// forger is a program that reaches the quorum port of a leader and knows what each server tells anyone.
type forger struct {
	t       *testing.T
	leader  *cluster.Node
	epoch   int64 // of the leader, as it has said last
	lineage *zab.Lineage
}

// introduces sends FOLLOWERINFO as server id that has promised an epoch, and returns the connection.
func (f *forger) introduces(id int, accepted int64) net.Conn {
	f.t.Helper()
	nc := must.Dial(f.t, f.leader.LearnerAddr())
	require.NoError(f.t, nc.SetDeadline(time.Now().Add(patience)))
	must.Do(nc.Write(peers.AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: proto.ServerID(id),
		Zxid: proto.MakeZxid(accepted, 0), Warren: true, Repeat: true, Lineage: f.lineage})))(f.t)
	return nc
}

// learns takes the epoch and the lineage from the LEADERINFO that the leader sends on nc, if it sends one.
func (f *forger) learns(nc net.Conn) bool {
	in := bufio.NewReader(nc)
	var head [16]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return false
	}
	data := make([]byte, max(0, int32(binary.BigEndian.Uint32(head[12:]))))
	if _, err := io.ReadFull(in, data); err != nil || proto.PacketType(binary.BigEndian.Uint32(head[:])) !=
		proto.PacketLeaderInfo {
		return false
	}
	f.epoch = proto.Zxid(binary.BigEndian.Uint64(head[4:])).Epoch()
	const at = 4 + 4 + 1 + 2 // protocol version, magic number, flags, length
	if len(data) > at {
		l := must.Do(zab.ParseLineage(data[at : at+int(binary.BigEndian.Uint16(data[at-2:]))]))(f.t)
		f.lineage = l
	}
	return true
}

// TestForgedFollower lets a program that reaches the quorum port of the leader introduce itself as a follower that
// follows already, as one that is down, as the leader's guest, with epochs within reach and far above: the ensemble
// loses no follower, no client of it hears of that, and its epochs are not used up.
func TestForgedFollower(t *testing.T) {
	c := &chaos{t: t, voters: 3, began: time.Now()}
	c.seed(1)
	c.launch([]cluster.Options{{}, {}, {}})
	leader := c.certainLeader()
	followers := c.but(leader)
	conns := map[int]*wire.Conn{}
	for _, node := range c.nodes {
		conn := must.Do(wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience}))(t)
		defer conn.Close()
		conns[node.ID()] = conn
	}
	for n, run := range []struct {
		name string
		id   int
		leap int64
		down bool // the server of that id is
	}{
		{"a follower's id", followers[0].ID(), 0, false},
		{"a follower's id and a later epoch", followers[0].ID(), 1, false},
		{"a follower's id and an epoch far above", followers[0].ID(), 1 << 20, false},
		{"an unknown id and an epoch far above", 77, 1 << 20, false},
		{"an unknown id and an epoch above", 77, 1 << 13, false},
		{"the id of a server that is down, and an epoch far above", followers[1].ID(), 1 << 20, true},
		{"the id of a server that is down, and an epoch above", followers[1].ID(), 1 << 13, true},
	} {
		if run.down && followers[1].Running() {
			followers[1].Kill()
			conns[followers[1].ID()].Close()
			delete(conns, followers[1].ID())
		}
		before := c.acceptedEpochs()
		f := &forger{t: t, leader: leader}
		nc := f.introduces(77, 0)
		require.True(t, f.learns(nc))
		nc.Close()
		began, introduced, writes := time.Now(), 0, 0
		for last := net.Conn(nil); time.Since(began) < forgedTime; introduced++ {
			nc := f.introduces(run.id, f.epoch+run.leap)
			if last != nil {
				last.Close()
			}
			last = nc
			for id, conn := range conns {
				_, err := conn.Create(fmt.Sprintf("/w-%d-%d-%d", id, n, introduced), nil, proto.ModeEphemeral)
				require.NoError(t, err, "%s: a client of server %d, after %d packets", run.name, id, introduced)
				writes++
			}
			f.epoch = max(f.epoch, c.acceptedEpochs()[leader.ID()])
		}
		after, took := c.acceptedEpochs(), time.Since(began)
		c.logf("%s: %d packets in %v, %d writes, epochs %v, then %v", run.name, introduced, took, writes, before,
			after)
		for id, e := range after {
			require.LessOrEqual(t, e-before[id], int64(forgedSpend*(took.Seconds()+1)), "%s: epochs of server %d",
				run.name, id)
		}
		require.Equal(t, leader, c.certainLeader(), run.name)
	}
	followers[1].Start()
	followers[1].WaitServing()
	leader.Kill()
	require.NotEqual(t, leader, c.certainLeader())
	leader.Start()
	leader.WaitServing()
	c.logf("epochs %v", c.acceptedEpochs())
}

// acceptedEpochs returns the epochs that the servers have promised, as their disks say.
func (c *chaos) acceptedEpochs() map[int]int64 {
	c.t.Helper()
	all := map[int]int64{}
	for _, node := range c.nodes {
		text := must.ReadFile(c.t, filepath.Join(node.DataDir(), "version-2", "acceptedEpoch"))
		all[node.ID()] = must.Do(strconv.ParseInt(string(text), 10, 64))(c.t)
	}
	return all
}

// TestDamagedPromise gives a follower an acceptedEpoch that is above that of the others: it comes in after some steps,
// in which no follower is lost, or stays outside, says why, and costs the others nothing. Then the one that will lead
// has such a file.
func TestDamagedPromise(t *testing.T) {
	c := &chaos{t: t, voters: 3, began: time.Now()}
	c.seed(1)
	settings := map[string]string{"tickTime": "500", "initLimit": "40"}
	c.launch([]cluster.Options{{Settings: settings}, {Settings: settings}, {Settings: settings}})
	leader := c.certainLeader()
	node, other := c.but(leader)[0], c.but(leader)[1]
	conn := wire.Open(t, other.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
	promise := func(n *cluster.Node, accepted int64) {
		n.Kill()
		require.NoError(t, os.WriteFile(filepath.Join(n.DataDir(), "version-2", "acceptedEpoch"),
			strconv.AppendInt(nil, accepted, 10), 0o644))
		n.Launch()
	}
	promise(node, 100)
	node.WaitServing()
	for id, e := range c.acceptedEpochs() {
		require.EqualValues(t, 101, e, "server %d", id)
	}
	require.Equal(t, leader, c.certainLeader())

	before := len(node.Log())
	promise(node, 20_101)
	cluster.Eventually(t, func() bool {
		return strings.Contains(node.Log()[before:], "this server stays outside the ensemble")
	}, patience, "server %d says nothing", node.ID())
	require.Contains(t, node.Log()[before:], "acceptedEpoch is damaged")
	require.NotContains(t, node.Log()[before:], "another history")
	must.Do(conn.Create("/n", nil, proto.ModePersistent))(t, "the client of server %d", other.ID())
	require.EqualValues(t, 101, c.acceptedEpochs()[leader.ID()])

	// without that server, the leader goes to its own promise, and the other with it
	node.Kill()
	promise(leader, 140)
	other.WaitServing()
	leader.WaitServing()
	c.logf("epochs %v", c.acceptedEpochs())
	require.LessOrEqual(t, c.acceptedEpochs()[other.ID()], int64(160))
}
