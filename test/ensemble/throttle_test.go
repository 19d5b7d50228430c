//go:build interop

package ensemble

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// lag introduces observer id to a leader, with the history up to last; 0 is none. It returns when the leader has
// begun to bring it up to date, and with what. The observer hears all of it and never says so, until stop. Source:
// quorum-protocol 5.1 and 6.6.
func lag(t *testing.T, leader *cluster.Node, id int, last proto.Zxid) (by proto.PacketType, stop func()) {
	t.Helper()
	nc := must.Dial(t, leader.LearnerAddr())
	say := func(p peers.Packet) {
		t.Helper()
		must.Do(nc.Write(p.AppendTo(nil)))(t)
	}
	in := bufio.NewReader(nc)
	hear := func() proto.PacketType {
		t.Helper()
		var head [16]byte
		must.Do(io.ReadFull(in, head[:]))(t)
		if n := int32(binary.BigEndian.Uint32(head[12:])); n > 0 {
			must.Do(io.CopyN(io.Discard, in, int64(n)))(t)
		}
		_, err := io.CopyN(io.Discard, in, 4) // no identities
		require.NoError(t, err)
		return proto.PacketType(binary.BigEndian.Uint32(head[:]))
	}
	info := binary.BigEndian.AppendUint64(nil, uint64(id))
	info = binary.BigEndian.AppendUint32(info, 0x10000)
	say(peers.Packet{Type: proto.PacketObserverInfo, Data: binary.BigEndian.AppendUint64(info, 0)})
	require.Equal(t, proto.PacketLeaderInfo, hear())
	epoch := int32(-1)
	if last != 0 {
		epoch = int32(last.Epoch())
	}
	say(peers.Packet{Type: proto.PacketAckEpoch, Zxid: last, Data: binary.BigEndian.AppendUint32(nil, uint32(epoch))})
	by = hear()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, in) // until stop
	}()
	return by, func() { nc.Close(); <-over }
}

// TestJavaObserversWaitForEachOther lets more observers in Java arrive than a Warren leader brings up to date at a
// time: without their data, and with most of it. They come again until it is their turn, and in the end all have
// everything.
func TestJavaObserversWaitForEachOther(t *testing.T) {
	for _, run := range []struct {
		name    string
		setting string
		wiped   bool
		znodes  int
		by      proto.PacketType
	}{
		{"SNAP", "leader.maxConcurrentSnapSyncs", true, 12_000, proto.PacketSnap},
		{"DIFF", "leader.maxConcurrentDiffSyncs", false, 200, proto.PacketDiff},
	} {
		t.Run(run.name, func(t *testing.T) {
			c, _ := newConfigured(t, func(id int, o *cluster.Options) {
				if id > 3 {
					observing(o)
				}
				o.Settings[run.setting], o.Settings["initLimit"] = "1", "240" // as long as a JVM may take to start
				// a learner that lacks more than is in memory gets SNAP
				o.Settings["snapshotSizeFactor"] = "-1"
			},
				cluster.Warren, cluster.Warren, cluster.Warren, cluster.ZooKeeper, cluster.ZooKeeper,
				cluster.ZooKeeper)
			leader, observers := c.certainLeader(), c.nodes[3:]
			conn := wire.Open(t, leader.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
			var reqs []wire.Request
			for i := range run.znodes {
				reqs = append(reqs, wire.Create(fmt.Sprintf("/n%d", i), nil, wire.OpenACL, 0))
			}
			for _, call := range conn.SendAll(reqs) {
				require.NoError(t, call.Wait())
			}
			for _, observer := range observers {
				cluster.Eventually(t, func() bool {
					text, err := wire.FourLetter(observer.Addr(), "srvr", time.Second)
					return err == nil && strings.Contains(text, fmt.Sprintf("Zxid: 0x%x\n", int64(conn.LastZxid())))
				}, time.Minute, "observer %d does not have all", observer.ID())
				observer.Stop()
				if run.wiped {
					observer.Wipe()
				}
			}
			last := conn.LastZxid()
			conn.MustCreate(t, "/meanwhile", nil, proto.ModePersistent)
			require.NoError(t, conn.CloseSession())
			if run.wiped {
				last = 0
			}
			by, stop := lag(t, leader, observers[2].ID(), last)
			require.Equal(t, run.by, by)
			for _, observer := range observers[:2] {
				observer.Launch()
			}
			const refusal = "sending an observer away, which tries again"
			cluster.Eventually(t, func() bool { return strings.Count(leader.Log(), refusal) >= 4 }, time.Minute,
				"the observers to be sent away, and to come again")
			for _, observer := range observers[:2] {
				require.False(t, observer.Serves(), "observer %d has got in beside another", observer.ID())
			}
			stop()
			observers[2].Launch()
			c.whole()
			c.same()
			c.logf("sent away %d times", strings.Count(leader.Log(), refusal))
		})
	}
}
