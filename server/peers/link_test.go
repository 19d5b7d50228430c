package peers

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

func TestLinkCarriesMessagesBothWays(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader, follower := w.start(3), w.start(1)
	mine, its := follower.follow(leader)
	require.Equal(t, proto.ServerID(1), its.Peer)
	require.Equal(t, proto.ServerID(3), mine.Peer)

	its.Send(&zab.Message{Type: zab.LeaderInfo, Zxid: proto.MakeZxid(4, 0), Warren: true})
	its.SendSnapshot(proto.MakeZxid(4, 0), func(w io.Writer) error {
		_, err := io.WriteString(w, "state")
		return err
	})
	its.Send(&zab.Message{Type: zab.UpToDate, Zxid: -1})
	its.Flush()
	got := follower.waitPackets(mine.ID, 3)
	require.Equal(t, proto.PacketLeaderInfo, got[0].Type)
	require.Equal(t, Packet{Type: proto.PacketSnap, Zxid: proto.MakeZxid(4, 0)}, got[1])
	require.Equal(t, Packet{Type: proto.PacketUpToDate, Zxid: -1}, got[2])
	require.Equal(t, []string{"state"}, follower.links[mine.ID].snapshots)

	mine.Send(&zab.Message{Type: zab.Ack, Zxid: proto.MakeZxid(4, 0)})
	mine.Flush()
	require.Equal(t, proto.PacketAck, leader.waitPackets(its.ID, 2)[1].Type)

	mine.Send(&zab.Message{Type: zab.Ack, Zxid: proto.MakeZxid(4, 1)})
	mine.Close()
	leader.waitPackets(its.ID, 3)
	leader.waitClosed(its.ID)
	follower.waitClosed(mine.ID)
}
